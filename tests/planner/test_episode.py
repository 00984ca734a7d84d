"""The operations of an episode: running code, frames, rounds and the ending. The sandbox is real."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from planbook.envs import Action, Observation, Task, Verdict
from planbook.envs.toy import Toy
from planbook.planner import (
    Ending,
    Episode,
    EpisodeBroken,
    EpisodeOver,
    EpisodeStopped,
    FeedbackKind,
    JournalFailed,
    JournalMismatch,
    MemoryJournal,
    Options,
    Outcome,
    ScriptedModel,
    method,
    play,
)
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import SOLVE, THING, OneModel, episode, started
from tests.planner.streaming_kit import KilledJournal


@pytest.fixture
def playing(sandbox: Sandbox) -> Iterator[Episode]:
    with started(sandbox) as playing:
        yield playing


def ending_of(playing: Episode, *cells: str) -> Ending:
    """Play an episode that runs these cells."""

    def strategy(playing: Episode, options: object) -> None:
        for code in cells:
            playing.run(code)

    return play(playing, strategy, Options())


def test_the_action_that_ends_the_episode_does_not_return(playing: Episode) -> None:
    with pytest.raises(EpisodeOver):
        playing.run(f"{SOLVE}print('never reached')")
    assert playing.feedbacks[-1].kind is FeedbackKind.DONE
    assert playing.feedbacks[-1].output == ""
    assert playing.ending().outcome is Outcome.DIRECT_SUCCESS
    assert [step.line for step in playing.steps][-2:] == [4, 5]


@pytest.mark.parametrize(
    ("code", "outcome", "cause"),
    [
        ("while True: agent.open('box_1')", Outcome.OUT_OF_BUDGET, "out_of_budget"),
        ("agent.open('box_1')\nagent.open('box_2')\n1 / 0", Outcome.FAILURE, "raised"),
    ],
)
def test_an_error_after_the_last_action_is_the_cause_of_the_failure(
    sandbox: Sandbox, code: str, outcome: Outcome, cause: str
) -> None:
    ending = ending_of(episode(sandbox, actions=2), code)
    assert (ending.outcome, ending.cause, ending.actions) == (outcome, cause, 2)


def test_ten_plans_in_a_row_that_fail_the_check_end_the_episode(sandbox: Sandbox) -> None:
    model = ScriptedModel(lambda messages, sampling: "```python\nagent.fly_to('moon')\n```")
    playing, react = episode(sandbox, OneModel(model)), method("react")
    ending = play(playing, react.play, react.options())
    assert (ending.cause, len(playing.cells)) == ("check", 10)
    assert ending.message == "10 plans in a row did not pass the check"


def test_ten_nested_plans_that_fail_the_check_end_the_episode_with_the_same_message(playing: Episode) -> None:
    def strategy(playing: Episode, options: object) -> None:
        def achieve() -> None:
            with playing.frame("achieve"):
                while True:
                    playing.run("agent.fly_to('moon')")

        with playing.frame("plan", {"achieve": achieve}):
            playing.run("achieve()")

    ending = play(playing, strategy, Options())
    assert (ending.cause, ending.message) == ("limit", "10 plans in a row did not pass the check")
    assert [cell.feedback.kind for cell in playing.cells] == [FeedbackKind.CHECK] * 10 + [FeedbackKind.LIMIT]


def test_feedback_shows_each_observation_once(playing: Episode) -> None:
    """If an observation is printed or quoted, a reference replaces it. ``output`` keeps what was printed."""
    code = "seen = agent.open('box_1')\nprint('saw:', seen)\nnext = agent.take('unicorn', 'box_1')\nassert False, next"
    feedback = playing.run(code)
    assert "Printed:\nsaw: [what action 1 returned]\n" in feedback.text
    assert "AssertionError: [what action 2 returned]" in feedback.text
    assert feedback.text.count("You open box_1") == feedback.text.count("you see no unicorn") == 1
    assert "You open box_1" in feedback.output
    assert "\n\n" not in playing.run("agent.open('box_2')").text


def test_attributes_follow_the_environment_and_cannot_be_set(playing: Episode) -> None:
    found = playing.run(SOLVE.replace("agent.put", f"assert agent.holding == '{THING}'\n        break\n#"))
    assert found.kind is FeedbackKind.UNFINISHED, found.text
    assert playing.run("agent.holding = 'key'").kind is not FeedbackKind.UNFINISHED


def test_a_call_is_recorded_as_an_action_with_positional_arguments(playing: Episode) -> None:
    playing.run("list(map(agent.open, ['box_1', 'box_2']))\nagent.take(box='box_1', thing='unicorn')")
    assert [step.action for step in playing.steps] == [
        Action("open", ("box_1",)),
        Action("open", ("box_2",)),
        Action("take", ("unicorn", "box_1")),
    ]


def test_a_step_keeps_what_was_printed_before_it(playing: Episode) -> None:
    feedback = playing.run("print('a')\nagent.open('box_1')\nprint('b')\nprint('c')\nagent.open('box_2')\nprint('d')")
    assert [step.printed for step in playing.steps] == ["a\n", "b\nc\n"]
    assert feedback.output == "a\nb\nc\nd\n"


def test_a_frame_has_its_helpers_and_no_outer_names(playing: Episode) -> None:
    playing.run("secret = 1")
    with playing.frame("inner", helpers="def double(x):\n    return 2 * x"):
        assert playing.run("print(double(4))").output == "8\n"
        assert playing.run("print(secret)").kind is FeedbackKind.CHECK
    assert playing.run("print(secret)").output == "1\n"
    with pytest.raises(EpisodeBroken, match="helpers cannot be defined"), playing.frame("inner", helpers="1/0"):
        pass


def test_random_numbers_depend_on_the_seed_and_not_on_the_place_in_the_run(sandbox: Sandbox) -> None:
    def numbers(seed: str, path: str) -> str:
        with started(sandbox, path=path, seed=seed) as playing:
            return playing.run("import random\nprint([random.randint(0, 9) for _ in range(20)])").output

    assert numbers("1", "task/4") == numbers("1", "task/5")
    assert numbers("1", "task/4") != numbers("2", "task/4")


class FaultyToy(Toy):
    """An environment with a bug in one of its methods."""

    def __init__(self, method: str) -> None:
        super().__init__()
        setattr(self, method, self.fail)

    def fail(self, *arguments: object) -> Any:
        raise ZeroDivisionError("a bug in the world")


@pytest.mark.parametrize("method", ["act", "attribute_values", "brief", "preconditions", "snapshot", "state"])
def test_a_bug_in_any_method_of_the_environment_breaks_the_episode_unseen_by_the_plan(
    sandbox: Sandbox, method: str
) -> None:
    def strategy(playing: Episode, options: object) -> None:
        playing.mark()
        playing.run("try:\n    agent.open('box_1')\nexcept BaseException:\n    print('caught')")

    ending = play(episode(sandbox, environment=FaultyToy(method), dry_run=True), strategy, Options())
    assert ending.outcome is Outcome.BROKEN
    assert "the environment raised ZeroDivisionError: a bug in the world" in ending.message


def test_a_bug_in_a_class_method_of_the_environment_is_attributed_to_it(sandbox: Sandbox) -> None:
    class Typeless(Toy):
        @classmethod
        def task_types(cls, options: object = None) -> Any:
            raise ZeroDivisionError("a bug in the world")

    def strategy(playing: Episode, options: object) -> None:
        playing.environment.task_types()

    ending = play(episode(sandbox, environment=Typeless()), strategy, Options())
    assert ending.message.startswith("the environment raised ZeroDivisionError: a bug in the world")


def test_a_bug_of_the_environment_is_not_attributed_to_the_planning_method_that_called_it(sandbox: Sandbox) -> None:
    def strategy(playing: Episode, options: object) -> None:
        playing.environment.state()

    ending = play(episode(sandbox, environment=FaultyToy("state")), strategy, Options())
    first, *trace = ending.message.split("\n")
    assert re.fullmatch(r"the environment raised ZeroDivisionError: a bug in the world \(test_episode\.py:\d+\)", first)
    assert "in fail" in trace[0]
    assert not any("in strategy" in line for line in trace)


class FinishedToy(Toy):
    """An environment in which the task is done from the start."""

    def begin(self, task: Task) -> Observation:
        super().begin(task)
        return Observation("Nothing to do.", terminated=True)

    def verdict(self) -> Verdict:
        return Verdict(True, 1.0)


def test_a_task_that_is_done_from_the_start_is_solved_without_an_action(sandbox: Sandbox) -> None:
    ending = ending_of(episode(sandbox, environment=FinishedToy()), "agent.open('box_1')")
    assert (ending.outcome, ending.actions) == (Outcome.DIRECT_SUCCESS, 0)


class Late(Toy):
    """A toy whose goal is known only when an episode begins."""

    def begin(self, task: Task) -> Observation:
        self.task = task.model_copy(update={"goal": "put it away"})
        return super().begin(self.task)


def test_a_goal_that_the_environment_finds_is_the_goal_of_the_task(sandbox: Sandbox) -> None:
    with started(sandbox, environment=Late()) as playing:
        assert playing.task.goal == "put it away"


@pytest.mark.parametrize("code", ["agent.open('box_1')", "while True:\n    pass"])
def test_a_stop_ends_the_episode_immediately_and_records_no_ending(sandbox: Sandbox, code: str) -> None:
    start, journal = time.monotonic(), MemoryJournal()

    def stop() -> None:
        if code.startswith("agent") or time.monotonic() > start + 0.3:
            raise EpisodeStopped

    with pytest.raises(EpisodeStopped):
        ending_of(episode(sandbox, journal=journal, guard=stop), code)
    assert time.monotonic() - start < 5
    assert "outcome" not in {kind for _, kind, _ in journal.events}


def test_a_journal_that_does_not_match_is_refused(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    ending_of(episode(sandbox, journal=journal), SOLVE)
    key = next(key for key in journal.events if key[1] == "act")
    journal.events[key] = {**journal.events[key], "observation": {"text": "You open box_1. You see a dragon."}}
    with pytest.raises(JournalMismatch, match="dragon"):
        ending_of(episode(sandbox, journal=journal), SOLVE)


def test_a_failing_journal_ends_the_episode_whatever_the_plan_catches(sandbox: Sandbox) -> None:
    code = "for n in (1, 2, 3):\n    try:\n        agent.open(f'box_{n}')\n    except BaseException:\n        pass"
    journal = KilledJournal(3)
    with pytest.raises(JournalFailed, match="killed"):
        ending_of(episode(sandbox, journal=journal), code)
    assert [kind for _, kind, _ in journal.events] == ["task", "act", "act"]
