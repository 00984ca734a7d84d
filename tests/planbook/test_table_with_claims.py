"""``--table`` beside claims about whole tasks."""

from pathlib import Path

import pytest

from tests.flows import command_of, here

CLAIMING = ("adapt-textcraft-stepwise", "deps-minecraft-chances")
"""An executor's last word, and goals that were done; tests/planbook/results/test_claims.py has the other claims."""


@pytest.mark.parametrize("name", CLAIMING)
def test_a_run_with_claims_stands_beside_the_papers(name: str, tmp_path: Path) -> None:
    command = (*command_of(name), "--model", f"recorded:{name}", "--table", "--out", tmp_path / "run")
    as_json = here(*command, "--json")
    assert as_json.returncode == 0, as_json.printed
    assert len(as_json.stdout.splitlines()) == 1
    assert "table" in as_json.result
    printed = here(*command)  # the run is over: it is only printed again
    assert printed.returncode == 0, printed.printed
    assert "Claims about whole tasks, against the verdict" in printed.printed
    claims = as_json.result["claims"]
    assert sum(value for key, value in claims.items() if key != "false") == as_json.result["tasks"]


def test_tested_with_claims_stands_beside_the_papers(tmp_path: Path) -> None:
    given = "--planner react --env textcraft --split test:2 --table --json".split()
    tested = here("test", *given, "--model", "scripted:tests/claiming.py:boastful", "--out", tmp_path / "run")
    assert tested.returncode == 0, tested.printed
    assert tested.result["claims"]["claimed_and_not"] == 2
