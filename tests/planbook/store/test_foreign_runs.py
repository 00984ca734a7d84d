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
    ("DELETE FROM text", "one of its texts is missing"),
    ("UPDATE event SET body = '{}' WHERE kind = 'task'", "task: Field required"),
    ("UPDATE event SET body = '[' WHERE kind = 'act'", "its body is not a JSON object"),
    ("UPDATE event SET body = 7 WHERE kind = 'outcome'", "its body is not a JSON object"),
    ("UPDATE event SET body = json_replace(body, '$.feedback.kind', 'new') WHERE kind = 'cell'", "feedback.kind"),
    ("UPDATE event SET body = json_set(body, '$.seconds', 'x') WHERE kind = 'sitting'", "seconds"),
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
def test_an_event_that_planbook_would_not_record_is_named(tmp_path: Path, script: str, reason: str) -> None:
    toy_run(tmp_path / "good", "procedures")
    toy_run(tmp_path / "odd", "procedures")
    change(tmp_path / "odd", script)
    finished = invoke("stats", tmp_path / "good", tmp_path / "odd", "--json")
    assert [Path(row["name"]).name for row in finished.result["rows"]] == ["good"]
    assert "is not as planbook records it" in finished.printed
    assert reason in finished.printed
    report = planbook("report", tmp_path / "odd")
    assert report.returncode == errors.BAD_INPUT
    assert len(report.stderr.splitlines()) == 1
    assert f"planbook: {tmp_path / 'odd' / 'run.db'}: event" in report.stderr


def test_the_texts_of_two_events_are_read_from_a_run_that_was_not_changed(tmp_path: Path) -> None:
    toy_run(tmp_path / "run", "procedures")
    with closing(Run.open(tmp_path / "run")) as run:
        assert {"task", "act", "cell", "recall", "outcome", "sitting"} <= {event.kind for event in run.store.events()}
