"""`planbook run --stream`: who can, what is recorded and shown of it, and that every reader of a run takes it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.runs import Run
from tests import stepwise_script
from tests.flows import command_of, here, saying

STEPWISE = f"scripted:{Path(stepwise_script.__file__)}:answer"
COMMAND = ("run", "--planner", "automanual", "--env", "toy", "--seeds", "0-2", "--model", STEPWISE)


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that streamed, some of whose plans failed."""
    out = tmp_path_factory.mktemp("streamed") / "run"
    played = here(*COMMAND, "--stream", "--out", out, "--json")
    assert played.returncode == 0, played.printed
    assert played.result["mean_error_steps"] > 0
    stopped, calls = played.result["stopped_replies"], played.result["model_calls"]
    assert stopped == calls > 0
    assert f"Streamed: {stopped} of {calls} replies stopped early" in played.printed
    return out


def events(folder: Path) -> list[Any]:
    with closing(Run.open(folder)) as run:
        return [(event.scope, event.kind, event.n, event.body) for event in run.store.events()]


def deeds(folder: Path) -> list[Any]:
    return [event for event in events(folder) if event[1] in ("act", "outcome")]


def test_streaming_changes_no_action_and_no_outcome(streamed: Path, tmp_path: Path) -> None:
    waited = here(*COMMAND, "--out", tmp_path / "run", "--json")
    assert waited.returncode == 0, waited.printed
    assert "Streamed: " not in waited.printed
    assert deeds(streamed) == deeds(tmp_path / "run")
    assert [kind for _, kind, _, _ in events(tmp_path / "run") if kind == "heard"] == []


def test_what_was_received_is_recorded_before_what_it_led_to_and_marked_where_it_was_cut(streamed: Path) -> None:
    kinds = [kind for scope, kind, _, _ in events(streamed) if scope.startswith("task/0/")]
    assert kinds.index("heard") < kinds.index("act") < kinds.index("ask") < kinds.index("cell")
    finishes = {body["reply"]["finish"] for _, kind, _, body in events(streamed) if kind == "ask"}
    assert finishes == {"cut"}, "each ends with the step that failed, or that did the task"


def test_a_streamed_run_is_repeated_exactly(streamed: Path) -> None:
    again = here("replay", streamed, "--json")
    assert again.result["by_sameness"]["same"] == 6, again.printed


def test_show_and_report_say_where_a_reply_was_cut(streamed: Path) -> None:
    shown = here("show", streamed, "0")
    assert "tokens; the reply was stopped)" in shown.printed
    assert shown.printed.index("was asked") < shown.printed.index("Cell 0")
    reported = here("report", streamed)
    assert reported.returncode == 0, reported.printed


def test_a_streamed_run_can_be_exported_and_imported(streamed: Path, tmp_path: Path) -> None:
    assert here("export", streamed, "--out", tmp_path / "episodes.jsonl").returncode == 0
    imported = here("import", tmp_path / "episodes.jsonl", "--out", tmp_path / "imported")
    assert imported.returncode == 0, imported.printed
    assert here("show", tmp_path / "imported", "0").returncode == 0
    kept = [event for event in events(streamed) if event[1] in ("act", "cell", "ask", "outcome")]
    copied = [event for event in events(tmp_path / "imported") if event[1] in ("act", "cell", "ask", "outcome")]
    assert sorted(kept, key=lambda event: event[:3]) == sorted(copied, key=lambda event: event[:3])


def test_an_episode_killed_while_a_reply_came_starts_over_if_the_model_says_otherwise(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = ("run", "--planner", "automanual", "--env", "toy", "--task", "fetch/0", "--stream", "--json")
    model = ("--model", saying(tmp_path, f"```python\n{OPENING}\n```"), "--out", folder)
    assert here(*command, *model).returncode == 0
    kill_after_first_action(folder)
    saying(tmp_path, f"```python\n{SOLVING}\n```")
    resumed = here(*command, *model)
    assert (resumed.returncode, resumed.result["solved"]) == (0, 1), resumed.printed
    assert resumed.result["model_calls"] == 2, "what the other reply cost counts"


OPENING = "agent.open('box_1')\nagent.open('box_2')\nagent.open('box_3')"
SOLVING = """\
thing = task.params["things"][0]
for number in range(1, 9):
    if thing in agent.open(f"box_{number}"):
        agent.take(thing, f"box_{number}")
        break
agent.put(thing)"""


def kill_after_first_action(folder: Path) -> None:
    """Take from a run all events after its first action, as if it had been killed then."""
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute("DELETE FROM event WHERE id > (SELECT min(id) FROM event WHERE kind = 'act')")


@pytest.mark.parametrize(
    "name",
    [
        "react-textcraft",
        *(pytest.param(name, marks=pytest.mark.deep) for name in ("progprompt-minecraft", "adapt-textcraft-stepwise")),
    ],
)
def test_a_recorded_run_has_the_same_actions_when_streamed(name: str, tmp_path: Path) -> None:
    for folder, stream in (("waited", ()), ("streamed", ("--stream",))):
        played = here(*command_of(name), "--model", f"recorded:{name}", *stream, "--out", tmp_path / folder)
        assert played.returncode == 0, played.printed
    assert deeds(tmp_path / "streamed") == deeds(tmp_path / "waited")
