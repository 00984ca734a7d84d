"""Small parts of the report: formatted numbers, lists of settings, and the compressed part of a page."""

import base64
import json
import re
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from planbook.report import report_runs
from planbook.report.elements import nodes_of
from planbook.report.episodes import (
    CHUNK_CHARS,
    LONG_TEXT_CHARS,
    TEXT_REFERENCE,
    Chunk,
    DocumentPacker,
    document,
    episode_document,
    escape_json,
    pack,
    row,
)
from planbook.report.sections import nonempty_values
from planbook.results import read_run
from planbook.runs import Run
from planbook.store import Event
from planbook.wording import NO_FIGURE, PRICE_UNKNOWN, counted, format_money, interval, utc_time
from tests.reported import HIDDEN, HOSTILE, run_with_prompts, write_closed_run

PACKED = r'class="{}" data-first="(\d+)">([^<]*)<'


def inflate(data: str) -> str:
    return zlib.decompress(base64.b64decode(data)).decode()


def all_items(chunks: list[Chunk]) -> dict[int, Any]:
    return {chunk.first + at: item for chunk in chunks for at, item in enumerate(json.loads(inflate(chunk.data)))}


def texts_in(packer: DocumentPacker) -> list[Chunk]:
    return [chunk for kind, chunk in packer.chunks() if kind == "texts"]


@given(st.lists(st.text(), max_size=20))
def test_equal_texts_are_packed_once(shown: list[str]) -> None:
    packer, texts = DocumentPacker(), [text + "." * LONG_TEXT_CHARS for text in shown]
    packer.add(texts)
    ((_, chunk),) = [each for each in packer.chunks() if each[0] == "documents"]
    found = all_items(texts_in(packer))
    assert [found[reference[TEXT_REFERENCE]] for reference in all_items([chunk])[0]] == texts
    assert sorted(found) == list(range(len(set(shown))))


def test_full_chunks_are_closed() -> None:
    packer = DocumentPacker()
    every = [f"{number} {'x' * (CHUNK_CHARS // 2)}" for number in range(5)]
    assert [packer.add(text) for text in every * 2] == list(range(10))
    chunks = texts_in(packer)
    assert [chunk.first for chunk in chunks] == [0, 2, 4]
    assert list(all_items(chunks).values()) == every


def test_a_lone_surrogate_is_packed_as_an_escape() -> None:
    assert inflate(pack("a\ud800b")) == "a\\ud800b"


def test_only_long_texts_are_replaced_by_numbers() -> None:
    packer, long = DocumentPacker(), HOSTILE * LONG_TEXT_CHARS
    packer.add({"a": [long, HOSTILE[:LONG_TEXT_CHARS]], "b": long})
    (_, chunk), _ = packer.chunks()
    assert all_items([chunk]) == {0: {"a": [{TEXT_REFERENCE: 0}, HOSTILE[:LONG_TEXT_CHARS]], "b": {TEXT_REFERENCE: 0}}}


def test_a_key_is_never_mistaken_for_the_number_of_a_text() -> None:
    assert escape_json({TEXT_REFERENCE: 3, "a": HIDDEN}) == {"\\x01": 3, "a": escape_json(HIDDEN)}
    assert escape_json(HIDDEN).isprintable()


def test_shared_prompts_are_in_the_file_once(tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "asked", run_with_prompts)
    report_runs([folder], None)
    file = (folder / "report.html").read_text(encoding="utf-8")
    texts, documents = (
        all_items([Chunk(int(first), data) for first, data in re.findall(PACKED.format(kind), file)])
        for kind in ("texts", "documents")
    )
    assert sum(text.startswith("# Your role\n\nYou act in an environment") for text in texts.values()) == 1
    assert len(documents) == 6, "five episodes that have begun, and the events outside"
    with closing(Run.open(folder)) as run:
        read = read_run(run, "asked")
        plays = [part for part in episode_document(read, read.episodes[0])["parts"] if "play" in part]
        assert plays[0]["rounds"][0]["cells"]
        assert row(read, read.episodes[5], "run-0")["status"] == "not run"


def test_numbers_are_formatted_for_readers() -> None:
    assert interval(0.095, 0.905) == "9.5% to 90.5%"
    assert (counted(1, "action"), counted(1200, "token")) == ("1 action", "1,200 tokens")
    assert (utc_time(0.0), utc_time(None)) == ("1970-01-01 00:00:00 UTC", NO_FIGURE)


@pytest.mark.parametrize(
    ("money", "shown"),
    [(None, PRICE_UNKNOWN), (0.0, "$0.00"), (0.01234, "$0.0123"), (12.345, "$12.35"), (1234.5, "$1,234.50")],
)
def test_sums_of_money_have_only_significant_digits(money: float | None, shown: str) -> None:
    assert format_money(money) == shown


def test_empty_settings_are_not_listed() -> None:
    asked = {"env": "toy", "library": "", "selection": {"seeds": [1, 2], "types": [], "limit": None}, "paper": False}
    assert dict(nonempty_values(asked)) == {"env": "toy", "selection.seeds": "1, 2", "paper": "False"}


def test_code_in_a_sentence_is_marked() -> None:
    assert [*nodes_of(["A run of `planbook build`: a ` b."])] == [
        ["p", "A run of ", ["code", "planbook build"], ": a ` b."]
    ]


@pytest.mark.parametrize("path", ["run", "formulate/0", "a/b/c/d/e", "task/3x/0"])
def test_events_outside_a_play_are_kept_unchanged(path: str) -> None:
    (part,) = document([Event(path, "versions", 0, {"odd": [1, None]}, 0.0)], {})["parts"]
    assert part == {"scope": path, "kind": "versions", "n": 0, "body": {"odd": [1, None]}}
