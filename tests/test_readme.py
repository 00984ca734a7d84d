"""The README and the pages of the documentation are correct."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.openai_server import serving
from tests.pages import PAGES, ROOT, answer, blocks, play

README = ROOT / "README.md"
SLOW = {f"docs/{name}.md" for name in "files learning methods models plans runs tools write-method".split()}
SLOW |= {"README.md", "examples/README.md"}
"""Pages whose commands take long. Only the deep tests run them."""
LINK = re.compile(r"\]\((?P<to>[^)\s]+)\)")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Yield the address of a model server."""
    with serving(answer) as server:
        yield server.url


def _pages() -> Iterator[object]:
    for page in filter(blocks, PAGES):
        name = str(page.relative_to(ROOT))
        yield pytest.param(page, id=name, marks=[pytest.mark.deep] * (name in SLOW))


@pytest.mark.parametrize("page", list(_pages()))
def test_a_page_does_what_it_shows(page: Path, tmp_path: Path, url: str) -> None:
    play(page, tmp_path, url)


def test_the_readme_does_what_it_shows_without_the_build(tmp_path: Path, url: str) -> None:
    """The build is skipped, because `make demo` builds from the same recording and CI checks its figures."""
    play(README, tmp_path, url, skip="planbook build")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = [found["to"].partition("#")[0] for found in LINK.finditer(page.read_text())]
    missing = [to for to in links if to and "://" not in to and not (page.parent / to).exists()]
    assert not missing, "generated pages are linked as files of docs/"


def test_the_readme_and_its_examples_are_short() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    assert not [line for line in lines if len(line) > 100]
    code = [block.code.splitlines() for block in blocks(README) if block.language == "python"]
    lengths = {lines[0]: len(lines) for lines in code}
    assert lengths["# lights.py"] <= 25
    assert lengths["# retry.py"] <= 15
    assert lengths["from planbook.sandbox import Sandbox"] <= 10
