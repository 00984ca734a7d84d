"""The packed part of a page: long texts once, and everything in chunks by number."""

import base64
import json
import re
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planbook.report import episode_document, report_runs, row
from planbook.report.episodes import CHUNK, LONG_TEXT, TEXT, Chunk, LongTexts, pack, visible
from planbook.results import read_run
from planbook.runs import Run
from tests.reported import HIDDEN, HOSTILE, asking_run, written


def inflated(data: str) -> str:
    return zlib.decompress(base64.b64decode(data)).decode()


def all_items(chunks: list[Chunk]) -> dict[int, Any]:
    return {chunk.first + at: item for chunk in chunks for at, item in enumerate(json.loads(inflated(chunk.data)))}


@given(st.lists(st.text(), max_size=20))
def test_a_text_has_one_number_and_is_found_under_it(shown: list[str]) -> None:
    texts = LongTexts()
    numbers = [texts.keep(text) for text in shown]
    found = all_items(list(texts.chunks()))
    assert [found[number] for number in numbers] == shown
    assert sorted(found) == list(range(len(set(shown))))


def test_chunks_are_closed_when_they_are_full() -> None:
    texts = LongTexts()
    every = [f"{number} {'x' * (CHUNK // 2)}" for number in range(5)]
    for text in every * 2:
        texts.keep(text)
    assert texts.size > 0
    chunks = list(texts.chunks())
    assert [chunk.first for chunk in chunks] == [0, 2, 4]
    assert list(all_items(chunks).values()) == every


def test_half_a_character_does_not_keep_a_page_from_being_written() -> None:
    assert inflated(pack("a\ud800b")) == "a\\ud800b"


def test_a_long_text_leaves_its_place_to_its_number_and_a_short_one_stays() -> None:
    texts, long = LongTexts(), HOSTILE * LONG_TEXT
    assert texts.without({"a": [long, HOSTILE[:LONG_TEXT]], "b": long}) == {
        "a": [{TEXT: 0}, HOSTILE[:LONG_TEXT]],
        "b": {TEXT: 0},
    }


def test_no_name_can_be_taken_for_a_text() -> None:
    assert visible({TEXT: 3, "a": HIDDEN}) == {"\\x01": 3, "a": visible(HIDDEN)}
    assert visible(HIDDEN).isprintable()


def test_prompts_that_episodes_share_are_in_the_file_once_and_rows_have_their_documents(tmp_path: Path) -> None:
    folder = written(tmp_path / "asked", asking_run)
    report_runs([folder], None, None, as_json=True)
    file = (folder / "report.html").read_text(encoding="utf-8")
    found = {
        kind: all_items(
            [
                Chunk(int(first), data)
                for first, data in re.findall(rf'class="{kind}" data-first="(\d+)">([^<]*)<', file)
            ]
        )
        for kind in ("texts", "documents")
    }
    system = [text for text in found["texts"].values() if text.startswith("# Your role\n\nYou act in an environment")]
    assert len(system) == 1
    assert len(found["documents"]) == 6, "five episodes that have begun, and what happened outside"
    with closing(Run.open(folder)) as run:
        read = read_run(run, "asked")
        plays = [part for part in episode_document(read, read.episodes[0])["parts"] if "play" in part]
        assert plays[0]["rounds"][0]["cells"]
        assert row(read, read.episodes[5], "run-0")["shown"] == "not run"
