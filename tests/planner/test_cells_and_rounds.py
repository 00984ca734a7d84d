"""Episodes as ADaPT uses them: cells that end early, frames with their own task, and rounds.

A cell is a piece of plan code that is run as a unit. A frame gives cells a separate namespace.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from planbook.envs import Verdict
from planbook.planner import Ending, Episode, FeedbackKind, JournalMismatch, MemoryJournal, Options, Outcome, play
from planbook.planner.errors import CellOver, EpisodeOver, NoPlan, RoundOver
from planbook.planner.strategies.base import play_in_rounds
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import GOAL, SOLVE, TouchToy, episode, started
from tests.planner.streaming_kit import cut_journals

LOOP = "while True:\n    agent.touch('x')"


@pytest.fixture
def playing(sandbox: Sandbox) -> Iterator[Episode]:
    with started(sandbox) as playing:
        yield playing


def end_cell(note: str = "So.") -> None:
    """End the cell."""
    raise CellOver(note)


@pytest.mark.parametrize(("actions", "taken"), [(0, 0), (1, 1), (2, 2), (None, 2)])
def test_a_cell_ends_before_it_takes_an_action_too_many(playing: Episode, actions: int | None, taken: int) -> None:
    for number in (1, 2):
        feedback = playing.run("agent.touch('x')\nagent.touch('y')", actions=actions)
        assert feedback.kind is FeedbackKind.UNFINISHED
        assert not feedback.is_error
        assert len(playing.steps) == playing.actions == number * taken, "the limit applies to each cell"
        assert ("This code has taken all the actions it is allowed to take: touch('" in feedback.text) is (taken < 2)
        assert feedback.text.endswith("Current state: You hold nothing. On the table: nothing.")


def test_the_action_limit_of_the_episode_ends_it_unless_the_cell_reaches_its_own_first(sandbox: Sandbox) -> None:
    with started(sandbox, actions=3) as playing:
        with pytest.raises(EpisodeOver, match="3 actions are used up"):
            playing.run(LOOP, actions=4)
        assert playing.ending().outcome is Outcome.OUT_OF_BUDGET
    with started(sandbox, actions=3) as playing:
        assert playing.run(LOOP, actions=3).kind is FeedbackKind.UNFINISHED
        assert playing.ending().outcome is Outcome.FAILURE


def test_the_end_of_an_inner_cell_does_not_end_the_outer_one(playing: Episode) -> None:
    def inner(depth: int) -> str:
        """Run a cell that ends early in its own frame, down to this depth."""
        with playing.frame("inner", {"over": end_cell, "inner": inner}):
            code = f"agent.touch('{depth}')\ninner({depth - 1})\nover()\nagent.touch('never')"
            kind = playing.run(code if depth else "agent.touch('0')\nagent.touch('never')", actions=1).kind
        return kind.value

    with playing.frame("outer", {"inner": inner}):
        feedback = playing.run("kinds = [inner(2), inner(0)]\nagent.touch('outer')\nprint(kinds)", actions=1)
        assert playing.run("print(kinds)").output == "['unfinished', 'unfinished']\n"
    assert feedback.kind is FeedbackKind.UNFINISHED
    assert [step.action.args[0] for step in playing.steps] == ["2", "1", "0", "0", "outer"]
    assert [cell.scope.count("inner") for cell in playing.cells] == [3, 2, 1, 1, 0, 0]


def test_a_mark_stays_valid_after_a_cell_that_ended_early(playing: Episode) -> None:
    playing.run("x = agent.open('box_1')")
    mark = playing.mark()
    playing.run("y = 1\nagent.open('box_2')\nagent.open('box_3')", actions=1)
    playing.rewind(mark)
    assert [step.undone for step in playing.steps] == [False, True]
    assert playing.run("print(x[:8])").output == "You open\n"
    playing.run("z = 3")
    playing.run(LOOP, actions=1)
    assert playing.run("print(x[:8], z)").output == "You open 3\n"


@pytest.mark.parametrize("code", ["from math import *", "globals()['sqrt'] = abs"])
def test_names_that_a_cell_defines_without_naming_them_are_known_to_later_cells(playing: Episode, code: str) -> None:
    assert playing.run("print(sqrt)").kind is FeedbackKind.CHECK
    playing.run(code)
    assert playing.run("print(sqrt(4) > 0)").output == "True\n"


def test_a_frame_may_have_its_own_task(playing: Episode) -> None:
    show = "print(task.goal, task.params, task.observation, task.type)"
    with playing.frame("other", task={"goal": "look", "params": {"n": 1}, "observation": "A room."}):
        assert playing.run(show).output == "look {'n': 1} A room. fetch\n"
        with playing.frame("inside"):
            assert playing.run("print(task.goal)").output == f"{GOAL}\n", "an inner frame shows the task of the episode"
        with playing.frame("inside", task={"goal": "look closer"}):
            assert playing.run("print(task.goal, task.params['things'] != [])").output == "look closer True\n"
    assert playing.run("print(task.goal)").output == f"{GOAL}\n"


@pytest.mark.parametrize("error", [ZeroDivisionError, ValueError])
def test_plans_cannot_catch_an_error_of_their_method(sandbox: Sandbox, error: type[Exception]) -> None:
    playing = episode(sandbox)

    def inner(depth: int) -> None:
        """Fail at the bottom."""
        if depth == 0:
            raise error("our own fault")
        with playing.frame("inner", {"inner": inner}):
            playing.run(f"try:\n    inner({depth - 1})\nexcept BaseException:\n    print('caught')")

    ending = play(playing, lambda playing, _: inner(2), Options())
    assert ending.outcome == Outcome.BROKEN
    message = rf"the planner raised {error.__name__}: our own fault \({Path(__file__).name}:\d+\)"
    assert re.fullmatch(message, ending.message)
    assert playing.cells == []


# Rounds.


class ScoredToy(TouchToy):
    """An environment whose milestones are the things touched. Each scores a tenth, but after a trap the score is 0."""

    def verdict(self) -> Verdict:
        touched = [past.args[0] for past, _ in self.history if past.name == "touch"]
        score = 0.0 if "trap" in touched else len(touched) / 10
        return Verdict(True, 1.0) if super().verdict().solved else Verdict(False, score)

    def milestones(self) -> list[str]:
        return [str(past.args[0]) for past, _ in self.history if past.name == "touch"]


def rounds(sandbox: Sandbox, *codes: str) -> Episode:
    """Play a round with each of these pieces of code."""
    with started(sandbox, environment=ScoredToy()) as playing:
        for number, code in enumerate(codes):
            if number:
                playing.new_round()
            with suppress(RoundOver):
                playing.run(code)
    return playing


def touches(count: int) -> str:
    return f"for n in range({count}):\n    agent.touch('x')"


@pytest.mark.parametrize("counts", [(1, 3, 2), (3, 0, 0), (0, 0, 3)])
def test_the_best_verdict_of_all_rounds_counts(sandbox: Sandbox, counts: tuple[int, ...]) -> None:
    playing = rounds(sandbox, *map(touches, counts))
    assert playing.verdict() == playing.ending().verdict == Verdict(False, 0.3)
    assert (playing.ending().outcome, playing.ending().actions) == (Outcome.FAILURE, sum(counts))
    assert playing.ending().milestones == ("x",) * 3
    assert len(playing.steps) == counts[-1], "the steps of the last round"
    assert [cell.scope for cell in playing.cells] == [f"task/0/round/{number}" for number in range(len(counts))]


def test_the_verdict_of_a_round_is_that_at_its_end_and_a_success_stays(sandbox: Sandbox) -> None:
    assert rounds(sandbox, f"{touches(3)}\nagent.touch('trap')", touches(1)).verdict() == Verdict(False, 0.1)
    ending = rounds(sandbox, SOLVE, "1 / 0").ending()
    assert (ending.outcome, ending.verdict) == (Outcome.INDIRECT_SUCCESS, Verdict(True, 1.0))


def test_only_the_end_of_the_episode_ends_all_rounds(sandbox: Sandbox) -> None:
    def strategy(ends: type[EpisodeOver]) -> list[int]:
        started: list[int] = []

        def play_round(number: int) -> None:
            started.append(number)
            raise ends("over")

        play(episode(sandbox), lambda playing, _: play_in_rounds(playing, 3, play_round), Options())
        return started

    assert strategy(RoundOver) == strategy(NoPlan) == [0, 1, 2]
    assert strategy(EpisodeOver) == [0]


def three_rounds(playing: Episode, options: object) -> None:
    """Play three rounds with cells that end early, inside and outside of frames."""
    for number in range(3):
        if number:
            playing.new_round()
        playing.run("kept = agent.touch('a')\nprint(kept)\nagent.touch('b')", actions=1 + number)
        with playing.frame("inner", {"over": end_cell}, task={"goal": f"goal {number}"}):
            playing.run("here = agent.touch('c')\nover('So.')")
            playing.run("print(task.goal)")


def play_three_rounds(sandbox: Sandbox, journal: MemoryJournal, **settings: Any) -> None:
    settings = {"environment": ScoredToy(), **settings}
    play(episode(sandbox, journal=journal, **settings), three_rounds, Options())


def test_an_episode_cut_off_anywhere_ends_in_the_same_journal(sandbox: Sandbox) -> None:
    complete = MemoryJournal()
    play_three_rounds(sandbox, complete)
    for journal, _ in cut_journals(complete):
        play_three_rounds(sandbox, journal)
        assert list(journal.events.items()) == list(complete.events.items())
    with pytest.raises(JournalMismatch):
        play_three_rounds(sandbox, complete, environment=TouchToy(), actions=2)


def test_an_ending_without_milestones_has_no_such_field() -> None:
    assert "milestones" not in Ending(outcome=Outcome.FAILURE).model_dump(mode="json")
    assert Ending(outcome=Outcome.FAILURE, milestones=("a",)).model_dump(mode="json")["milestones"] == ["a"]
