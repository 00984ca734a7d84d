"""ADaPT's baselines, which use the same executor: ReAct, Plan-and-Execute, Try Again and Reflexion."""

from typing import Any, cast

import pytest

from planbook.planner import Episode, FeedbackKind, MemoryJournal, Outcome, Sampling
from planbook.planner.errors import ModelUnavailable
from planbook.sandbox import Sandbox
from tests.planner.advocate_kit import AnsweringToy
from tests.planner.episode_kit import (
    FAIL,
    GOAL,
    NOTE,
    SOLVE,
    FixedMemory,
    SubtaskModels,
    TouchToy,
    TrapToy,
    claim_rows,
    journal_of,
    plan_reply,
    played,
    recorded_subtasks,
)


class Crafting(TouchToy):
    """An environment with a name for which the paper states special limits."""

    name = "textcraft"


class Shopping(TouchToy):
    name = "shopping"


TRAP = "agent.touch('trap')"


@pytest.mark.parametrize(
    ("environment", "options", "replies"),
    [
        (Crafting, {}, 60),
        (Crafting, {"iterations": 20, "d_max": 4}, 60),
        (TouchToy, {}, 60),
        (Shopping, {}, 45),
        (Crafting, {"iterations": 2}, 8),
        (TouchToy, {"iterations": 2, "d_max": 2}, 4),
    ],
)
def test_react_has_as_many_replies_as_adapt_in_one_branch(
    sandbox: Sandbox, environment: type[TouchToy], options: dict[str, Any], replies: int
) -> None:
    models = SubtaskModels({GOAL: "agent.table()"})
    ending, playing = played(sandbox, models, "react", options=options, environment=environment())
    assert len(models.asked) == len(playing.cells) == replies
    assert models.calls == [("executor", GOAL)]
    assert claim_rows(playing) == [("executor", GOAL, 1, False)]
    assert (ending.outcome, ending.cause, ending.error_steps) == (Outcome.FAILURE, "unfinished", 0)


@pytest.mark.parametrize(
    ("environment", "options", "levels"), [(TouchToy, {}, 3), (Crafting, {}, 4), (TouchToy, {"d_max": 1}, 1)]
)
@pytest.mark.parametrize("method", ["adapt", "try-again", "reflexion"])
def test_there_are_as_many_rounds_as_adapt_has_levels(
    sandbox: Sandbox, method: str, environment: type[TouchToy], options: dict[str, Any], levels: int
) -> None:
    chain = {GOAL: plan_reply("S1", "one"), "one": plan_reply("S1", "two"), "two": plan_reply("S1", "three")}
    models = SubtaskModels(planner=chain)
    played(sandbox, models, method, options=options, environment=environment())
    assert [role for role, _ in models.calls].count("executor") == levels


# Plan-and-Execute.


def test_an_episode_without_a_usable_plan_fails(sandbox: Sandbox) -> None:
    models = SubtaskModels()
    ending, playing = played(sandbox, models, "plan-and-execute")
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "no_plan", 0)
    assert ending.message.startswith("the planner gave no usable reply to adapt/plan.j2")
    assert len(models.asked) == 3
    assert recorded_subtasks(playing)[0]["note"].startswith("the planner gave no usable reply to adapt/plan.j2")


def memory_with(*names: str) -> FixedMemory:
    return FixedMemory(demonstrations={name: f"SHOWN {name}." for name in names})


@pytest.mark.parametrize(
    ("method", "names", "shown"),
    [
        ("adapt", ("planning", "planning_detailed"), "planning"),
        ("plan-and-execute", ("planning", "planning_detailed"), "planning_detailed"),
        ("plan-and-execute", ("planning",), "planning"),
        ("adapt", ("planning_detailed",), ""),
    ],
)
def test_a_planner_sees_demonstrations_of_its_kind(
    sandbox: Sandbox, method: str, names: tuple[str, ...], shown: str
) -> None:
    models = SubtaskModels(planner={GOAL: plan_reply("S1", "a")})
    played(sandbox, models, method, memory=memory_with(*names))
    text = models.all_text("planner")
    assert [name for name in names if f"SHOWN {name}." in text] == ([shown] if shown else [])
    assert ("# Examples" in text) is bool(shown)


# Rounds: Try Again and Reflexion.


def sampling(playing: Episode) -> list[tuple[str, float | None, int]]:
    """Return the round, the temperature and the sample of every request."""
    drawn = []
    for (scope, kind, _), body in journal_of(playing).events.items():
        if kind == "ask":
            asked = Sampling.model_validate(cast(dict[str, Any], body)["sampling"])
            drawn.append((scope.split("/round/")[1].split("/")[0], asked.temperature, asked.sample))
    return drawn


