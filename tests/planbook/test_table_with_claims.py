"""``--table`` for every method that claims something of whole tasks."""

import json
from pathlib import Path

import pytest

from planbook.config import RECORDINGS
from tests.flows import here

CLAIMING = (
    "adapt-textcraft-stepwise",
    "deps-minecraft-chances",
    "devils-advocate-minecraft-chances",
    "lats-textcraft",
    "plan-act-textcraft",
    "reflexion-textcraft",
    "try-again-textcraft",
)


def with_table(name: str, folder: Path) -> None:
    header = json.loads((RECORDINGS / f"{name}.jsonl").read_text().splitlines()[0])
    command = (*header["command"].split(), "--model", f"recorded:{name}", "--table")
    as_json = here(*command, "--out", folder / "one", "--json")
    assert as_json.returncode == 0, as_json.printed
    assert len(as_json.stdout.splitlines()) == 1
    assert "table" in as_json.result
    printed = here(*command, "--out", folder / "one")  # the run is over: it is only printed again
    assert printed.returncode == 0, printed.printed
    if claims := as_json.result["claims"]:
        assert "Claims about whole tasks, against the verdict" in printed.printed
        assert sum(value for key, value in claims.items() if key != "false") == as_json.result["tasks"]


@pytest.mark.parametrize("name", CLAIMING)
def test_a_run_with_claims_stands_beside_the_papers(name: str, tmp_path: Path) -> None:
    with_table(name, tmp_path)


FINISH, GOALS = 'finish(True, "done")', "agent.mine({'diamond': 1}, None)"


@pytest.mark.parametrize(
    ("planner", "env", "split", "code"),
    [
        ("react", "textcraft", "test:1", FINISH),
        ("plan-and-execute", "textcraft", "test:1", FINISH),
        ("inner-monologue", "minecraft", "table21:1", GOALS),
        ("deps", "minecraft", "table21:1", GOALS),
    ],
)
def test_a_scripted_claim_stands_beside_the_papers(
    planner: str, env: str, split: str, code: str, tmp_path: Path
) -> None:
    reply = f"```python\n{code}\n```\nStep 1: do it"
    (tmp_path / "model.py").write_text(f"def answer(messages, sampling):\n    return {reply!r}\n")
    given = ("--planner", planner, "--env", env, "--split", split, "--model", f"scripted:{tmp_path}/model.py:answer")
    finished = here("run", *given, "--table", "--out", tmp_path / "run", "--json")
    assert finished.returncode == 0, finished.printed
    assert "table" in finished.result


def test_tested_with_claims_stands_beside_the_papers(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "def answer(messages, sampling):\n    return '```python\\nfinish(True, \"\")\\n```'\n"
    )
    given = (
        "--planner",
        "react",
        "--env",
        "textcraft",
        "--split",
        "test:2",
        "--table",
        "--json",
        "--out",
        tmp_path / "run",
    )
    tested = here("test", *given, "--model", f"scripted:{tmp_path}/model.py:answer")
    assert tested.returncode == 0, tested.printed
    assert tested.result["claims"]["claimed_and_not"] == 2
