"""ADaPT's controller: what is tried, what is taken apart, what is handed on, and when it is over."""

from typing import Any

import pytest

from planbook.envs import Observation, action
from planbook.planner import FeedbackKind, MemoryJournal, Outcome
from planbook.planner.strategies.adapt.order import read_decomposition
from planbook.sandbox import Sandbox
from tests.planner.players import (
    FAIL,
    GOAL,
    NOTE,
    SOLVE,
    Players,
    Stock,
    Traced,
    claims,
    done_by,
    planned,
    played,
    told,
    touched,
)

CHAIN = {GOAL: planned("S1", "one"), "one": planned("S1", "two"), "two": planned("S1", "three")}
"""Every piece of work is taken apart into a smaller one."""


def test_without_an_option_the_depth_is_that_of_the_paper(sandbox: Sandbox) -> None:
    players = Players(planner=CHAIN)
    played(sandbox, players)
    assert players.calls[-1] == ("executor", "two")

    class Crafting(Traced):
        name = "textcraft"

    players = Players(planner=CHAIN)
    played(sandbox, players, environment=Crafting())
    assert players.calls[-1] == ("executor", "three")


def handed(journal: MemoryJournal) -> dict[str, str]:
    return {claim["text"]: claim["handed"] for claim in claims(journal) if claim["by"] == "executor"}


def test_the_last_successful_action_travels_on(sandbox: Sandbox) -> None:
    does = {
        "a": "agent.touch('a1')\nagent.touch('a2')\nagent.touch('no luck')\nfinish(True)",
        "b": "finish(True)",
        "c": "agent.touch('c')\nfinish(False)",
    }
    players, journal = Players(does, {GOAL: planned("S1 AND S2 AND (S3 OR S4)", *"abcd")}), MemoryJournal()
    played(sandbox, players, options={"d_max": 2}, journal=journal)
    assert handed(journal) == {GOAL: "", "a": "", "b": touched("a2"), "c": touched("a2"), "d": touched("a2")}
    shown = {prompt.split("# Your piece of work")[1].split()[0]: prompt for prompt in players.prompts("executor")[1:]}
    assert "# Where things stand" not in shown["a"]
    assert f"# Where things stand\n\n{touched('a2')}\n" in shown["b"]
    assert "c ->" not in shown["d"]


def test_where_the_state_is_handed_on_it_is_the_present_one(sandbox: Sandbox) -> None:
    does = {"a": done_by("a"), "b": "agent.touch('b')\nfinish(False)"}
    players, journal = Players(does, {GOAL: planned("S1 AND (S2 OR S3)", *"abc")}), MemoryJournal()
    played(sandbox, players, options={"d_max": 2}, journal=journal, environment=Stock())
    assert handed(journal) == {
        GOAL: "0 things were touched.",
        "a": "0 things were touched.",
        "b": "1 things were touched.",
        "c": "2 things were touched.",
    }


def test_the_note_of_a_failed_finish_reaches_no_other_prompt(sandbox: Sandbox) -> None:
    """Failures by finish, in time and out of it, with and without actions, at every depth; one branch succeeds."""
    does = {
        GOAL: f"note = '{NOTE[:9]}' + '{NOTE[9:]}'\nagent.touch('x')\nfinish(False, note)",
        "l": done_by("l"),
        "lr": ["agent.touch('lr')", f"finish(False, '{NOTE[:9]}' '{NOTE[9:]}')"],
        "r": f"import math\nfinish(note='{NOTE[:4]}' + '{NOTE[4:]}', done=False)",
    }
    plans = {
        GOAL: planned("(S1 AND S2) OR S3", "l", "m", "r"),
        "m": planned("S1 OR S2", "lr", "ll"),
        "ll": planned("S1", "deepest"),
        "lr": planned("S1", "deepest"),
        "r": planned("S1 AND S2", "l", "rr"),
        "rr": planned("S1 OR S2", "deepest", "lr"),
    }
    for environment in (Traced(), Stock()):
        players, journal = Players(does, plans), MemoryJournal()
        played(sandbox, players, options={"d_max": 4}, journal=journal, environment=environment)
        notes = [claim["note"] for claim in claims(journal) if claim["by"] == "executor" and claim["done"] is False]
        assert len(notes) >= 9
        assert set(notes) == {NOTE}
        assert NOTE not in players.whole("planner")
        for role, messages, _ in players.asked:
            read = [message.content for message in messages if message.role != "assistant"]
            assert not any(NOTE in text for text in read), role
            assert role == "executor" or len(messages) == 2
        begun = [messages for role, messages, _ in players.asked if role == "executor" and len(messages) == 2]
        assert len(begun) == len([claim for claim in claims(journal) if claim["by"] == "executor"])


