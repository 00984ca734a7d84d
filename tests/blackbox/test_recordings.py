"""Recordings that need a browser or downloaded games still give the results in their data files."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.blackbox.harness import RECORDINGS, planbook
from tests.blackbox.recorded import BROWSER_RECORDINGS, GAMES, PLAYED, export_episodes, play_recording, read_data_file
from tests.browser import need_browser

PARAMETERS = [pytest.param(name, marks=pytest.mark.deep) for name in PLAYED]


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_recording_has_its_recorded_results(name: str, tmp_path: Path) -> None:
    pages = name in BROWSER_RECORDINGS
    if pages:
        need_browser()
    if name in GAMES and not os.environ.get("ALFWORLD_DATA"):
        pytest.skip("ALFWORLD_DATA names no games")
    now = play_recording(name, tmp_path)
    if pages and now.finished.code == 3:
        pytest.skip("this browser renders the pages differently from the one that was recorded")
    assert now.finished.code == 0, now.finished.printed
    lines, figures = read_data_file(name)
    assert _lines(now.text.split("\n")[:-2], pages) == _lines(lines, pages)
    assert {key: now.finished.result.get(key) for key in figures} == figures


def _lines(lines: Sequence[str], pages: bool) -> list[str]:
    """Remove the digests of pages, since a page may be read before or after its style has changed."""
    return [re.sub(r" [0-9a-f]{8}\b", "", line) for line in lines] if pages else list(lines)


@pytest.mark.parametrize("name", ["devils-advocate-minecraft-chances", "agentkit-shopping"])
def test_episodes_are_shown_as_they_are_exported(name: str, tmp_path: Path) -> None:
    run = play_recording(name, tmp_path).run
    for number, episode in enumerate(export_episodes(run)):
        shown = planbook("show", run, number, "--json", cwd=tmp_path).result
        assert {key: shown[key] for key in ("task", "rounds", "spans", "ending")} == {
            key: episode[key] for key in ("task", "rounds", "spans", "ending")
        }
        printed = " ".join(planbook("show", run, number, cwd=tmp_path).out.split())
        assert episode["task"]["goal"] in printed
        for step in (step for each in episode["rounds"] for step in each["steps"]):
            assert f"agent.{step['action']['name']}(" in printed
        assert (
            f"{episode['ending']['outcome'].replace('_', ' ')} after {episode['ending']['actions']} action" in printed
        )


def test_every_recording_has_its_data_file() -> None:
    assert {path.stem for path in RECORDINGS.glob("*.txt")} == set(PLAYED)
