"""Procedures that are learned from tools solve unseen tasks without a model."""

import json
import sys
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.flows import Finished, here

EXAMPLES = ROOT / "examples" / "tools"
MODEL = ("--model", f"scripted:{ROOT}/tests/tools_script.py:answer")
NOTES = [
    ("tidy/1", "train", ["old milk", "bread"], "old"),
    ("tidy/2", "train", ["salt", "new soap", "new tea"], "new"),
    ("tidy/3", "test", ["a book", "old tea", "a bookshelf"], "book"),
    ("tidy/4", "test", ["salt"], "pepper"),
]
LEFT = "not any(task['params']['word'] in agent.read(n)['text'] for n in agent.numbers())"
FILES = [
    ("sizes/1", "train", "alpha"),
    ("sizes/2", "train", "nothing"),
    ("sizes/3", "test", "a"),
    ("sizes/4", "test", "?"),
]
RECORDED = """
having = [name for name in agent.list_files() if task["params"]["part"] in agent.read_file(name)]
assert agent.sizes() == {name: len(agent.read_file(name)) for name in having}
"""


def written(folder: Path, tasks: list[dict[str, object]]) -> tuple[str, str]:
    file = folder / "tasks.json"
    file.write_text(json.dumps({"tasks": tasks}))
    return "-o", f"tasks={file}"


def learned(env: tuple[str, ...], tmp_path: Path, *, building: str, testing: str) -> Finished:
    """Build on the tasks of one selection, and test on those of another without a model."""
    built = here("build", *env, *building.split(), *MODEL, "--out", tmp_path / "built", "--json")
    assert built.returncode == 0, built.printed
    assert built.result["solved"] == built.result["tasks"] > 1, built.printed
    library = ("--library", tmp_path / "built")
    return here("test", *env, *testing.split(), *library, "--out", tmp_path / "tested", "--json")


def test_functions_of_a_module_are_learned(tmp_path: Path) -> None:
    tasks: list[dict[str, object]] = [
        {
            "id": id,
            "type": "tidy",
            "split": split,
            "goal": f"Remove every note that has the word {word!r}.",
            "params": {"notes": notes, "word": word},
            "judge": {"assert": LEFT},
        }
        for id, split, notes, word in NOTES
    ]
    env = ("--env", f"module:{EXAMPLES}/notes.py:Notes", *written(tmp_path, tasks))
    tested = learned(env, tmp_path, building="", testing="--split test")
    assert_solved_without_a_model(tested, 2)
    unknown = here("test", *env, "--types", "tidi", "--out", tmp_path / "none")
    assert "has no task type tidi; did you mean tidy?" in unknown.printed


@pytest.mark.deep
def test_tools_of_an_mcp_server_are_learned(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    tasks: list[dict[str, object]] = [
        {
            "id": id,
            "type": "sizes",
            "split": split,
            "goal": f"Put the sizes of all files that have the text {part!r} into the table.",
            "params": {"part": part},
            "judge": {"assert": RECORDED},
        }
        for id, split, part in FILES
    ]
    env = ("--env", f"mcp:{sys.executable} {EXAMPLES}/files_server.py", *written(tmp_path, tasks))
    assert_solved_without_a_model(learned(env, tmp_path, building="", testing="--split test"), 2)


def test_a_gymnasium_environment_is_learned(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    env = ("--env", "gym:Taxi-v4", "-o", "threshold=1")
    tested = learned(env, tmp_path, building="--tasks-per-type 2", testing="--seeds 1000-1009")
    assert_solved_without_a_model(tested, 10)


def assert_solved_without_a_model(tested: Finished, tasks: int) -> None:
    assert tested.returncode == 0, tested.printed
    assert (tested.result["solved"], tested.result["tasks"]) == (tasks, tasks), tested.printed
    assert tested.result["model_calls"] == 0
