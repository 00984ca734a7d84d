"""What ADaPT needs of an episode: cells that end early, other tasks in a frame, rounds of which the best counts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from planbook.envs import Verdict
from planbook.planner import Ending, Episode, FeedbackKind, JournalMismatch, MemoryJournal, Options, Outcome, play
from planbook.planner.errors import CellOver, EpisodeOver, ModelUnavailable, NoPlan, RoundOver
from planbook.planner.strategies.base import in_rounds
from planbook.planner.trajectory import read_trajectory
from planbook.sandbox import Sandbox
from tests.planner.pieces import cuts
from tests.planner.players import GOAL, SOLVE, TASK, Players, Traced, episode
from tests.spanning import rows_of

LOOP = "while True:\n    agent.touch('x')"


@pytest.fixture
def playing(sandbox: Sandbox) -> Iterator[Episode]:
    begun = episode(sandbox, Players())
    begun.begin()
    yield begun
    begun.close()


def over(note: str = "So.") -> None:
    """End the cell."""
    raise CellOver(note)


@pytest.mark.parametrize("actions", [0, 1, 3])
def test_a_cell_ends_before_it_takes_an_action_too_many(playing: Episode, actions: int) -> None:
    feedback = playing.run(LOOP, actions=actions)
    assert feedback.kind is FeedbackKind.UNFINISHED
    assert not feedback.is_error
    assert len(playing.steps) == playing.actions == actions
    assert "This code has taken all the actions that it may: touch('x') was not taken." in feedback.text
    assert feedback.text.endswith("Current state: You hold nothing. On the table: nothing.")


def test_each_cell_counts_for_itself(playing: Episode) -> None:
    code = "agent.touch('x')\nagent.touch('y')"
    for limit, taken in ((1, 1), (2, 2), (None, 2), (1, 1), (5, 2)):
        before = len(playing.steps)
        assert playing.run(code, actions=limit).kind is FeedbackKind.UNFINISHED
        assert len(playing.steps) - before == taken


def test_as_many_actions_as_it_may_is_no_early_end(playing: Episode) -> None:
    feedback = playing.run("agent.touch('x')\ny = agent.touch('y')", actions=2)
    assert "has taken all" not in feedback.text
    assert playing.run("print(y)").output == "You touch y.\n"


def test_an_episode_out_of_actions_is_over_whatever_the_cell_may_take(sandbox: Sandbox) -> None:
    begun = episode(sandbox, Players(), actions=3)
    begun.begin()
    with pytest.raises(EpisodeOver, match="3 actions are used up"):
        begun.run(LOOP, actions=4)
    assert begun.ending().outcome is Outcome.OUT_OF_BUDGET
    begun.close()
    begun = episode(sandbox, Players(), actions=3)
    begun.begin()
    assert begun.run(LOOP, actions=3).kind is FeedbackKind.UNFINISHED
    assert begun.ending().outcome is Outcome.FAILURE, "the limits meet: the cell's own is the first"
    begun.close()


def test_no_plan_holds_the_end_of_its_cell_up(playing: Episode) -> None:
    caught = "except BaseException:\n    agent.touch('x')\nfinally:\n    agent.touch('y')"
    code = f"kept = 1\ntry:\n    over('Enough.')\n{caught}"
    with playing.frame("inner", {"over": over}):
        playing.run("before = 1")
        feedback = playing.run(f"print('seen')\n{code}")
        assert (feedback.kind, feedback.output, playing.steps) == (FeedbackKind.UNFINISHED, "seen\n", [])
        assert "Enough." in feedback.text
        assert playing.run("print(before)").output == "1\n"
        assert playing.run("print(kept)").kind is FeedbackKind.CHECK


def test_the_end_of_an_inner_cell_is_not_that_of_the_outer_one(playing: Episode) -> None:
    def inner(depth: int) -> str:
        """Run a cell that ends early, in a frame of its own, as deep as this."""
        with playing.frame("inner", {"over": over, "inner": inner}):
            code = f"agent.touch('{depth}')\ninner({depth - 1})\nover()\nagent.touch('never')"
            kind = playing.run(code if depth else "agent.touch('0')\nagent.touch('never')", actions=1).kind
        return kind.value

    with playing.frame("outer", {"inner": inner}):
        feedback = playing.run("kinds = [inner(2), inner(0)]\nagent.touch('outer')\nprint(kinds)", actions=1)
        assert playing.run("print(kinds)").output == "['unfinished', 'unfinished']\n"
    assert feedback.kind is FeedbackKind.UNFINISHED
    assert [str(step.action) for step in playing.steps] == [
        f"touch('{what}')" for what in ("2", "1", "0", "0", "outer")
    ]
    assert [cell.scope.count("inner") for cell in playing.cells] == [3, 2, 1, 1, 0, 0]


def test_a_mark_outlives_a_cell_that_ended_early(playing: Episode) -> None:
    playing.run("x = agent.open('box_1')")
    mark = playing.mark()
    playing.run("y = 1\nagent.open('box_2')\nagent.open('box_3')", actions=1)
    playing.rewind(mark)
    assert [step.undone for step in playing.steps] == [False, True]
    assert playing.run("print(x[:8])").output == "You open\n"
    playing.run("z = 3")
    playing.run(LOOP, actions=1)
    assert playing.run("print(x[:8], z)").output == "You open 3\n"


def test_a_frame_may_have_another_task(playing: Episode) -> None:
    show = "print(task.goal, task.params, task.observation, task.type)"
    with playing.frame("other", task={"goal": "look", "params": {"n": 1}, "observation": "A room."}):
        assert playing.run(show).output == "look {'n': 1} A room. fetch\n"
        with playing.frame("inside"):
            assert playing.run("print(task.goal)").output == f"{GOAL}\n", "what is inside has the task's own again"
        with playing.frame("inside", task={"goal": "look closer"}):
            assert playing.run("print(task.goal, task.params['things'] != [])").output == "look closer True\n"
    assert playing.run("print(task.goal)").output == f"{GOAL}\n"


def test_a_function_may_stand_for_an_action(playing: Episode) -> None:
    def touch(what: str) -> str:
        """Only say so."""
        return f"You would touch {what}."

    with playing.frame("other", {"agent.touch": touch}):
        assert playing.run("print(agent.touch('x'), agent.holding)").output == "You would touch x. nothing\n"
    assert playing.steps == []


@pytest.mark.parametrize("error", [ZeroDivisionError, ValueError, ModelUnavailable])
def test_what_a_method_raises_is_not_told_to_the_plan_that_called_it(sandbox: Sandbox, error: type[Exception]) -> None:
    def inner(depth: int) -> None:
        """Fail at the bottom."""
        if depth == 0:
            raise error("our own fault")
        with begun.frame("inner", {"inner": inner}):
            begun.run(f"try:\n    inner({depth - 1})\nexcept BaseException:\n    print('caught')")

    journal = MemoryJournal()
    begun = episode(sandbox, Players(), journal=journal)
    if error is ModelUnavailable:
        with pytest.raises(ModelUnavailable, match="our own fault"):
            play(begun, lambda playing, _: inner(2), Options())
        assert "outcome" not in {kind for _, kind, _ in journal.events}
    else:
        ending = play(begun, lambda playing, _: inner(2), Options())
        assert ending.outcome == Outcome.BROKEN
        said = rf"the planner raised {error.__name__}: our own fault \({Path(__file__).name}:\d+\)"
        assert re.fullmatch(said, ending.message)
    assert begun.cells == []


# Rounds.


class Scored(Traced):
    """Each thing touched is worth a tenth; touching a trap takes everything."""

    def verdict(self) -> Verdict:
        touched = [past.args[0] for past, _ in self.history if past.name == "touch"]
        score = 0.0 if "trap" in touched else len(touched) / 10
        return Verdict(True, 1.0) if super().verdict().solved else Verdict(False, score)


def rounds(sandbox: Sandbox, *codes: str) -> Episode:
    """An episode with a round for each of these."""
    playing = episode(sandbox, Players(), environment=Scored())
    playing.begin()
    for number, code in enumerate(codes):
        if number:
            playing.new_round()
        playing.run(code)
    playing.close()
    return playing


def touches(count: int) -> str:
    return f"for n in range({count}):\n    agent.touch('x')"


@pytest.mark.parametrize("counts", [(1, 3, 2), (3, 0, 0), (0, 0, 3), (3,)])
def test_the_best_verdict_of_all_rounds_counts(sandbox: Sandbox, counts: tuple[int, ...]) -> None:
    playing = rounds(sandbox, *map(touches, counts))
    assert playing.verdict() == playing.ending().verdict == Verdict(False, 0.3)
    assert (playing.ending().outcome, playing.ending().actions) == (Outcome.FAILURE, sum(counts))
    assert len(playing.steps) == counts[-1], "those of the last round"
    assert [cell.scope for cell in playing.cells] == [f"task/0/round/{number}" for number in range(len(counts))]


def test_within_a_round_its_end_counts(sandbox: Sandbox) -> None:
    assert rounds(sandbox, f"{touches(3)}\nagent.touch('trap')", touches(1)).verdict() == Verdict(False, 0.1)


def test_a_solved_round_stays_solved(sandbox: Sandbox) -> None:
    playing = episode(sandbox, Players(), environment=Scored())
    playing.begin()
    with pytest.raises(RoundOver):
        playing.run(SOLVE)
    playing.new_round()
    playing.run("1 / 0")
    playing.close()
    assert playing.ending().outcome is Outcome.INDIRECT_SUCCESS
    assert playing.ending().verdict == Verdict(True, 1.0)
    assert playing.broken("by something else").verdict == Verdict(False, 0.0)


def test_rounds_end_with_the_environment_or_without_a_plan_and_the_episode_with_its_actions(sandbox: Sandbox) -> None:
    def strategy(ends: type[EpisodeOver]) -> list[int]:
        begun: list[int] = []

        def play_round(number: int) -> None:
            begun.append(number)
            raise ends("over")

        play(episode(sandbox, Players()), lambda playing, _: in_rounds(playing, 3, play_round), Options())
        return begun

    assert strategy(RoundOver) == strategy(NoPlan) == [0, 1, 2]
    assert strategy(EpisodeOver) == [0]


def several(playing: Episode, options: object) -> None:
    """Rounds with cells that end early, inside and outside of frames."""
    for number in range(3):
        if number:
            playing.new_round()
        playing.run("kept = agent.touch('a')\nprint(kept)\nagent.touch('b')", actions=1 + number)
        with playing.frame("inner", {"over": over}, task={"goal": f"goal {number}"}):
            playing.run("here = agent.touch('c')\nover('So.')")
            playing.run("print(task.goal)")


def test_an_episode_of_rounds_cut_off_anywhere_ends_in_the_same_journal(sandbox: Sandbox) -> None:
    whole = MemoryJournal()
    play(episode(sandbox, Players(), journal=whole, environment=Scored()), several, Options())
    events = list(whole.events.items())
    assert len(events) > 20
    for cut in cuts(whole):
        journal = MemoryJournal()
        journal.events = dict(events[:cut])
        play(episode(sandbox, Players(), journal=journal, environment=Scored()), several, Options())
        assert list(journal.events.items()) == events
    changed = MemoryJournal()
    changed.events = dict(events)
    with pytest.raises(JournalMismatch):
        play(episode(sandbox, Players(), journal=changed, environment=Traced(), actions=2), several, Options())


def test_the_trajectory_has_every_round(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    play(episode(sandbox, Players(), journal=journal, environment=Scored()), several, Options())
    read = read_trajectory("task/0", rows_of(journal))
    assert read.task.id == TASK.id
    assert [len(each.cells) for each in read.rounds] == [3, 3, 3]
    assert [len(each.steps) for each in read.rounds] == [2, 3, 3]


class Counting(Scored):
    """What was touched are its milestones."""

    def milestones(self) -> list[str]:
        return [str(past.args[0]) for past, _ in self.history if past.name == "touch"]


def test_milestones_are_those_of_the_best_round(sandbox: Sandbox) -> None:
    playing = episode(sandbox, Players(), environment=Counting())
    playing.begin()
    playing.run("agent.touch('a')\nagent.touch('b')")
    playing.new_round()
    playing.run("agent.touch('c')")
    playing.close()
    assert playing.ending().milestones == ("a", "b")
    assert playing.broken("by something else").milestones == ()


def test_an_ending_without_milestones_is_written_as_it_always_was() -> None:
    assert "milestones" not in Ending(outcome=Outcome.FAILURE).model_dump(mode="json")
    assert Ending(outcome=Outcome.FAILURE, milestones=("a",)).model_dump(mode="json")["milestones"] == ["a"]
