"""What ADaPT is compared with, on the same executor: ReAct, Plan-and-Execute, Try Again, Reflexion."""

from typing import Any, cast

import pytest

from planbook.envs import Task, Verdict
from planbook.planner import FeedbackKind, MemoryJournal, Outcome, Recall, Sampling
from planbook.planner.errors import ModelUnavailable
from planbook.sandbox import Sandbox
from tests.planner.pieces import cuts, timeless
from tests.planner.players import (
    FAIL,
    GOAL,
    NOTE,
    SOLVE,
    THING,
    Players,
    Traced,
    Trapped,
    claims,
    done_by,
    planned,
    played,
    told,
)


class Crafting(Traced):
    """Called like an environment for which the paper has figures of its own."""

    name = "textcraft"


class Shopping(Traced):
    """The same."""

    name = "shopping"


TRAP = "agent.touch('trap')"


# ReAct.


@pytest.mark.parametrize(
    ("environment", "options", "replies"),
    [
        (Crafting, {}, 60),
        (Traced, {}, 60),
        (Shopping, {}, 45),
        (Traced, {"iterations": 2}, 6),
        (Crafting, {"iterations": 2}, 8),
        (Traced, {"iterations": 2, "d_max": 2}, 4),
    ],
)
def test_react_has_as_many_replies_as_adapt_in_one_branch(
    sandbox: Sandbox, environment: type[Traced], options: dict[str, Any], replies: int
) -> None:
    players, journal = Players({GOAL: "agent.table()"}), MemoryJournal()
    ending, playing = played(sandbox, players, "react", options=options, environment=environment(), journal=journal)
    assert len(players.asked) == len(playing.cells) == replies
    assert players.calls == [("executor", GOAL)]
    assert told(journal) == [("executor", GOAL, 1, False)]
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, "unfinished")


# Plan-and-Execute.


def test_a_plan_is_asked_for_once_and_each_step_executed(sandbox: Sandbox) -> None:
    players = Players(
        {"a": done_by("a"), "c": done_by("c"), "d": SOLVE}, {GOAL: planned("(S1 AND S2) OR (S3 AND S4)", *"abcd")}
    )
    journal = MemoryJournal()
    ending, _ = played(sandbox, players, "plan-and-execute", journal=journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert players.calls == [("planner", GOAL), *(("executor", work) for work in "abcd")]
    assert [(each["text"], each["depth"]) for each in claims(journal)][:-1] == [(work, 2) for work in "abcd"]
    assert "detailed plan" in players.whole("planner")
    handed = {each["text"]: each["handed"] for each in claims(journal) if each["by"] == "executor"}
    assert handed["c"] == "", "the first way failed as a whole"
    assert "touch('c')" in handed["d"]


def test_a_planner_without_a_plan_fails_the_episode(sandbox: Sandbox) -> None:
    players, journal = Players(), MemoryJournal()
    ending, _ = played(sandbox, players, "plan-and-execute", journal=journal)
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "no_plan", 0)
    assert len(players.asked) == 3
    assert claims(journal)[0]["note"].startswith("the planner gave no usable reply to adapt/plan.j2")


