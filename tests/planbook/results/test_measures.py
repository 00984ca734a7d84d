"""What is measured besides success: measures, milestones, and the unlock score of Crafter."""

from io import StringIO
from math import log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from planbook.config import Config
from planbook.console import SafeConsole
from planbook.envs import Task
from planbook.planner import Ending, Outcome
from planbook.results.measures import (
    Measure,
    known_milestones,
    measure_lines,
    milestone_parts,
    milestones,
    overall_measure,
    unlock_score,
)
from planbook.results.summary import figure_parts
from planbook.runs import EpisodeEntry
from planbook.terminal import print_parts
from tests.flows import Finished, invoke
from tests.reported import Page
from tests.rows import results, summed

ENVIRONMENT = '''
from collections.abc import Mapping, Sequence
from planbook.envs.toy import Toy


class Game(Toy):
    """A toy world that counts."""

    name = "game"
    all_milestones = ("open a box", "take a thing", "put a thing", "win")

    def milestones(self) -> Sequence[str]:
        reached = {"open a box": self._open, "put a thing": self._table, "win": self.verdict().solved}
        return [name for name, value in reached.items() if value]

    def measures(self) -> Mapping[str, float]:
        return {"reward": 10.0 * len(self._table) + len(self._open)}
'''
NAMES = ("a", "b", "c")


def ending(outcome: Outcome = Outcome.FAILURE, milestones: tuple[str, ...] = (), **measures: float) -> Ending:
    return Ending(outcome=outcome, cause="x", milestones=milestones, measures=measures)


def printed(parts: Any) -> str:
    screen = SafeConsole(file=StringIO(), width=110)
    print_parts(screen, parts)
    written = screen.file
    assert isinstance(written, StringIO)
    return written.getvalue()


def test_means_are_over_all_played_episodes() -> None:
    endings = {0: ending(reward=10.0), 1: ending(Outcome.DIRECT_SUCCESS, reward=20.0), 2: ending(Outcome.BROKEN)}
    summary = summed("xxxx", endings)
    assert summary.measures == {"x": {"reward": Measure(mean=15.0, sd=7.0711, episodes=2)}}
    assert list(measure_lines(summary.measures)) == ["Measured in x: reward 15 ± 7.1; over 2 episodes."]


def test_each_type_and_all_types_together_have_figures() -> None:
    summary = summed("xyz", {0: ending(reward=1.0), 1: ending(reward=4.0, steps=9.0), 2: ending()})
    assert list(summary.measures) == ["x", "y", "all"]
    assert overall_measure(summary.measures, "reward") == Measure(mean=2.5, sd=2.1213, episodes=2)
    assert overall_measure(summary.measures, "steps") == Measure(mean=9.0, sd=None, episodes=1)
    assert overall_measure(summary.measures, "moons") is None
    assert overall_measure({}, "reward") is None
    lines = list(measure_lines(summary.measures))
    assert lines[1] == "Measured in y: reward 4, steps 9; over 1 episode."
    assert lines[2].endswith("over 1 to 2 episodes.")


def test_an_environment_without_measures_has_no_figures() -> None:
    summary = summed("x", {0: ending()})
    assert (summary.measures, summary.unlock_score) == ({}, None)
    assert list(figure_parts(summary)) == []


def test_the_unlock_score_is_computed_as_in_crafter() -> None:
    assert unlock_score([1.0] * 22) == pytest.approx(100)
    assert unlock_score([0.0] * 22) == 0
    assert unlock_score([1.0] + [0.0] * 21) == pytest.approx(101 ** (1 / 22) - 1)
    assert log(1 + unlock_score([0.5, 0.1])) == pytest.approx((log(51) + log(11)) / 2)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=22))
def test_an_unlock_score_lies_between_the_minimum_and_the_mean(shares: list[float]) -> None:
    assert 100 * min(shares) - 1e-9 <= unlock_score(shares) <= 100 * sum(shares) / len(shares) + 1e-9