def test_try_again_plays_separate_rounds_at_another_temperature(sandbox: Sandbox) -> None:
    models = SubtaskModels({GOAL: ["agent.open('box_1')", FAIL, "x = agent.holding", FAIL, "print(x)", FAIL]})
    ending, playing = played(sandbox, models, "try-again")
    default = Sampling().temperature
    assert sampling(playing) == [(number, default if number == "0" else 0.7, int(number)) for number in "001122"]
    assert default != 0.7
    assert ending.outcome is Outcome.FAILURE
    assert [each["depth"] for each in recorded_subtasks(playing)] == [1, 1, 1]
    assert playing.feedbacks[4].kind is FeedbackKind.CHECK, "the names of the previous round are gone"
    starts = [messages for _, messages, _ in models.asked if len(messages) == 2]
    assert starts[0] == starts[1] == starts[2]
    assert NOTE not in "\n".join(message.content for messages in starts for message in messages)
    assert ending.actions == 1, "the actions of all rounds count"


def test_an_answer_of_an_earlier_round_uses_up_no_action(sandbox: Sandbox) -> None:
    models = SubtaskModels({GOAL: ["agent.stop('7')", "agent.touch('door')\nagent.stop('42')"]})
    ending, playing = played(sandbox, models, "try-again", environment=AnsweringToy(), actions=1)
    assert ending.outcome.solved
    assert [str(step.action) for step in playing.steps] == ["touch('door')", "stop('42')"]
    assert [each["done"] for each in recorded_subtasks(playing)] == [True, True], "an answer is a claim of success"


@pytest.mark.parametrize(
    ("cells", "outcome"),
    [
        ([FAIL, SOLVE, FAIL], Outcome.DIRECT_SUCCESS),
        ([TRAP, SOLVE], Outcome.DIRECT_SUCCESS),
        (["rubbish"] * 3 + [SOLVE], Outcome.INDIRECT_SUCCESS),
        ([FAIL, "while True:\n    agent.touch('x')"], Outcome.OUT_OF_BUDGET),
    ],
    ids=["solved", "ended by the environment", "without a usable reply", "out of actions"],
)
@pytest.mark.parametrize(("method", "reflections"), [("try-again", 0), ("reflexion", 1)])
def test_rounds_end_with_a_success_or_with_the_actions(
    sandbox: Sandbox, method: str, reflections: int, cells: list[str], outcome: Outcome
) -> None:
    models = SubtaskModels({GOAL: cells})
    ending, playing = played(sandbox, models, method, environment=TrapToy(), actions=15)
    assert ending.outcome is outcome
    assert len(recorded_subtasks(playing)) == models.calls.count(("executor", GOAL)) == 2
    assert len(models.prompts("reflector")) == reflections


@pytest.mark.parametrize("method", ["adapt", "plan-and-execute", "try-again", "reflexion"])
def test_plans_that_are_refused_end_only_one_executors_work(sandbox: Sandbox, method: str) -> None:
    """Nine refused plans of one executor and one of the next are not ten of one executor."""
    refused = "agent.fly_to('moon')"
    first = [refused] * 10 if method != "plan-and-execute" else [FAIL]
    models = SubtaskModels(
        {GOAL: [*first, refused, SOLVE], "a": [*[refused] * 9, FAIL], "b": [refused, SOLVE]},
        {GOAL: plan_reply("S1 OR S2", "a", "b")},
    )
    ending, playing = played(sandbox, models, method)
    assert ending.outcome is Outcome.INDIRECT_SUCCESS
    if method != "plan-and-execute":
        assert recorded_subtasks(playing)[0]["note"] == "10 plans in a row did not pass the check."


def test_an_empty_reflection_leaves_no_trace(sandbox: Sandbox) -> None:
    models = SubtaskModels(reflector=["", " ", "\n", "LESSON TWO."])
    played(sandbox, models, "reflexion")
    starts = models.prompts("executor")
    assert ["# Lessons" in text for text in starts] == [False, False, True]
    assert "1. LESSON TWO." in starts[2]
    assert "What you said after earlier rounds" not in models.all_text("reflector")


def test_an_unavailable_model_in_a_subtask_stops_the_run(sandbox: Sandbox) -> None:
    """The error counts neither as an error of the outer plan nor as a failed subtask."""

    class Unanswered(SubtaskModels):
        def _reply(self, role: str, work: str) -> str:
            if work == "o" and role == "executor":
                raise ModelUnavailable("the server is down")
            return super()._reply(role, work)

    journal, plans = MemoryJournal(), {GOAL: plan_reply("S1 OR S2", "m", "r"), "m": plan_reply("S1 OR S2", "n", "o")}
    with pytest.raises(ModelUnavailable, match="the server is down"):
        played(sandbox, Unanswered(planner=plans), journal=journal)
    assert "outcome" not in {kind for _, kind, _ in journal.events}
