"""What environments measure beside success, and Crafter's score: in the summary, the terminal and the report."""

from io import StringIO
from math import log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from planbook.config import Config
from planbook.envs import Task
from planbook.planner import Ending, Outcome
from planbook.report import report_runs
from planbook.results import (
    Measure,
    Summary,
    figure_parts,
    known_milestones,
    measure_lines,
    milestone_parts,
    overall,
    summarise,
    unlock_score,
)
from planbook.runs import Entry
from planbook.terminal.printing import print_parts
from tests.command import planbook, result
from tests.planbook.results.rows import rows
from tests.reported import Page

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


def entry(index: int, kind: str = "x") -> Entry:
    return Entry(index=index, task=Task(id=f"{kind}/{index}", env="toy", split="all", type=kind, goal=f"g {index}"))


def ended(outcome: Outcome = Outcome.FAILURE, milestones: tuple[str, ...] = (), **measures: float) -> Ending:
    return Ending(outcome=outcome, cause="x", milestones=milestones, measures=measures)


def summed(endings: dict[int, Ending], kinds: str, known: tuple[str, ...] = ()) -> Summary:
    return summarise(rows([entry(number, kind) for number, kind in enumerate(kinds)], endings), 1.0, "run", known=known)


def printed(parts: Any) -> str:
    screen = Console(file=StringIO(), width=110, highlight=False, emoji=False, markup=False)
    print_parts(screen, parts)
    written = screen.file
    assert isinstance(written, StringIO)
    return written.getvalue()


def test_means_are_over_all_episodes_that_were_played_solved_or_not() -> None:
    endings = {0: ended(reward=10.0), 1: ended(Outcome.DIRECT_SUCCESS, reward=20.0), 2: ended(Outcome.BROKEN)}
    summary = summed(endings, "xxxx")
    assert summary.measures == {"x": {"reward": Measure(mean=15.0, sd=7.0711, episodes=2)}}
    assert list(measure_lines(summary.measures)) == ["Measured in x: reward 15 ± 7.1; over 2 episodes."]


def test_several_types_are_told_apart_and_together() -> None:
    summary = summed({0: ended(reward=1.0), 1: ended(reward=4.0, steps=9.0), 2: ended()}, "xyz")
    assert list(summary.measures) == ["x", "y", "all"]
    assert overall(summary.measures, "reward") == Measure(mean=2.5, sd=2.1213, episodes=2)
    assert overall(summary.measures, "steps") == Measure(mean=9.0, sd=None, episodes=1)
    assert overall(summary.measures, "moons") is None
    assert overall({}, "reward") is None
    lines = list(measure_lines(summary.measures))
    assert lines[1] == "Measured in y: reward 4, steps 9; over 1 episode."
    assert lines[2].endswith("over 1 to 2 episodes.")


def test_an_environment_that_measures_nothing_has_no_such_figures() -> None:
    summary = summed({0: ended()}, "x")
    assert (summary.measures, summary.unlock_score) == ({}, None)
    assert list(figure_parts(summary)) == []


def test_the_unlock_score_is_crafter_s() -> None:
    assert unlock_score([1.0] * 22) == pytest.approx(100)
    assert unlock_score([0.0] * 22) == 0
    assert unlock_score([1.0] + [0.0] * 21) == pytest.approx(101 ** (1 / 22) - 1)
    assert log(1 + unlock_score([0.5, 0.1])) == pytest.approx((log(51) + log(11)) / 2)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=22))
def test_an_unlock_score_lies_between_the_least_and_the_mean(shares: list[float]) -> None:
    assert 100 * min(shares) - 1e-9 <= unlock_score(shares) <= 100 * sum(shares) / len(shares) + 1e-9


def test_all_that_can_be_reached_is_told_whatever_the_goals_are() -> None:
    endings = {0: ended(milestones=("b",)), 1: ended(milestones=("a", "b"))}
    summary = summed(endings, "xxxx", NAMES)
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
    assert f"Unlock score, over all of them: {summary.unlock_score:.2f} %." in text


def test_several_types_make_one_score() -> None:
    endings = {0: ended(milestones=("a",)), 1: ended(milestones=("a", "b"))}
    assert summed(endings, "xy", NAMES).unlock_score == round(unlock_score([1.0, 0.5, 0.0]), 2)
    assert summed({}, "xy", NAMES).unlock_score == 0


def test_a_task_that_asks_for_one_milestone_alone_is_no_part_of_the_score() -> None:
    endings = {0: ended(milestones=("a", "b")), 1: ended(milestones=("a",)), 2: ended(milestones=("c", "a"))}
    summary = summed(endings, "xxb", NAMES)
    assert summary.unlock_score == round(unlock_score([1.0, 0.5, 0.0]), 2)
    assert summary.milestones["b"] == {"c": (1, 1), "a": (1, 1)}
    text = printed(milestone_parts(summary.milestones, summary.unlock_score))
    assert text.startswith("Reached in b: c 1/1, a 1/1.")
    assert "Reached in x" in text
    alone = summed({0: ended(milestones=("a",))}, "b", NAMES)
    assert (alone.unlock_score, alone.milestones) == (None, {"b": {"a": (1, 1)}})


def test_an_environment_that_is_gone_has_no_known_milestones(tmp_path: Path) -> None:
    assert known_milestones(Config(planner="react", env=f"{tmp_path / 'gone.py'}:Game", actions=1)) == ()


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("world") / "game.py"
    path.write_text(ENVIRONMENT)
    return f"{path}:Game"


def test_a_run_tells_them_everywhere(tmp_path: Path, game: str) -> None:
    code = "agent.open('box_1')\nagent.open('box_2')"
    command = [
        "run",
        "--planner",
        "code",
        "--planner-option",
        f"code={code}",
        "--env",
        game,
        "--seeds",
        "0-2",
        "--json",
    ]
    finished = planbook(*command, "--types", "fetch", "--json", "--out", tmp_path / "run")
    assert finished.returncode == 0, finished.stderr
    told = result(finished)
    assert told["measures"] == {"fetch": {"reward": {"mean": 2.0, "sd": 0.0, "episodes": 3}}}
    none = {name: [0, 3] for name in ("take a thing", "put a thing", "win")}
    assert told["milestones"]["fetch"] == {"open a box": [3, 3], **none}
    assert told["unlock_score"] == round(101**0.25 - 1, 2)
    assert "Measured in fetch: reward 2 ± 0; over 3 episodes." in finished.stderr
    assert finished.stderr.count("open a box") == 1
    report_runs([tmp_path / "run"], None, None, as_json=True)
    page = Page(tmp_path / "run" / "report.html")
    (section,) = page.all("section", class_="measures")
    assert "reward" in section
    (reached,) = page.all("section", class_="milestones")
    assert f"Unlock score, over all of them: {told['unlock_score']:.2f} %." in reached
    assert "take a thing0 / 30.0%" in reached


def test_an_episode_in_which_nothing_was_reached_is_measured_too(tmp_path: Path, game: str) -> None:
    command = ["run", "--planner", "code", "--planner-option", "code=agent.open('moon')", "--env", game, "--json"]
    finished = planbook(*command, "--seeds", "0", "--types", "fetch", "--out", tmp_path / "run")
    assert result(finished)["measures"] == {"fetch": {"reward": {"mean": 0.0, "sd": None, "episodes": 1}}}
