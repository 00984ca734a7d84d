"""`planbook run --stream`: what is recorded and shown, and which commands can read it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import stepwise_script
from tests.flows import command_of, events, invoke, succeed, write_scripted_model

STEPWISE = f"scripted:{Path(stepwise_script.__file__)}:answer"
COMMAND = ("run", "--planner", "automanual", "--env", "toy", "--seeds", "0-2", "--model", STEPWISE)


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with `--stream` in which some plans failed."""
    out = tmp_path_factory.mktemp("streamed") / "run"
    played = succeed(*COMMAND, "--stream", "--out", out, "--json")
    assert played.result["mean_error_steps"] > 0
    stopped, calls = played.result["stopped_replies"], played.result["model_calls"]
    assert stopped == calls > 0
    return out


def events_of(folder: Path, *kinds: str) -> list[Any]:
    """Return the events of these kinds, or all events."""
    return [(each.scope, each.kind, each.n, each.body) for each in events(folder) if not kinds or each.kind in kinds]


def test_streaming_changes_no_action_and_no_outcome(streamed: Path, tmp_path: Path) -> None:
    succeed(*COMMAND, "--out", tmp_path / "run")
    assert events_of(streamed, "act", "outcome") == events_of(tmp_path / "run", "act", "outcome")
    assert not events_of(tmp_path / "run", "piece")


def test_received_text_is_recorded_before_the_actions_that_it_caused(streamed: Path) -> None:
    kinds = [kind for scope, kind, _, _ in events_of(streamed) if scope.startswith("task/0/")]
    assert kinds.index("piece") < kinds.index("act") < kinds.index("ask") < kinds.index("cell")
    finishes = {body["reply"]["finish"] for *_, body in events_of(streamed, "ask")}
    assert finishes == {"cut"}, "each reply stops at the failed or last step"


def test_a_streamed_run_is_replayed_exactly(streamed: Path) -> None:
    again = invoke("replay", streamed, "--json")
    assert again.result["by_sameness"]["same"] == 6, again.printed


def test_show_and_report_mark_stopped_replies(streamed: Path) -> None:
    shown = invoke("show", streamed, "0")
    assert "; the reply was stopped)" in shown.printed
    assert shown.printed.index("was asked") < shown.printed.index("Cell 0")
    succeed("report", streamed)


def test_a_streamed_run_can_be_exported_and_imported(streamed: Path, tmp_path: Path) -> None:
    succeed("export", streamed, "--out", tmp_path / "episodes.jsonl")
    succeed("import", tmp_path / "episodes.jsonl", "--out", tmp_path / "imported")
    succeed("show", tmp_path / "imported", "0")
    first, copy = (
        sorted(events_of(folder, "act", "cell", "ask", "outcome"), key=lambda event: event[:3])
        for folder in (streamed, tmp_path / "imported")
    )
    folder = f"{Path(stepwise_script.__file__).parent}/"
    texts = [json.dumps(events, sort_keys=True, default=str) for events in (first, copy)]
    assert texts[0].replace(f"scripted:{folder}", "scripted:") == texts[1], "exports do not name folders"


def test_an_episode_killed_during_a_reply_restarts_after_another_reply(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = ("run", "--planner", "automanual", "--env", "toy", "--task", "fetch/0", "--stream", "--json")
    model = ("--model", write_scripted_model(tmp_path, f"```python\n{OPENING}\n```"), "--out", folder)
    succeed(*command, *model)
    kill_after_first_action(folder)
    write_scripted_model(tmp_path, f"```python\n{SOLVING}\n```")
    resumed = invoke(*command, *model)
    assert (resumed.returncode, resumed.result["solved"]) == (0, 1), resumed.printed
    assert resumed.result["model_calls"] == 2, "the first reply was paid for, too"


OPENING = "agent.open('box_1')\nagent.open('box_2')\nagent.open('box_3')"
SOLVING = """\
thing = task.params["things"][0]
for number in range(1, 9):
    if thing in agent.open(f"box_{number}"):
        agent.take(thing, f"box_{number}")
        break
agent.put(thing)"""


def kill_after_first_action(folder: Path) -> None:
    """Delete all events of a run after its first action, as if it had been killed then."""
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
        succeed(*command_of(name), "--model", f"recorded:{name}", *stream, "--out", tmp_path / folder)
    streamed, waited = (events_of(tmp_path / name, "act", "outcome") for name in ("streamed", "waited"))
    assert streamed == waited
