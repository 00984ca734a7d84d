"""Procedures that were learned for the user's own tools solve unseen tasks without a model."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.command import ROOT
from tests.flows import invoke

EXAMPLES = ROOT / "examples" / "tools"
MODEL = ("--model", f"scripted:{ROOT}/tests/tools_script.py:answer")
NOTES: list[dict[str, JsonValue]] = [
    {"notes": ["old milk", "bread"], "word": "old"},
    {"notes": ["salt", "new soap", "new tea"], "word": "new"},
    {"notes": ["a book", "old tea", "a bookshelf"], "word": "book"},
    {"notes": ["salt"], "word": "pepper"},
]
NOTES_JUDGE = "not any(task['params']['word'] in agent.read(n)['text'] for n in agent.numbers())"
FILES: list[dict[str, JsonValue]] = [{"part": part} for part in ("alpha", "nothing", "a", "?")]
FILES_JUDGE = """
having = [name for name in agent.list_files() if task["params"]["part"] in agent.read_file(name)]
assert agent.sizes() == {name: len(agent.read_file(name)) for name in having}
"""


def tasks_file(folder: Path, kind: str, goal: str, judge: str, params: list[dict[str, JsonValue]]) -> tuple[str, str]:
    """Write two tasks to build on and two to test, and return the option that names the file."""
    tasks = [
        {
            "id": f"{kind}/{number}",
            "type": kind,
            "split": "test" if number > 2 else "train",
            "goal": goal.format(**each),
            "params": each,
            "judge": {"assert": judge},
        }
        for number, each in enumerate(params, 1)
    ]
    (folder / "tasks.json").write_text(json.dumps({"tasks": tasks}))
    return "-o", f"tasks={folder / 'tasks.json'}"


def assert_learned(env: Sequence[str], folder: Path, building: str, testing: str, tasks: int) -> None:
    """Build on the tasks of one selection, and check that the tasks of another are solved without a model."""
    built = invoke("build", *env, *building.split(), *MODEL, "--out", folder / "built", "--json")
    assert built.returncode == 0, built.printed
    assert built.result["solved"] == built.result["tasks"] > 1, built.printed
    library = ("--library", folder / "built", "--out", folder / "tested", "--json")
    tested = invoke("test", *env, *testing.split(), *library)
    assert tested.returncode == 0, tested.printed
    assert (tested.result["solved"], tested.result["tasks"]) == (tasks, tasks), tested.printed
    assert tested.result["model_calls"] == 0


def test_functions_of_a_module_are_learned(tmp_path: Path) -> None:
    goal = "Remove every note that has the word {word!r}."
    env = ("--env", f"module:{EXAMPLES}/notes.py:Notes", *tasks_file(tmp_path, "tidy", goal, NOTES_JUDGE, NOTES))
    assert_learned(env, tmp_path, "", "--split test", 2)
    unknown = invoke("test", *env, "--types", "tidi", "--out", tmp_path / "none")
    assert "has no task type tidi; did you mean tidy?" in unknown.printed


@pytest.mark.deep
def test_tools_of_an_mcp_server_are_learned(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    goal = "Put the sizes of all files that have the text {part!r} into the table."
    server = f"mcp:{sys.executable} {EXAMPLES}/files_server.py"
    env = ("--env", server, *tasks_file(tmp_path, "sizes", goal, FILES_JUDGE, FILES))
    assert_learned(env, tmp_path, "", "--split test", 2)


def test_a_gymnasium_environment_is_learned(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    env = ("--env", "gym:Taxi-v4", "-o", "threshold=1")
    assert_learned(env, tmp_path, "--tasks-per-type 2", "--seeds 1000-1009", 10)
