"""The shipped recordings have the same results on every machine, equal their golden files, and build the libraries."""

import json
import os
from filecmp import dircmp
from pathlib import Path

import pytest

from planbook.config import LIBRARIES, RECORDINGS
from planbook.envs import load_environment
from planbook.envs.alfworld import tasks
from planbook.manuals import SHIPPED, parse, read_knowledge
from planbook.planner import METHODS
from tests.browser import need_browser
from tests.flows import command_of, invoke, succeed
from tests.golden import FOLDER, WRITTEN, golden, golden_text, play
from tests.planbook.recorded_episodes import BROWSER_EPISODES, EPISODES

LEARNED = LIBRARIES["learned"]
RECORDED = {path.stem: json.loads(path.read_text().splitlines()[0]) for path in sorted(RECORDINGS.glob("*.jsonl"))}
"""Maps each shipped recording to its header, the first line."""
BUILDING_RECORDINGS = ("alfworld-generated", "alfworld-train", "miniwob-feedback")
NO_GAMES = not (os.environ.get("ALFWORLD_DATA") and (tasks.data_root() / tasks.DATA_FOLDER / "train").is_dir())


def build_from_recording(name: str, folder: Path) -> None:
    """Build, and formulate a manual, with the replies of a recording only."""
    result = play(name, folder)
    assert result["replayed_calls"] == result["model_calls"] > 20


def assert_same(one: Path, other: Path) -> None:
    """Check that both folders hold the same files with the same content."""
    compared = dircmp(one, other)
    assert compared.left_only + compared.right_only + compared.funny_files == []
    assert [name for name in compared.common_files if (one / name).read_bytes() != (other / name).read_bytes()] == []
    for name in compared.common_dirs:
        assert_same(one / name, other / name)


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_says_how_it_was_made(name: str) -> None:
    header, *entries = [json.loads(line) for line in (RECORDINGS / f"{name}.jsonl").read_text().splitlines()]
    assert "exchange" in header["made_with"]
    assert {entry["model"] for entry in entries} == {"exchange"}
    assert all(len(entry["label"].split(": ")) == 2 for entry in entries)
    assert "Chromium" in header["made_with"] or not name.startswith("miniwob")


def test_every_recording_is_played() -> None:
    assert set(RECORDED) == {*BUILDING_RECORDINGS, *EPISODES, *BROWSER_EPISODES}
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(WRITTEN)


@pytest.mark.deep
def test_six_generated_tasks_teach_procedures_for_unseen_scenes(tmp_path: Path) -> None:
    build_from_recording("alfworld-generated", tmp_path / "built")
    assert golden(tmp_path / "built") == golden_text("alfworld-generated")
    unseen = ("--split", "generated:120", "--seeds", "2000-2019")
    library = ("--library", tmp_path / "built", "--model", "none", "--out", tmp_path / "test", "--json")
    tested = invoke("test", "--env", "alfworld", *unseen, *library).result
    assert (tested["tasks"], tested["model_calls"]) == (120, 0)
    assert tested["solved"] >= 0.95 * 120


@pytest.mark.deep
@pytest.mark.skipif(NO_GAMES, reason="ALFWORLD_DATA does not hold the split train")
def test_the_shipped_alfworld_library_was_learned_from_real_games(tmp_path: Path) -> None:
    build_from_recording("alfworld-train", tmp_path / "built")
    assert_same(tmp_path / "built" / "learned" / "alfworld", LEARNED / "alfworld")


@pytest.mark.browser
@pytest.mark.deep
def test_the_miniwob_library_was_built_from_its_recording(tmp_path: Path) -> None:
    need_browser()
    build_from_recording("miniwob-feedback", tmp_path / "built")
    assert_same(tmp_path / "built" / "learned" / "miniwob", LEARNED / "miniwob")


@pytest.mark.parametrize("name", ["alfworld", "miniwob"])
def test_a_shipped_manual_reads_back_as_its_rules(name: str) -> None:
    knowledge = read_knowledge(LEARNED, load_environment(name))
    _, rules = parse(knowledge.manual)
    assert {rule.id: (rule.type, rule.content, rule.example) for rule in rules} == {
        rule.id: (rule.type, rule.content, rule.example) for rule in knowledge.rules
    }
    assert knowledge.skills
    assert knowledge.procedures


def test_the_alfworld_library_solves_unseen_scenes(tmp_path: Path) -> None:
    unseen = ("--split", "generated:60", "--seeds", "3000-3009")
    tested = invoke("test", "--env", "alfworld", *unseen, "--model", "none", "--out", tmp_path, "--json").result
    assert (tested["tasks"], tested["model_calls"]) == (60, 0)
    assert tested["solved"] >= 57


def test_no_shipped_file_names_a_folder_of_the_machine_that_wrote_it() -> None:
    files = [path for folder in (LEARNED, RECORDINGS) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 15
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert str(SHIPPED.parent) not in text, path
        assert "/tmp/" not in text, path


DEEP = {
    "adapt-textcraft-stepwise",
    "chain-of-thought-graph-crafter",
    "deps-minecraft-chances",
    "devils-advocate-minecraft-chances",
    "paper-dep-minecraft",
    "paper-deps-minecraft",
    "paper-react-textcraft",
    "paper-zero-shot-replan-minecraft",
}
"""Recordings of long episodes. Other recordings cover their methods, too."""
NAMES = [pytest.param(name, marks=[pytest.mark.deep] * (name in DEEP)) for name in EPISODES]


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_equals_its_golden_file(name: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = play(name, out)
    assert (result["solved"], result["tasks"], result["model_calls"]) == EPISODES[name]
    assert result["replayed_calls"] == result["model_calls"]
    assert golden(out) == golden_text(name)
    replayed = succeed("replay", out, "--json")
    assert replayed.result["by_sameness"]["same"] == result["tasks"], replayed.result


def test_every_method_with_a_model_is_recorded() -> None:
    recorded = {words[words.index("--planner") + 1] for words in map(command_of, EPISODES)}
    assert recorded | {"automanual"} == {name for name, method in METHODS.items() if method.roles}
