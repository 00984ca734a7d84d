"""AutoManual with ``procedures_first``: stored procedures are tried first, also those that match the goal."""

from typing import Any

import pytest

from planbook.envs import Task
from planbook.envs.toy import Toy
from planbook.planner import Episode, Match, MatchCandidate, Outcome, Procedure, Recall, procedure_faults
from planbook.sandbox import Sandbox
from tests.planner import episode_kit
from tests.planner.episode_kit import TASK, THING, FixedMemory, journal_of, kinds
from tests.planner.streaming_kit import PieceModel
from tests.planner.test_automanual import DONE, SOLVE, planning, played

FETCH = SOLVE.replace("def fetch", "def solve")
EMPTY_HANDED = "def solve(agent, task):\n    agent.open('box_1')\n    assert agent.table(), 'nothing on the table'"
OPENS = "def solve(agent, task):\n    agent.open('box_1')"
LOOPS = "def solve(agent, task):\n    while True:\n        agent.open('box_1')"


def procedure(code: str) -> Procedure:
    return Procedure(name="fetch.py", summary="Fetch.", environment="toy", type="fetch", source="a test", code=code)


def test_a_procedure_that_succeeds_needs_no_model(sandbox: Sandbox) -> None:
    assert procedure_faults(FETCH, Toy) == []
    model, memory = planning(DONE), FixedMemory(procedure=procedure(FETCH))
    ending, _ = played(sandbox, model, memory=memory, procedures_first=True)
    assert (ending.outcome, model.asked) == (Outcome.DIRECT_SUCCESS, [])
    played(sandbox, model, memory=memory)
    assert len(model.asked) == 1, "by default the model plans"


@pytest.mark.parametrize(
    ("code", "outcome", "ran"),
    [
        (EMPTY_HANDED, Outcome.INDIRECT_SUCCESS, ["raised", "done"]),
        (OPENS, Outcome.DIRECT_SUCCESS, ["unfinished", "done"]),
        (LOOPS, Outcome.OUT_OF_BUDGET, ["limit"]),
    ],
    ids=["fails", "stops early", "uses up all actions"],
)
def test_the_model_continues_after_a_procedure_if_actions_are_left(
    sandbox: Sandbox, code: str, outcome: Outcome, ran: list[str]
) -> None:
    model, memory = planning(DONE), FixedMemory(procedure=procedure(code))
    ending, playing = played(sandbox, model, memory=memory, procedures_first=True)
    assert (ending.outcome, kinds(playing), len(model.asked)) == (outcome, ran, len(ran) - 1)
    assert ending.actions == len(playing.steps) > 1, "the actions of the procedure and of the plan count"
    if code == EMPTY_HANDED:
        for shown in ("# An earlier attempt", "nothing on the table", "1. agent.open('box_1') -> You open box_1"):
            assert shown in model.prompts[0]


# Procedures that are matched with the goal.

BY_PARAMS = FETCH.replace('task.params["things"][0]', 'task.params["what"]')
CANDIDATE = MatchCandidate(name="fetch_it", params=("what",), goals=("put the coin on the table",))
ANSWER = f'{{"type": "fetch_it", "params": {{"what": "{THING}"}}}}'


class MatchingMemory:
    """A memory that has a procedure for the type ``fetch_it``, but does not know to which tasks this type applies."""

    def recall(self, task: Task) -> Recall:
        if task.type != "fetch_it":
            return Recall(match=Match(candidates=(CANDIDATE,)))
        return Recall(procedure=procedure(BY_PARAMS), match=Match(type=task.type, params=task.params))


class DoubtfulMemory(MatchingMemory):
    """A memory that has found the type of a task, but is unsure about the value of a parameter."""

    def recall(self, task: Task) -> Recall:
        known = super().recall(task.model_copy(update={"type": "fetch_it", "params": {"what": THING}}))
        unsure = Match(type="fetch_it", params={"what": THING}, by="pattern", candidates=(CANDIDATE,))
        return known.model_copy(update={"match": unsure})


class UnfitParamsMemory:
    """A memory that rejects all parameters that a model names."""

    def recall(self, task: Task) -> Recall:
        if task.type == "fetch_it":
            return Recall(match=Match())
        return Recall(match=Match(candidates=(CANDIDATE,)), text="What is known.")


def matches(playing: Episode) -> list[Any]:
    events = journal_of(playing).events.items()
    spans: list[Any] = [body for (_, kind, _), body in events if kind == "span"]
    return [span["data"] for span in spans if span.get("name") == "match"]


