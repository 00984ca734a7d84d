"""docs/capabilities.md names every command, method and environment, and the tests that it names exist."""

import ast
import re

import pytest

from planbook.cli import COMMANDS
from planbook.envs.registry import SHIPPED
from planbook.planner import METHODS
from tests.command import ROOT

ROW = re.compile(r"^\| (?P<what>[^|]+) \| `(?P<file>tests/[a-z0-9_/]+\.py)::(?P<test>test_\w+)` \|$")
LINES = (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8").splitlines()
ROWS = [row for line in LINES if (row := ROW.match(line))]
NAMED = set(re.findall(r"`([a-z-]+)`", "\n".join(row["what"] for row in ROWS)))
SHOWN = set(re.findall(r"`planbook ([a-z-]+)", "\n".join(row["what"] for row in ROWS)))


def test_every_row_can_be_read() -> None:
    tables = [line for line in LINES if line.startswith("|") and line not in ("| capability | test |", "|---|---|")]
    assert len(tables) == len(ROWS)


@pytest.mark.parametrize("file", sorted({row["file"] for row in ROWS}))
def test_every_named_test_exists(file: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {row["test"] for row in ROWS if row["file"] == file} <= found


def test_every_command_method_and_environment_is_named() -> None:
    assert {name for group in COMMANDS.values() for name in group} - SHOWN == set()
    assert set(METHODS) - NAMED == set()
    assert set(SHIPPED) - NAMED == set()