def test_milestones_are_counted_for_types_whose_tasks_have_one_goal() -> None:
    goals = {"one": "a", "two": "b", "mixed": "c"}
    reached = [("one", ("log",)), ("one", ("log", "planks")), ("one", ()), ("two", ()), ("mixed", ("log",))]
    tasks = [
        Task(id=f"{n}", env="toy", split="all", type=kind, goal=goals[kind]) for n, (kind, _) in enumerate(reached)
    ]
    entries = [EpisodeEntry(index=number, task=task) for number, task in enumerate(tasks)]
    entries.append(EpisodeEntry(index=len(tasks), task=tasks[-1].model_copy(update={"goal": "another"})))
    endings = {number: ending(milestones=names) for number, (_, names) in enumerate(reached)}
    found = milestones(results(entries, endings))
    assert found == {"one": {"log": (2, 3), "planks": (1, 3)}}
    assert list(milestone_parts(found, None)) == ["Reached in one: log 2/3, planks 1/3."]


def test_all_known_milestones_are_reported_even_if_goals_differ() -> None:
    endings = {0: ending(milestones=("b",)), 1: ending(milestones=("a", "b"))}
    summary = summed("xxxx", endings, all_milestones=NAMES)
    assert summary.milestones == {"x": {"b": (2, 4), "a": (1, 4), "c": (0, 4)}}
    assert summary.unlock_score == round(unlock_score([0.25, 0.5, 0.0]), 2)
    text = printed(milestone_parts(summary.milestones, summary.unlock_score))
    assert "Reached in x" in text
    rows = [line.strip("│").split("│") for line in text.splitlines() if line.startswith("│")]
    assert [[each.strip() for each in row] for row in rows] == [
        ["b", "2 / 4", "50.0%"],
        ["a", "1 / 4", "25.0%"],
        ["c", "0 / 4", "0.0%"],
    ]
    assert f"Unlock score over all milestones: {summary.unlock_score:.2f} %." in text


def test_several_types_have_one_score() -> None:
    endings = {0: ending(milestones=("a",)), 1: ending(milestones=("a", "b"))}
    assert summed("xy", endings, all_milestones=NAMES).unlock_score == round(unlock_score([1.0, 0.5, 0.0]), 2)
    assert summed("xy", {}, all_milestones=NAMES).unlock_score == 0


def test_a_task_for_a_single_milestone_does_not_count_for_the_score() -> None:
    endings = {0: ending(milestones=("a", "b")), 1: ending(milestones=("a",)), 2: ending(milestones=("c", "a"))}
    summary = summed("xxb", endings, all_milestones=NAMES)
    assert summary.unlock_score == round(unlock_score([1.0, 0.5, 0.0]), 2)
    assert summary.milestones["b"] == {"c": (1, 1), "a": (1, 1)}
    text = printed(milestone_parts(summary.milestones, summary.unlock_score))
    assert text.startswith("Reached in b: c 1/1, a 1/1.")
    assert "Reached in x" in text
    alone = summed("b", {0: ending(milestones=("a",))}, all_milestones=NAMES)
    assert (alone.unlock_score, alone.milestones) == (None, {"b": {"a": (1, 1)}})


def test_a_missing_environment_has_no_known_milestones(tmp_path: Path) -> None:
    assert known_milestones(Config(planner="react", env=f"{tmp_path / 'gone.py'}:Game", actions=1)) == ()


def test_a_run_reports_measures_and_milestones_everywhere(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(ENVIRONMENT)

    def play(code: str, out: str) -> Finished:
        command = ("run", "--planner", "code", "--planner-option", f"code={code}", "--seeds", "0-2", "--types", "fetch")
        return invoke(*command, "--env", f"{tmp_path / 'game.py'}:Game", "--json", "--out", tmp_path / out)

    finished = play("agent.open('box_1')\nagent.open('box_2')", "run")
    found = finished.result
    assert found["measures"] == {"fetch": {"reward": {"mean": 2.0, "sd": 0.0, "episodes": 3}}}
    none = {name: [0, 3] for name in ("take a thing", "put a thing", "win")}
    assert found["milestones"]["fetch"] == {"open a box": [3, 3], **none}
    assert found["unlock_score"] == round(101**0.25 - 1, 2)
    assert "Measured in fetch: reward 2 ± 0; over 3 episodes." in finished.stderr
    assert finished.stderr.count("open a box") == 1
    nothing = play("agent.open('moon')", "nothing").result
    assert nothing["measures"]["fetch"]["reward"]["mean"] == 0.0, "an episode without any milestone is measured too"
    invoke("report", tmp_path / "run")
    (reached,) = Page(tmp_path / "run" / "report.html").all("section", class_="figures")
    assert "reward" in reached
    assert f"Unlock score over all milestones: {found['unlock_score']:.2f} %." in reached
    assert "take a thing0 / 30.0%" in reached
