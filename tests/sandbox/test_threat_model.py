"""Every promise of the threat model names tests, and all tests that it names exist."""

import ast
import re
from pathlib import Path

from planbook import sandbox
from planbook.sandbox.host import ALL_MECHANISMS
from planbook.sandbox.worker import lockdown

PAGE = (Path(sandbox.__file__).parent / "THREAT_MODEL.md").read_text(encoding="utf-8")
HERE = Path(__file__).parent
NAMED = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)


def test_every_named_test_exists() -> None:
    found = {
        (file.name, node.name)
        for file in HERE.glob("test_*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert len(NAMED) >= 20
    assert [name for name in NAMED if name not in found] == []


def test_every_promise_names_a_test() -> None:
    promises = PAGE.split("## Promises")[1].split("## The boundary")[0].strip().splitlines()[2:]
    assert len(promises) >= 10
    assert [row for row in promises if "::test_" not in row] == []


def test_the_page_names_every_mechanism_and_the_number_of_allowed_calls() -> None:
    words = {
        "user namespace": "user,",
        "net namespace": "net,",
        "ipc namespace": "ipc,",
        "mount namespace": "mount,",
        "pid namespace": "pid nam",
    }
    missing = [name for name in ALL_MECHANISMS if words.get(name, name).lower() not in PAGE.lower()]
    assert missing == []
    assert f"every system call but {len(lockdown.ALLOWED | lockdown.ALLOWED_UNLESS)}," in PAGE
