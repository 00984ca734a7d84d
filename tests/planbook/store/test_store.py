"""The store of events, in a file and in PostgreSQL."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import JsonValue

from planbook.errors import BadRun
from planbook.store import LONG_TEXT, EpisodeJournal, Store, StoreLocation, create_schema
from tests.postgres import Server

TEXTS = st.text() | st.integers(LONG_TEXT, LONG_TEXT + 9).flatmap(lambda length: st.text(min_size=length))
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
BODIES = st.dictionaries(st.text(max_size=8), JSON, max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(bodies=st.lists(BODIES, max_size=3))
def test_an_event_is_read_as_it_was_written(location: StoreLocation, bodies: list[dict[str, JsonValue]]) -> None:
    store = Store(location)
    last = max((number for number, _ in store.events_after(0)), default=0)
    store.put_all([(f"task/{last}", "act", n, body) for n, body in enumerate(bodies)])
    store.close()
    again = Store(location, to_write=False)
    assert [event.body for event in again.events(f"task/{last}")] == bodies
    assert [event.body for _, event in again.events_after(last)] == bodies
    again.close()


def test_a_long_text_is_stored_once(location: StoreLocation, store: Store) -> None:
    page = "<p>" * LONG_TEXT
    for number in range(5):
        store.put("task/0", "act", number, {"observation": {"text": page}})
    assert [event.body for event in store.events()] == [{"observation": {"text": page}}] * 5
    assert tables(location)[1] == [page]
    assert max(len(row[3]) for row in tables(location)[0]) < LONG_TEXT


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
@given(bodies=st.lists(BODIES, min_size=1, max_size=3))
def test_both_stores_have_the_same_rows_for_the_same_events(
    tmp_path_factory: pytest.TempPathFactory, postgres: Server, bodies: list[dict[str, JsonValue]]
) -> None:
    locations: list[StoreLocation] = [tmp_path_factory.mktemp("store") / "run.db", create_schema(postgres.url)]
    for location in locations:
        with closing(Store(location)) as store:
            for number, body in enumerate(bodies):
                store.put("task/0", "act", number, body)
    (events, texts), (others, other_texts) = map(tables, locations)
    assert (events, sorted(texts)) == (others, sorted(other_texts))


def tables(location: StoreLocation) -> tuple[list[Any], list[str]]:
    """Return the rows of both tables, without times: events and texts."""
    event, body = "select scope, kind, n, body from {}event order by id", "select body from {}text"
    if isinstance(location, Path):
        with closing(sqlite3.connect(location)) as raw:
            return raw.execute(event.format("")).fetchall(), [row[0] for row in raw.execute(body.format(""))]
    with psycopg.connect(location.url) as raw:
        rows = raw.execute(event.format(f"{location.schema}.").encode()).fetchall()
        return rows, [row[0] for row in raw.execute(body.format(f"{location.schema}.").encode())]


def test_a_failed_batch_leaves_nothing_and_can_be_written_again(store: Store) -> None:
    page = "<p>" * LONG_TEXT
    with pytest.raises(BadRun, match="written twice"):
        store.put_all([("task/0", "act", 0, {"text": page}), ("task/0", "act", 0, {"text": "short"})])
    assert list(store.events()) == []
    store.put("task/0", "act", 0, {"text": page})
    assert [event.body["text"] for event in store.events()] == [page]


def test_a_journal_reads_only_its_own_episode(store: Store) -> None:
    for scope in ("task/1", "task/1/round/0", "task/10", "task/1/restart/1", "task/1/restart/1/round/0"):
        store.put(scope, "act", 0, {"scope": scope})
    journal = EpisodeJournal(store, "task/1")
    assert journal.get("task/1/round/0", "act", 0) == {"scope": "task/1/round/0"}
    assert journal.get("task/10", "act", 0) is None
    assert journal.get("task/1/restart/1", "act", 0) is None
    assert EpisodeJournal(store, "task/1/restart/1").get("task/1/restart/1/round/0", "act", 0) is not None


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.db").write_bytes(b"this is no database at all" * 100)
    with pytest.raises(BadRun, match="cannot be used as a run's store"):
        Store(tmp_path / "run.db")


def count_as_reader(location: Path) -> str:
    """Return the number of events that a process without write permission in the folder can read."""
    read = (
        "import os, sys; from pathlib import Path; from planbook.store import Store; place = Path(sys.argv[1]);"
        "assert not os.access(place.parent, os.W_OK); print(len([*Store(place, to_write=False).events()]))"
    )
    as_reader = ("setpriv", "--bounding-set", "-all") if os.geteuid() == 0 else ()  # root may write anywhere
    location.parent.chmod(0o555)
    try:
        command = [*as_reader, sys.executable, "-c", read, location]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    finally:
        location.parent.chmod(0o755)
    return done.stdout or done.stderr


def test_a_reader_without_write_permission_sees_the_events_of_a_process_that_plays(tmp_path: Path) -> None:
    location = tmp_path / "run.db"
    with closing(Store(location)) as store:
        store.put("task/0", "act", 0, {})
        assert count_as_reader(location) == "1\n"
    (tmp_path / "run.db-wal").touch()
    assert count_as_reader(location) == "1\n", "an empty log without its index, which SQLite could not create"


def test_a_reader_without_write_permission_does_not_ignore_a_log(tmp_path: Path) -> None:
    location, copied = tmp_path / "run.db", tmp_path / "copied"
    copied.mkdir()
    with closing(Store(location)) as store:
        store.put("task/0", "act", 0, {})
        for name in ("run.db", "run.db-wal"):
            shutil.copy(tmp_path / name, copied / name)
    assert "unable to open database file" in count_as_reader(copied / "run.db")


def test_a_folder_that_is_moved_while_its_store_is_open_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with closing(Store(folder / "run.db")) as store:
        store.put("task/0", "act", 0, {})
        folder.rename(tmp_path / "moved")
        with pytest.raises(BadRun, match=r"run\.db cannot be written: .*No such file.*run\.db-lock"), store.lock(0):
            pass
        for _ in store.events():
            with pytest.raises(BadRun, match="cannot be used as a run's store: unable to open database file"):
                next(store.events())  # needs a second connection


@pytest.mark.parametrize("key", ["$text", "$", "\\$text", "\\", "\\\\x"])
def test_keys_like_those_of_the_store_are_read_as_they_were_written(store: Store, key: str) -> None:
    body: dict[str, JsonValue] = {"params": {key: "value"}, key: {key: {key: 1}}}
    store.put("task/0", "act", 0, body)
    assert [event.body for event in store.events()] == [body]


@pytest.mark.parametrize("text", ["half \ud83d of a pair", "x" * LONG_TEXT + "\udcff"])
def test_a_lone_surrogate_is_read_as_it_was_written(location: StoreLocation, store: Store, text: str) -> None:
    body: dict[str, JsonValue] = {"observation": {"text": text}, "page": "ü" * LONG_TEXT}
    store.put("task/0", "act", 0, body)
    with closing(Store(location)) as again:
        assert [event.body for event in again.events()] == [body]
