"""`planbook watch` over HTTP: it reports and controls a run, and refuses strangers."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from planbook import errors
from planbook.config import Config
from planbook.envs import Selection
from planbook.planner import Ending, Outcome
from planbook.report import script_hash
from planbook.results.measures import unlock_score
from planbook.runs import Run
from planbook.watch_server import FollowedRun
from tests.flows import BUILD, succeed
from tests.reported import run_with_prompts, write_closed_run
from tests.watched import Watcher, count, watch_run


@pytest.fixture(scope="module")
def idle_watcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watcher]:
    """A watcher of a run that no process plays."""
    folder = write_closed_run(tmp_path_factory.mktemp("still") / "run", run_with_prompts, seeds=2)
    before = (folder / "run.json").read_bytes(), count(folder, None)
    with watch_run(folder) as watcher:
        yield watcher
        watcher.news()
        watcher.ask("pause")
        watcher.ask("stop")
    assert before == ((folder / "run.json").read_bytes(), count(folder, None)), "watching changes nothing"


def test_milestones_count_only_ended_episodes(tmp_path: Path) -> None:
    environment = Config(planner="procedures", env="crafter", actions=9)
    tasks = environment.environment.tasks(Selection(seeds=(0, 1, 2, 3)))
    with (
        closing(Run.create(tmp_path / "run", environment, tasks)) as run,
        closing(FollowedRun(tmp_path / "run")) as following,
    ):
        known = environment.environment.all_milestones
        ending = Ending(outcome=Outcome.FAILURE, cause="unfinished", milestones=known[:1])
        run.store.put("task/0", "outcome", 0, ending.model_dump(mode="json"))
        shown = json.dumps(following.update_since(0)["sections"])
        assert f"{unlock_score([1.0] + [0.0] * (len(known) - 1)):.2f} %" in shown
        assert '"1 / 1"' in shown
        assert "1 / 4" not in shown


def test_episodes_that_were_read_before_the_store_failed_are_reported_afterwards(tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", run_with_prompts, seeds=2)
    row = "INSERT INTO event (scope, kind, n, body, at) VALUES ('task/0', 'act', 99, '{\"$text\": \"lost\"}', 0)"
    with closing(FollowedRun(folder)) as following, closing(sqlite3.connect(folder / "run.db")) as database:
        with database:
            database.execute(row)
        with pytest.raises(errors.BadRun, match="a record is damaged"):
            following.catch_up()
        with database:
            database.execute("DELETE FROM event WHERE n = 99")
        rows = following.update_since(0)["rows"]
        assert [row["n"] for row in rows] == [0, 1, 2]


def test_a_store_that_cannot_be_read_is_reported_and_read_again_later(tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", run_with_prompts, seeds=1)
    with watch_run(folder) as watcher, closing(sqlite3.connect(folder / "run.db")) as database:
        database.execute("ALTER TABLE event RENAME TO lost")
        answer = watcher.get("/")
        assert (answer.status, "cannot be used as a run's store" in answer.text) == (409, True), answer.text
        assert (watcher.get("/news").status, watcher.get("/news").text) == (409, answer.text)
        database.execute("ALTER TABLE lost RENAME TO event")
        assert watcher.doing() == "stopped"


def test_an_episode_is_served_with_its_cells(idle_watcher: Watcher) -> None:
    inside = idle_watcher.get("/episode/0")
    assert inside.status == 200
    (play,) = [part for part in json.loads(inside.text)["parts"] if "play" in part]
    assert play["rounds"][0]["cells"]
    assert inside.headers["content-type"] == "application/json"
    assert idle_watcher.get("/episode/99").status == 404


def test_requests_without_the_token_are_refused(idle_watcher: Watcher) -> None:
    for path in ("/", "/news", "/episode/0"):
        assert idle_watcher.get(path, Cookie="").status == 403
        assert idle_watcher.get(f"{path}?token=guessed", Cookie="").status == 403
    refused = idle_watcher.get("/", Cookie="")
    assert "set-cookie" not in refused.headers
    assert idle_watcher.token not in refused.text
    assert idle_watcher.get(f"/?token={idle_watcher.token}", Cookie="").status == 200


def test_requests_to_another_host_name_are_refused(idle_watcher: Watcher) -> None:
    port = idle_watcher.host.partition(":")[2]
    for host in (f"evil.example:{port}", "evil.example", "127.0.0.1", f"127.0.0.1.evil.example:{port}"):
        assert idle_watcher.get("/", Host=host).status == 403
    assert idle_watcher.get("/", Host=f"localhost:{port}").status == 200


@pytest.mark.parametrize("origin", ["", "null", "http://evil.example", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_only_our_page_controls_the_run(idle_watcher: Watcher, origin: str) -> None:
    assert idle_watcher.get("/ask/stop", "POST", Origin=origin).status == 403
    assert idle_watcher.get("/ask/stop", "GET").status == 405
    assert idle_watcher.ask("delete").status == 404


def test_the_headers_forbid_everything_that_the_page_does_not_need(idle_watcher: Watcher) -> None:
    headers = idle_watcher.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert f"script-src '{script_hash()}';" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert {"httponly", "samesite=strict"} <= set(headers["set-cookie"].lower().split("; "))


def test_skipped_building_tasks_are_not_counted_and_learned_rules_are_shown(tmp_path: Path) -> None:
    run = tmp_path / "run"
    built = succeed(*BUILD, "--types", "fetch", "--tasks-per-type", "4", "--solved-after", "1", "--out", run, "--json")
    assert built.result["left_out"] > 0
    succeed("report", run, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count('"status":"skipped"') == built.result["left_out"]
    assert '"status":"begun"' not in page
    with closing(FollowedRun(run)) as following:
        news = following.update_since(0)
        assert "sections" not in following.update_since(10**9), "no section is sent twice"
    state = news["state"]
    assert state["total"] == state["ended"] == built.result["tasks"]
    assert not state["now"]
    shown = json.dumps(news["sections"])
    assert "What was learned" in shown
    assert re.search(r"\d+ rules? in force", shown)