class Showing:
    """Remembers demonstrations of these names."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def recall(self, task: Task) -> Recall:
        return Recall(demonstrations={name: f"SHOWN {name}." for name in self._names})


@pytest.mark.parametrize(
    ("method", "names", "shown"),
    [
        ("adapt", ("planning", "planning_detailed"), "planning"),
        ("plan-and-execute", ("planning", "planning_detailed"), "planning_detailed"),
        ("plan-and-execute", ("planning",), "planning"),
        ("adapt", ("planning_detailed",), ""),
    ],
)
def test_a_planner_is_shown_plans_of_its_kind(
    sandbox: Sandbox, method: str, names: tuple[str, ...], shown: str
) -> None:
    players = Players(planner={GOAL: planned("S1", "a")})
    played(sandbox, players, method, memory=Showing(*names))
    read = players.whole("planner")
    assert [name for name in names if f"SHOWN {name}." in read] == ([shown] if shown else [])
    assert ("# Examples" in read) is bool(shown)


# Try Again.


def sampling(journal: MemoryJournal) -> list[tuple[str, float | None, int]]:
    """The round of every ask, its temperature and which sample was drawn."""
    drawn = []
    for (scope, kind, _), body in journal.events.items():
        if kind == "ask":
            asked = Sampling.model_validate(cast(dict[str, Any], body)["sampling"])
            drawn.append((scope.split("/round/")[1].split("/")[0], asked.temperature, asked.sample))
    return drawn


def test_rounds_are_separate_and_drawn_at_another_temperature(sandbox: Sandbox) -> None:
    cells = ["agent.open('box_1')", FAIL, "x = agent.holding", FAIL, "print(x)", FAIL]
    players, journal = Players({GOAL: cells}), MemoryJournal()
    ending, playing = played(sandbox, players, "try-again", journal=journal)
    usual = Sampling().temperature
    assert sampling(journal) == [(number, usual if number == "0" else 0.7, int(number)) for number in "001122"]
    assert usual != 0.7
    assert ending.outcome is Outcome.FAILURE
    assert [each["depth"] for each in claims(journal)] == [1, 1, 1]
    assert playing.feedbacks[4].kind is FeedbackKind.CHECK, "a round knows nothing of the one before"
    begun = [messages for _, messages, _ in players.asked if len(messages) == 2]
    assert begun[0] == begun[1] == begun[2]
    assert NOTE not in "\n".join(message.content for messages in begun for message in messages)
    assert ending.actions == 1, "actions are those of all rounds"


@pytest.mark.parametrize(
    ("environment", "options", "rounds"), [(Traced, {}, 3), (Crafting, {}, 4), (Traced, {"d_max": 1}, 1)]
)
def test_there_are_as_many_rounds_as_adapt_has_levels(
    sandbox: Sandbox, environment: type[Traced], options: dict[str, Any], rounds: int
) -> None:
    for method in ("try-again", "reflexion"):
        players = Players()
        played(sandbox, players, method, options=options, environment=environment())
        assert players.calls.count(("executor", GOAL)) == rounds


def test_it_stops_when_it_is_solved(sandbox: Sandbox) -> None:
    for method, reflections in (("try-again", 0), ("reflexion", 1)):
        players = Players({GOAL: [FAIL, SOLVE, FAIL]})
        ending, _ = played(sandbox, players, method)
        assert ending.outcome is Outcome.DIRECT_SUCCESS
        assert players.calls.count(("executor", GOAL)) == 2
        assert len(players.prompts("reflector")) == reflections


def test_an_environment_that_ends_unsolved_ends_its_round_and_not_the_episode(sandbox: Sandbox) -> None:
    for method in ("try-again", "reflexion"):
        players, journal = Players({GOAL: [TRAP, SOLVE]}), MemoryJournal()
        ending, playing = played(sandbox, players, method, environment=Trapped(), journal=journal)
        assert ending.outcome is Outcome.DIRECT_SUCCESS
        assert [each["done"] for each in claims(journal)] == [None, None]
        assert [str(step.action) for step in playing.steps][-1] == f"put('{THING}')"


def test_the_best_round_counts(sandbox: Sandbox) -> None:
    def touches(count: int) -> str:
        return f"for n in range({count}):\n    agent.touch('x')\n{FAIL}"

    for cells in ([touches(1), touches(3), touches(2)], [touches(3), TRAP, FAIL], [FAIL, TRAP, touches(3)]):
        ending, playing = played(sandbox, Players({GOAL: cells}), "try-again", environment=Trapped())
        assert (ending.outcome, ending.verdict) == (Outcome.FAILURE, Verdict(False, 0.3))
        assert playing.verdict().score == 0.3


def test_replies_that_stay_unusable_end_a_round_only(sandbox: Sandbox) -> None:
    for method in ("try-again", "reflexion"):
        ending, _ = played(sandbox, Players({GOAL: ["rubbish"] * 3 + [SOLVE]}), method)
        assert (ending.outcome, ending.error_steps) == (Outcome.INDIRECT_SUCCESS, 1)


def test_actions_that_run_out_end_all_rounds(sandbox: Sandbox) -> None:
    for method in ("try-again", "reflexion"):
        players = Players({GOAL: ["agent.touch('x')", FAIL, "while True:\n    agent.touch('x')"]})
        ending, _ = played(sandbox, players, method, actions=9)
        assert (ending.outcome, ending.actions) == (Outcome.OUT_OF_BUDGET, 9)
        assert players.calls.count(("executor", GOAL)) == 2


# Reflexion.


def test_a_lesson_of_each_failed_round_is_told_in_the_next(sandbox: Sandbox) -> None:
    cells = ["agent.touch('first')", FAIL, "agent.touch('second')", FAIL, FAIL]
    players = Players({GOAL: cells}, reflector=["LESSON ONE.", "LESSON TWO.", "LESSON THREE."])
    journal = MemoryJournal()
    ending, _ = played(sandbox, players, "reflexion", journal=journal)
    assert ending.outcome is Outcome.FAILURE
    first, second = players.prompts("reflector")
    assert (first.count("agent.touch('first')"), "LESSON" in first) == (2, False), "in its code, and in what happened"
    assert ("agent.touch('first')" in second, second.count("agent.touch('second')")) == (False, 2)
    assert "- LESSON ONE." in second
    begun = [messages[-1].content for role, messages, _ in players.asked if role == "executor" and len(messages) == 2]
    assert ["LESSON ONE" in text for text in begun] == [False, True, True]
    assert ["LESSON TWO" in text for text in begun] == [False, False, True]
    assert "1. LESSON ONE.\n2. LESSON TWO." in begun[2]
    assert {(temperature, sample) for _, temperature, sample in sampling(journal)} == {(Sampling().temperature, 0)}


def test_a_reflector_with_nothing_to_say_leaves_no_trace(sandbox: Sandbox) -> None:
    players = Players(reflector=["", " ", "\n", "LESSON TWO."])
    ending, _ = played(sandbox, players, "reflexion")
    assert ending.outcome is Outcome.FAILURE
    begun = [messages[-1].content for role, messages, _ in players.asked if role == "executor"]
    assert ["# What was learnt" in text for text in begun] == [False, False, True]
    assert "1. LESSON TWO." in begun[2]
    assert "What you said after earlier rounds" not in players.whole("reflector")


def test_the_reflector_does_not_see_the_demonstrations_but_the_task(sandbox: Sandbox) -> None:
    players = Players()
    played(sandbox, players, "reflexion", memory=Showing("atomic"))
    assert f"# The task\n\n{GOAL}" in players.prompts("reflector")[0]
    assert "SHOWN" not in players.whole("reflector")
    assert "SHOWN atomic." in players.whole("executor")


# All of them.


DOES = {GOAL: ["agent.touch('x')\nagent.touch('trap')", "rubbish", FAIL], "a": done_by("a"), "b": SOLVE}
PLANS = {GOAL: [planned("S1 AND", "a"), planned("S1 AND S2", "a", "b")]}
DEEP_DOES = {"l": ["agent.touch('l')", done_by("l2")], "n": ["rubbish"], "deep": ["print(agent.holding)", SOLVE]}
DEEP_PLANS = {
    GOAL: planned("(S1 AND S2) OR S3", "l", "m", "r"),
    "m": [planned("S1 OR S1 AND S1", "x"), planned("S1 OR S2", "n", "o")],
    "r": planned("S1", "deep"),
}


@pytest.mark.deep
@pytest.mark.parametrize("method", ["adapt", "react", "plan-and-execute", "try-again", "reflexion"])
def test_an_episode_cut_off_anywhere_ends_in_the_same_journal(sandbox: Sandbox, method: str) -> None:
    does, plans = (DEEP_DOES, DEEP_PLANS) if method == "adapt" else (DOES, PLANS)
    whole, players = MemoryJournal(), Players(does, plans)
    ending, _ = played(sandbox, players, method, journal=whole, environment=Trapped())
    events = list(whole.events.items())
    for cut in cuts(whole):
        journal = MemoryJournal()
        journal.events = dict(events[:cut])
        again = Players(does, plans)
        for role, messages, drawn in players.asked[: sum(kind == "ask" for (_, kind, _), _ in events[:cut])]:
            again.model(role).complete(messages, drawn)
        assert played(sandbox, again, method, journal=journal, environment=Trapped())[0] == ending
        assert timeless(journal) == timeless(whole)
        assert len(again.asked) == len(players.asked), "nothing is asked twice"


def test_a_model_that_does_not_answer_deep_inside_stops_the_run(sandbox: Sandbox) -> None:
    """It is neither an error of the plan around it nor a sub-task that failed."""

    class Unanswered(Players):
        def _reply(self, role: str, work: str) -> str:
            if work == "o" and role == "executor":
                raise ModelUnavailable("the server is down")
            return super()._reply(role, work)

    journal = MemoryJournal()
    with pytest.raises(ModelUnavailable, match="the server is down"):
        played(sandbox, Unanswered(DEEP_DOES, DEEP_PLANS), journal=journal)
    assert "outcome" not in {kind for _, kind, _ in journal.events}
