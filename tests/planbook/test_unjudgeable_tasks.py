"""Tasks that an environment cannot judge are not played, but counted and reported."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.browser import need_browser
from tests.flows import invoke

pytestmark = pytest.mark.browser


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
    assert invoke("report", folder, "--out", tmp_path / "report.html").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert "counted, because they cannot be judged here: 3 more tasks of the selection." in page
