"""The store: append-only, durable, and long texts only once."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from planbook.errors import BadRun
from planbook.store import LONG_TEXT, Store

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(body=st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_a_body_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, body: dict[str, JsonValue]) -> None:
    path = tmp_path_factory.mktemp("store") / "run.db"
    store = Store(path)
    store.put("task/0", "act", 0, body)
    store.close()
    again = Store(path)
    assert [event.body for event in again.events()] == [body]
    again.close()


def test_long_texts_are_kept_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.db")
    page = "<p>" * LONG_TEXT
    for number in range(5):
        store.put("task/0", "act", number, {"observation": {"text": page}})
    assert [event.body for event in store.events()] == [{"observation": {"text": page}}] * 5
    store.close()
    with sqlite3.connect(tmp_path / "run.db") as raw:
        assert raw.execute("select count(*) from text").fetchone() == (1,)
        assert raw.execute("select max(length(body)) from event").fetchone()[0] < LONG_TEXT


def test_an_event_is_never_written_over(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.db")
    store.put("task/0", "cell", 0, {"code": "first"})
    with pytest.raises(BadRun, match="written twice"):
        store.put("task/0", "cell", 0, {"code": "second"})
    store.put("task/0", "cell", 1, {"code": "third"})
    assert [event.body["code"] for event in store.events()] == ["first", "third"]
    store.close()


def test_a_failed_batch_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.db")
    with pytest.raises(BadRun):
        store.put_all([("task/0", "act", 0, {"a": 1}), ("task/0", "act", 0, {"a": 2})])
    assert list(store.events()) == []
    store.close()


def test_a_journal_sees_its_own_episode_only(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.db")
    for scope in ("task/1", "task/1/round/0", "task/10", "task/1/restart/1", "task/1/restart/1/round/0"):
        store.put(scope, "act", 0, {"scope": scope})
    journal = store.journal("task/1")
    assert journal.get("task/1/round/0", "act", 0) == {"scope": "task/1/round/0"}
    assert journal.get("task/10", "act", 0) is None
    assert journal.get("task/1/restart/1", "act", 0) is None
    assert store.journal("task/1/restart/1").get("task/1/restart/1/round/0", "act", 0) is not None
    store.close()


def test_a_file_that_is_no_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.db").write_bytes(b"this is no database at all" * 100)
    with pytest.raises(BadRun, match="cannot be read as a run's store"):
        Store(tmp_path / "run.db")


def test_a_text_of_a_failed_batch_is_written_again_when_it_comes_again(tmp_path: Path) -> None:
    store, page = Store(tmp_path / "run.db"), "<p>" * LONG_TEXT
    store.put("task/0", "act", 0, {"text": "short"})
    with pytest.raises(BadRun):
        store.put("task/0", "act", 0, {"text": page})
    store.put("task/0", "act", 1, {"text": page})
    assert [event.body["text"] for event in store.events()] == ["short", page]
    store.close()


@pytest.mark.parametrize("key", ["$text", "$", "\\$text", "\\", "\\\\x"])
def test_keys_like_the_stores_own_come_back_as_they_were(tmp_path: Path, key: str) -> None:
    store = Store(tmp_path / "run.db")
    body: dict[str, JsonValue] = {"params": {key: "value"}, key: {key: {key: 1}}}
    store.put("task/0", "act", 0, body)
    assert [event.body for event in store.events()] == [body]
    store.close()


@pytest.mark.parametrize("text", ["half \ud83d of a pair", "x" * LONG_TEXT + "\udcff"])
def test_half_of_a_surrogate_pair_does_not_end_a_run(tmp_path: Path, text: str) -> None:
    """A page or a script may bring one."""
    body: dict[str, JsonValue] = {"observation": {"text": text}, "page": "ü" * LONG_TEXT}
    store = Store(tmp_path / "run.db")
    store.put("task/0", "act", 0, body)
    store.close()
    again = Store(tmp_path / "run.db")
    assert [event.body for event in again.events()] == [body]
    again.close()
