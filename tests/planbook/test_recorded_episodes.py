"""Whole episodes of every method with a strong model's recorded replies: played again without it, and resumed."""

import json
from pathlib import Path

import pytest

from planbook import errors
from planbook.config import RECORDINGS
from planbook.planner import METHODS
from tests.browser import need_browser
from tests.flows import here
from tests.golden import golden, held, play
from tests.planbook.recorded_episodes import EPISODES, ON_PAGES

SHOWN_OTHERWISE = "differs from message 2 on"
"""The message that shows a page. The first, which tells the role and the world, is the same in every browser."""


def command(name: str) -> list[str]:
    words: str = json.loads((RECORDINGS / f"{name}.jsonl").read_text().splitlines()[0])["command"]
    return words.split()


@pytest.mark.parametrize("name", EPISODES)
def test_a_recorded_run_comes_to_what_it_came_to(name: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = play(name, out)
    assert (result["solved"], result["tasks"], result["model_calls"]) == EPISODES[name]
    assert result["replayed_calls"] == result["model_calls"]
    assert golden(out) == held(name)
    again = here("replay", out, "--json")
    assert again.returncode == 0, again.told
    assert again.result["by_sameness"]["same"] == result["tasks"]


@pytest.mark.browser
@pytest.mark.parametrize("name", ON_PAGES)
def test_a_run_recorded_on_pages_comes_to_what_it_came_to(name: str, tmp_path: Path) -> None:
    need_browser()
    played = here(*command(name), "--model", f"recorded:{name}", "--out", tmp_path / "run", "--json")
    if played.returncode == errors.MISSING and SHOWN_OTHERWISE in played.told:
        pytest.skip("this browser shows the pages otherwise than the one of the recording")
    assert played.returncode == 0, played.told
    assert (played.result["solved"], played.result["tasks"], played.result["model_calls"]) == ON_PAGES[name]


def test_every_method_that_asks_is_recorded() -> None:
    recorded = {words[words.index("--planner") + 1] for words in map(command, EPISODES)}
    assert recorded | {"automanual"} == {name for name, method in METHODS.items() if method.roles}