def test_every_sub_task_has_a_namespace_of_its_own(sandbox: Sandbox) -> None:
    does = {
        GOAL: f"secret = 1\nagent.touch('x')\n{FAIL}",
        "a": ["assert True", "mine = 'a'\ndef tool():\n    return mine\ntool()", "agent.touch(tool())\nfinish(True)"],
        "b": ["print(secret)", "print(tool())", "print(mine)", "achieve('a')", done_by("b")],
    }
    players, journal = Players(does, {GOAL: planned("S1 AND S2", *"ab")}), MemoryJournal()
    ending, playing = played(sandbox, players, journal=journal)
    kinds = [cell.feedback.kind for cell in playing.cells if cell.scope.endswith("execute/1")]
    assert kinds == [*[FeedbackKind.CHECK] * 4, FeedbackKind.UNFINISHED]
    assert [claim["done"] for claim in claims(journal) if claim["text"] == "a"] == [True]
    assert ending.error_steps == 4


def test_plan_code_sees_its_own_piece_of_work_only(sandbox: Sandbox) -> None:
    show = "print(task.goal, task.params, task.observation)"
    players = Players({"a": [show, FAIL]}, {GOAL: planned("S1", "a")})
    _, playing = played(sandbox, players, options={"d_max": 2})
    (output,) = (cell.feedback.output for cell in playing.cells if cell.feedback.output)
    assert output.startswith("a {} You see box_1, ")
    assert GOAL not in output
    for prompt in players.prompts("executor")[1:]:
        assert GOAL not in prompt


def test_planner_and_executor_may_be_different_models(sandbox: Sandbox) -> None:
    players, journal = Players({"a": SOLVE}, {GOAL: planned("S1", "a")}), MemoryJournal()
    played(sandbox, players, journal=journal)
    asks = [body for (_, kind, _), body in journal.events.items() if kind == "ask"]
    assert [(ask["role"], ask["model"]) for ask in asks] == [
        ("executor", "the executor's"),
        ("planner", "the planner's"),
        ("executor", "the executor's"),
    ]
    assert "You plan for an agent" in players.whole("planner")
    assert "You plan for an agent" not in players.whole("executor")


def test_what_is_recorded_of_every_sub_task(sandbox: Sandbox) -> None:
    does: dict[str, Any] = {
        "a": done_by("a"),
        "b": ["agent.touch('b')"],
        "c": "rubbish",
        "d": ["agent.touch('d')", "rubbish"],
        "e": SOLVE,
    }
    plan = planned("S1 AND (S2 OR S3 OR S4 OR S5)", *"abcd", "whole")
    plans = {GOAL: plan, "whole": planned("S1", "e"), "b": "no plan", "c": planned("S1 OR S9", "f")}
    players, journal = Players(does, plans), MemoryJournal()
    ending, playing = played(sandbox, players, options={"iterations": 3}, journal=journal)
    found = {(claim["by"], claim["text"]): claim for claim in claims(journal)}
    assert found["executor", GOAL] == {
        "by": "executor",
        "text": GOAL,
        "depth": 1,
        "handed": "",
        "done": False,
        "note": NOTE,
        "replies": 1,
    }
    assert found["executor", "a"]["done"] is True
    assert (found["executor", "b"]["note"], found["executor", "b"]["replies"]) == ("no finish() within 3 replies", 3)
    assert found["executor", "c"]["note"].startswith("the executor gave no usable reply to executor/task.j2")
    assert found["executor", "d"]["note"].startswith("the executor gave no usable reply to executor/feedback.j2")
    assert (found["executor", "d"]["done"], found["executor", "d"]["replies"]) == (False, 4)
    assert found["planner", "b"]["note"].startswith(
        "the planner gave no usable reply to adapt/plan.j2: the plan has no"
    )
    assert "names Step 9; the plan has Step 1" in found["planner", "c"]["note"]
    assert [found["planner", each]["done"] for each in "bcd"] == [False] * 3
    assert [claim["done"] for claim in list(claims(journal))[-3:]] == [None] * 3
    assert told(journal)[-3:] == [("executor", "e", 3, None), ("planner", "whole", 2, None), ("planner", GOAL, 1, None)]
    assert claims(journal)[-1]["note"] == "The world's episode is over."
    assert ending.outcome is Outcome.INDIRECT_SUCCESS, "two conversations ended in nothing usable"
    parse = [cell for cell in playing.cells if cell.feedback.kind is FeedbackKind.PARSE]
    assert [cell.source for cell in parse] == ["executor"] * 2