def test_a_model_names_the_type_if_the_memory_is_unsure(sandbox: Sandbox) -> None:
    model = PieceModel([f"It is that one: {ANSWER}"])
    ending, playing = played(sandbox, model, memory=MatchingMemory(), procedures_first=True)
    assert (ending.outcome, len(model.asked)) == (Outcome.DIRECT_SUCCESS, 1)
    assert "put the coin on the table" in model.prompts[0]
    assert TASK.goal in model.prompts[0]
    assert [(each["type"], each["by"]) for each in matches(playing)] == [("fetch_it", "model")]
    assert ("task/0/round/0/match/0", "ask", 0) in journal_of(playing).events, "no frame is open yet"


@pytest.mark.parametrize(
    ("answer", "params"),
    [
        ('{"type": "fetch_it", "params": {"what": "THING"}, "failed": "raised", "by": "me"}', {"what": "THING"}),
        ('First {"type": "none"}, then:\n```json\n{"type": "fetch_it", "params": {"what": 5}}\n```', {"what": 5}),
        ('{"type": "fetch_it", "params": {"what": 2.5}}', {"what": 2.5}),
    ],
)
def test_only_type_and_params_of_an_answer_are_used(answer: str, params: Any, sandbox: Sandbox) -> None:
    model = PieceModel([answer, *planning(DONE).replies])
    _, playing = played(sandbox, model, memory=MatchingMemory(), procedures_first=True)
    first = matches(playing)[0]
    assert (first["type"], first["params"], first["by"], first["failed"]) == ("fetch_it", params, "model", "")


@pytest.mark.parametrize("value", ["null", "true", '""', "NaN", "[1]"])
def test_values_that_no_parameter_can_have_are_refused(value: str, sandbox: Sandbox) -> None:
    model = PieceModel([f'{{"type": "fetch_it", "params": {{"what": {value}}}}}', ANSWER])
    ending, _ = played(sandbox, model, memory=MatchingMemory(), procedures_first=True)
    assert (ending.outcome, len(model.asked)) == (Outcome.DIRECT_SUCCESS, 2)


@pytest.mark.parametrize(
    "replies", [['{"type": "none"}'], ['{"type": "fetch_all", "params": {}}'] * 3, ["no idea"] * 3]
)
def test_a_model_that_names_no_known_type_plans(replies: list[str], sandbox: Sandbox) -> None:
    model = PieceModel([*replies, *planning(DONE).replies])
    ending, playing = played(sandbox, model, memory=MatchingMemory(), procedures_first=True)
    assert (ending.outcome, len(model.asked)) == (Outcome.DIRECT_SUCCESS, len(replies) + 1)
    assert [each["type"] for each in matches(playing)] == [""]


def test_a_doubtful_match_is_decided_by_a_model_if_there_is_one(sandbox: Sandbox) -> None:
    model = PieceModel(['{"type": "none"}', *planning(DONE).replies])
    _, playing = played(sandbox, model, memory=DoubtfulMemory(), procedures_first=True)
    assert [each["type"] for each in matches(playing)] == [""]
    assert len(model.asked) == 2
    silent = PieceModel([])
    ending, _ = episode_kit.played(sandbox, silent, "procedures", memory=DoubtfulMemory())
    assert (ending.outcome, silent.asked) == (Outcome.DIRECT_SUCCESS, [])


def test_params_of_another_form_leave_the_task_to_the_planner(sandbox: Sandbox) -> None:
    model = PieceModel(['{"type": "fetch_it", "params": {"what": "few"}}', *planning(DONE).replies])
    ending, playing = played(sandbox, model, memory=UnfitParamsMemory(), procedures_first=True)
    assert (ending.outcome, len(model.asked)) == (Outcome.DIRECT_SUCCESS, 2)
    assert "What is known." in model.prompts[1]
    assert [(each["type"], len(each["candidates"])) for each in matches(playing)] == [("", 1)]


def test_a_matched_procedure_must_pass_its_check(sandbox: Sandbox) -> None:
    matched = Match(type="fetch_it", params={"what": "THING"}, by="pattern")
    recall = {"procedure": procedure(OPENS), "match": matched}
    model, memory = planning(DONE), FixedMemory(**recall, check="assert agent.table() != [], 'the table is empty'")
    ending, playing = played(sandbox, model, memory=memory, procedures_first=True)
    assert ending.outcome is Outcome.INDIRECT_SUCCESS
    assert kinds(playing) == ["unfinished", "raised", "done"]
    assert "the table is empty" in model.prompts[0]
    assert [each["failed"] for each in matches(playing)] == ["", "raised"]
    memory = FixedMemory(**recall, check="assert agent.table() == []")
    _, playing = played(sandbox, planning(DONE), memory=memory, procedures_first=True)
    assert kinds(playing) == ["unfinished", "unfinished"], "the model is not asked"
