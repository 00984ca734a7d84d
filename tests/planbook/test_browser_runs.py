"""Runs in a browser: one that dies breaks only the episodes that used it, and tasks without a judge are counted."""

import contextlib
import json
import os
import signal
import threading
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import JsonValue

from planbook.config import Config
from planbook.envs import Selection, chromium
from planbook.envs.miniwob import Miniwob
from planbook.envs.watchdog import find_processes
from planbook.manuals import ProcedureLibrary
from planbook.planner import Body, Ending, EventKind, Outcome
from planbook.results import read_run
from planbook.results.summary import summarise
from planbook.runs import EpisodeEntry, Run, recorded_endings
from planbook.workers import Execution, play_episodes
from tests.browser import need_browser
from tests.flows import invoke, succeed

pytestmark = pytest.mark.browser

TASKS = Selection(types=("click-checkboxes", "login-user"), seeds=(0, 1, 2, 3, 4, 5))


class Killer:
    """Kills the shared browser and its driver once, after ``action_count`` actions that did not end their episodes."""

    def __init__(self, action_count: int) -> None:
        self.left, self.lock, self.profile = action_count, threading.Lock(), ""

    def __call__(self, kind: EventKind, body: Body) -> None:
        with self.lock:
            observation = body.get("observation")
            if kind != "act" or not isinstance(observation, dict) or observation.get("terminated"):
                return
            self.left -= 1
            if self.left:
                return
            self.profile = chromium.shared_browser().profile
            family = [
                process
                for process in find_processes(self.profile.encode())
                if b"watchdog" not in Path(f"/proc/{process}/cmdline").read_bytes()
            ]
            for kill_signal in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that no tab opens between kills
                for process in family:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, kill_signal)


def play(run: Run, watch: Killer | None = None) -> list[str]:
    """Play the open episodes in two tabs, and return the ids of their tasks."""
    played: list[str] = []

    def on_ending(entry: EpisodeEntry, ending: Ending) -> None:
        played.append(entry.task.id)

    assert play_episodes(run, ProcedureLibrary(Miniwob), on_ending, execution=Execution(jobs=2), on_event=watch)
    return played


def test_a_browser_that_dies_breaks_only_the_episodes_in_progress(tmp_path: Path) -> None:
    need_browser()
    config = Config(planner="procedures", env="miniwob", selection=TASKS, actions=Miniwob.action_limit)
    killer = Killer(action_count=8)
    with closing(Run.create(tmp_path / "run", config, Miniwob.tasks(TASKS))) as run:
        assert len(play(run, killer)) == 12
        assert killer.profile, "the browser was not killed"
        assert chromium.shared_browser().profile != killer.profile
        endings = recorded_endings(run)
        broken = [ending for ending in endings.values() if ending.outcome is Outcome.BROKEN]
        assert 1 <= len(broken) <= 2, "at most one episode in each tab"
        assert all(ending.message for ending in broken), broken
        summary = summarise(list(read_run(run).episodes.values()), 1.0, "run")
        assert (summary.tasks, summary.broken, summary.solved) == (12, len(broken), 12 - len(broken))
        assert play(run) == [], "a broken episode is not played again"


def entry(number: int, evaluation: JsonValue, **more: JsonValue) -> JsonValue:
    """Return a task in WebArena's format, on a page that needs no server."""
    return {"task_id": number, "intent": "Say 7", "start_url": "about:blank", "eval": evaluation, **more}


def answer(**reference: JsonValue) -> JsonValue:
    return {"eval_types": ["string_match"], "reference_answers": reference}


def test_tasks_that_cannot_be_judged_are_counted(tmp_path: Path) -> None:
    need_browser()
    tasks, plan = tmp_path / "tasks.json", tmp_path / "plan.py"
    plan.write_text("agent.stop('7')\n")
    tasks.write_text(
        json.dumps(
            [
                entry(0, answer(exact_match="7")),
                entry(1, answer(fuzzy_match=["seven"])),
                entry(2, answer(fuzzy_match=["7 of them"])),
                entry(3, answer(exact_match="7"), storage_state="auth.json"),
                entry(4, {"eval_types": ["url_match"], "reference_url": "func:last()", "url_note": "odd"}),
            ]
        )
    )
    folder = tmp_path / "run"
    command = ("exec", plan, "--env", "web", "-o", f"tasks={tasks}", "--split", "look_up")
    played = invoke(*command, "--out", folder, "--json")
    assert (played.returncode, played.result["solved"], played.result["tasks"]) == (0, 1, 1), played.printed
    fuzzy, login = played.result["unjudgeable"].items()
    assert ("judged by a language model" in fuzzy[0], fuzzy[1]) == (True, 2)
    assert ("logins=FOLDER" in login[0], login[1]) == (True, 1)
    assert "they cannot be judged here: 3 more tasks of the selection." in played.printed
    assert json.loads((folder / "run.json").read_text())["unjudgeable"] == played.result["unjudgeable"]
    succeed("report", folder, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "counted, because they cannot be judged here: 3 more tasks of the selection." in page