def test_a_faulty_plan_goes_back_to_the_planner_with_what_is_wrong(sandbox: Sandbox) -> None:
    replies = [planned("S1 AND S2 OR S1", *"ab"), planned("S1 AND (S2", *"ab"), planned("S1 AND S2", *"ab")]
    players = Players({"a": done_by("a"), "b": SOLVE}, {GOAL: replies})
    ending, playing = played(sandbox, players)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    first, second, third = players.prompts("planner")
    assert f"# The piece of work to take apart\n\n{GOAL}" in first
    assert "mixes AND and OR without brackets" in second
    assert "lacks a closing bracket" in third
    (plan,) = (cell for cell in playing.cells if cell.source == "planner")
    assert plan.code == read_decomposition(replies[-1]).code
    assert plan.thought.text == "# Think: so."


def test_a_success_deep_inside_ends_everything_at_once(sandbox: Sandbox) -> None:
    plans = {
        GOAL: planned("S1 AND S2", "one", "x"),
        "one": planned("S1 AND S2", "two", "y"),
        "two": planned("S1 OR S2", "z", "three"),
    }
    players, journal = (
        Players({"three": f"try:\n{indented(SOLVE)}\nfinally:\n    agent.touch('more')"}, plans),
        MemoryJournal(),
    )
    ending, playing = played(sandbox, players, options={"d_max": 4}, journal=journal)
    assert (ending.outcome, ending.cause) == (Outcome.DIRECT_SUCCESS, "")
    assert players.calls[-1] == ("executor", "three")
    assert str(playing.steps[-1].action).startswith("put(")
    ends = [body.get("at", kind) for (_, kind, _), body in journal.events.items()][-10:]
    assert ends == ["cell", "end"] * 4 + ["moment", "outcome"], "the moment is the claim of the whole task"
    assert [cell.feedback.kind for cell in playing.cells[-4:]] == [FeedbackKind.DONE] * 4


def indented(lines: str) -> str:
    return "\n".join(f"    {line}" for line in lines.splitlines())


def test_actions_that_run_out_inside_are_out_of_budget(sandbox: Sandbox) -> None:
    loop = "try:\n    while True:\n        agent.touch('x')\nexcept BaseException:\n    finish(True)"
    plans = {GOAL: planned("S1 OR S2", "one", "x"), "one": planned("S1 OR S2", "two", "y")}
    players, journal = Players({"two": loop}, plans), MemoryJournal()
    ending, playing = played(sandbox, players, journal=journal, actions=7)
    assert (ending.outcome, ending.actions) == (Outcome.OUT_OF_BUDGET, 7)
    assert players.calls[-1] == ("executor", "two")
    assert [done for *_, done in told(journal)[-3:]] == [None] * 3
    assert [cell.feedback.kind for cell in playing.cells[-3:]] == [FeedbackKind.LIMIT] * 3


def test_what_claims_to_be_done_is_believed_and_audited(sandbox: Sandbox) -> None:
    players, journal = Players({GOAL: "finish(True)"}), MemoryJournal()
    ending, _ = played(sandbox, players, journal=journal)
    assert (ending.outcome, ending.cause, ending.verdict.solved) == (Outcome.FAILURE, "unfinished", False)
    assert told(journal) == [("executor", GOAL, 1, True)]
    assert players.calls == [("executor", GOAL)]


def test_an_action_without_a_docstring_is_told_by_its_name(sandbox: Sandbox) -> None:
    class Undocumented(Traced):
        """An environment that says little of itself."""

        @action()
        def knock(self) -> Observation:
            return Observation("Knock, knock.")

    players = Players()
    ending, _ = played(sandbox, players, environment=Undocumented())
    assert ending.outcome is Outcome.FAILURE
    assert "- `knock`: \n" in players.whole("planner")


@pytest.mark.parametrize("informed", [False, True])
def test_only_an_informed_planner_is_told_why_the_executor_gave_up(sandbox: Sandbox, informed: bool) -> None:
    players = Players(planner={GOAL: planned("S1", "one")})
    played(sandbox, players, options={"d_max": 2, "iterations": 1, "informed_planner": informed})
    [asked] = players.prompts("planner")
    for told_only_then in (NOTE, "it has 1 reply, each", "is not taken apart any more"):
        assert (told_only_then in asked) == informed
    assert NOTE not in players.whole("executor")
