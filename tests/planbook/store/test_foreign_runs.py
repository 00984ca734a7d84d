"""Runs whose database a stranger wrote: each is refused in one line, and the runs beside it are still shown."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from planbook import errors
from planbook.errors import BadRun
from planbook.runs import Run
from planbook.store import Store
from tests.command import planbook
from tests.flows import invoke
from tests.rows import FAILED, SOLVED, toy_run, write_run

COUNTING = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x"
DEFINITIONS = [
    f"DROP TABLE event; CREATE VIEW event AS {COUNTING} id, '' scope, 'act' kind, x n, '{{}}' body, 0 at FROM t",
    "ALTER TABLE text RENAME TO old; CREATE VIEW text AS SELECT hash, hex(zeroblob(400000000)) body FROM old",
    f"CREATE TRIGGER more AFTER INSERT ON event BEGIN INSERT INTO text {COUNTING}, '' FROM t; END",
    "ALTER TABLE text ADD COLUMN more TEXT AS (hex(zeroblob(400000000)))",
    "CREATE INDEX longer ON text (length(hex(zeroblob(1000))))",
    "CREATE VIRTUAL TABLE words USING fts5(body)",
]
BODIES = [
    ("DELETE FROM text", "KeyError"),
    ("UPDATE event SET body = '{}' WHERE kind = 'task'", "Field required"),
    ("UPDATE event SET body = '[' WHERE kind = 'act'", "JSONDecodeError"),
    ("UPDATE event SET body = 7 WHERE kind = 'outcome'", "not iterable"),
    ("UPDATE event SET body = json_replace(body, '$.feedback.kind', 'new') WHERE kind = 'cell'", "feedback.kind"),
]


def change(folder: Path, script: str) -> None:
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        connection.executescript(script)


@pytest.mark.parametrize("script", DEFINITIONS)
def test_a_database_with_other_definitions_than_those_of_planbook_is_refused(tmp_path: Path, script: str) -> None:
    write_run(tmp_path / "run", [SOLVED, FAILED])
    Store(tmp_path / "run" / "run.db").close()
    change(tmp_path / "run", script)
    for to_write in (False, True):
        with pytest.raises(BadRun, match=r"cannot be used as a run's store: planbook did not define"):
            Store(tmp_path / "run" / "run.db", to_write=to_write)


@pytest.mark.parametrize(("script", "reason"), BODIES)
def test_a_run_with_a_damaged_record_is_named(tmp_path: Path, script: str, reason: str) -> None:
    toy_run(tmp_path / "odd", "procedures")
    change(tmp_path / "odd", script)
    report = planbook("report", tmp_path / "odd")
    assert report.returncode == errors.BAD_INPUT
    assert len(report.stderr.splitlines()) == 1
    assert report.stderr.startswith(f"planbook: {tmp_path / 'odd'}")
    assert "a record is damaged" in report.stderr
    assert reason in report.stderr


@pytest.mark.parametrize("script", [script for script, _ in BODIES[:-1]])
def test_runs_beside_a_damaged_run_are_shown(tmp_path: Path, script: str) -> None:
    toy_run(tmp_path / "good", "procedures")
    toy_run(tmp_path / "odd", "procedures")
    change(tmp_path / "odd", script)
    finished = invoke("stats", tmp_path / "good", tmp_path / "odd", "--json")
    assert [Path(row["name"]).name for row in finished.result["rows"]] == ["good"]
    assert f"Left out: {tmp_path / 'odd'}" in finished.printed
    assert "a record is damaged" in finished.printed


def test_an_error_in_code_of_the_user_is_not_taken_for_a_damaged_record(tmp_path: Path) -> None:
    faulty = tmp_path / "faulty.py"
    faulty.write_text("""
from planbook.envs.toy import Toy

class Faulty(Toy):
    name = "faulty"

    def versions(self):
        return {}["mine"]
""")
    plan = tmp_path / "plan.py"
    plan.write_text("print(task.goal)")
    finished = planbook("exec", plan, "--env", faulty, "--seeds", "0", "--types", "fetch", "--out", tmp_path / "run")
    assert "KeyError: 'mine'" in finished.stderr
    assert "damaged" not in finished.stderr


def test_the_texts_of_two_events_are_read_from_a_run_that_was_not_changed(tmp_path: Path) -> None:
    toy_run(tmp_path / "run", "procedures")
    with closing(Run.open(tmp_path / "run")) as run:
        assert {"task", "act", "cell", "recall", "outcome", "invocation"} <= {
            event.kind for event in run.store.events()
        }
