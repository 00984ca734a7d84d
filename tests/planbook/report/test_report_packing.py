"""What is packed into a page: texts once, in chunks; and the same inside of an episode, packed or not."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.report import report_runs
from planbook.report.packing import CHUNK, Block, Texts, packed
from planbook.report.page import episode_html, head_rows
from planbook.report.rendering import LONG_TEXT, templates
from planbook.results import RunResults, read_run
from planbook.run import Run
from tests.reported import HOSTILE, Page, asking_run, written


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("packing") / "asked", asking_run)


@pytest.fixture
def read(folder: Path) -> Iterator[RunResults]:
    with closing(Run.open(folder)) as run:
        yield read_run(run, "asked")


def inflated(data: str) -> str:
    return zlib.decompress(base64.b64decode(data)).decode()


def all_texts(chunks: list[Block]) -> dict[int, str]:
    return {
        int(chunk.name) + number: text
        for chunk in chunks
        for number, text in enumerate(json.loads(inflated(chunk.data)))
    }


@given(st.lists(st.text(), max_size=20))
def test_a_text_has_one_number_and_is_found_under_it(shown: list[str]) -> None:
    texts = Texts()
    numbers = [texts.keep(text) for text in shown]
    found = all_texts(list(texts.chunks()))
    assert [found[number] for number in numbers] == shown
    assert sorted(found) == list(range(len(set(shown))))


def test_chunks_are_closed_when_they_are_full() -> None:
    texts = Texts()
    every = [f"{number} {'x' * (CHUNK // 2)}" for number in range(5)]
    for text in every * 2:
        texts.keep(text)
    assert texts.size > 0
    chunks = list(texts.chunks())
    assert [chunk.name for chunk in chunks] == ["0", "2", "4"]
    assert list(all_texts(chunks).values()) == every


def test_half_a_character_does_not_keep_a_page_from_being_written() -> None:
    assert inflated(packed("a\ud800b")) == "a\\ud800b"


def test_a_long_text_leaves_its_place_to_its_number_and_a_short_one_stays() -> None:
    kept: list[str] = []

    def keep(text: str) -> int:
        kept.append(text)
        return 7

    place: Any = templates(keep).globals["pre"]
    assert place(HOSTILE * LONG_TEXT, "printed") == '<pre class="printed" data-text="7"></pre>'
    assert kept == [HOSTILE * LONG_TEXT]
    assert "<img" not in place(HOSTILE[:LONG_TEXT])
    assert len(kept) == 1
    place("\x1b[31m" * LONG_TEXT)
    assert kept[1].startswith("\\x1b[31m")


def test_prompts_that_episodes_share_are_in_the_file_once(folder: Path) -> None:
    report_runs([folder], None, None, as_json=True)
    page = Page(folder / "report.html")
    shared = [text for text in page.all("pre") if text.strip().startswith("# Your role\n\nYou act in an environment")]
    assert len(shared) > 1
    assert len(set(shared)) == 1
    chunks = [Block(name, data) for name, data in re.findall(r'data-first="(\d+)">([^<]*)<', page.file)]
    assert list(all_texts(chunks).values()).count(shared[0].removeprefix("\n")) == 1


def test_an_episode_is_told_alike_by_itself_and_in_its_page(folder: Path, read: RunResults) -> None:
    report_runs([folder], None, None, as_json=True)
    page = Page(folder / "report.html")
    for played in read.episodes.values():
        if played.events:
            assert episode_html(read, played, f"run-0-{played.index}") in page.source


def test_lines_of_episodes_stand_by_themselves(read: RunResults) -> None:
    lines = head_rows(read, "live", {0, 2})
    assert re.findall(r'<(details|div) class="episode" id="live-(\d)"', lines) == [
        ("details" if number in (0, 2) else "div", str(number)) for number in range(6)
    ]
    assert lines.count('<div class="inside"></div>') == 2
