"""AutoManual's planner on the toy environment, with a model that replies by a list."""

import sys
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from pydantic import JsonValue

from planbook.envs import Action, Observation, Task
from planbook.envs.toy import Toy
from planbook.planner import (
    METHODS,
    Ending,
    Episode,
    EpisodeSettings,
    FeedbackKind,
    Match,
    MatchCandidate,
    Memory,
    MemoryJournal,
    NoMemory,
    Outcome,
    Procedure,
    Recall,
    Reply,
    play,
    procedure_faults,
)
from planbook.planner.roles import Roles
from planbook.planner.strategies.automanual import AutoManualOptions
from planbook.sandbox import Sandbox
from tests.planner.pieces import Piecewise
from tests.planner.players import TASK

LOOK = "seen = [agent.open(f'box_{n}') for n in (1, 2)]"
RAISES = "agent.open('box_1')\nassert False, '[Step 1] no key'"
REFUSED = "agent.opne('box_1')"
SOLVE = """
def fetch(agent, task):
    for number in range(1, 9):
        if task.params["things"][0] in agent.open(f"box_{number}").partition("you see ")[2]:
            agent.take(task.params["things"][0], f"box_{number}")
            agent.put(task.params["things"][0])
"""
DONE = f"{SOLVE}fetch(agent, task)"


class Knows:
    """Remembers one thing for every task."""

    def __init__(self, **recall: object) -> None:
        self._recall = Recall.model_validate(recall)

    def recall(self, task: Task) -> Recall:
        return self._recall


class Pausing(Toy):
    """An environment whose pages show their results only after an action."""

    pauses = True


class Secretive(Toy):
    """An environment whose params say more than the goal."""

    @classmethod
    def told_params(cls, task: Task) -> Mapping[str, JsonValue]:
        return {"color": "red"}


def said(*codes: str) -> Piecewise:
    return Piecewise([f"### Understanding\nSo.\n### Code\n```python\n{code}\n```" for code in codes])


def played(
    sandbox: Sandbox,
    model: Piecewise,
    *,
    environment: Toy | None = None,
    memory: Memory | None = None,
    journal: MemoryJournal | None = None,
    actions: int = 30,
    **options: Any,
) -> tuple[Ending, Episode]:
    playing = Episode(
        TASK,
        environment or Toy(),
        sandbox,
        journal if journal is not None else MemoryJournal(),
        settings=EpisodeSettings(actions=actions),
        memory=memory or NoMemory(),
        roles=Roles(lambda role: model, {}),
    )
    return play(playing, METHODS["automanual"].play, AutoManualOptions.model_validate(options)), playing


def kinds(playing: Episode) -> list[str]:
    return [feedback.kind.value for feedback in playing.feedbacks]


def test_a_plan_that_does_it_at_once_is_a_direct_success(sandbox: Sandbox) -> None:
    model = said(DONE)
    ending, playing = played(sandbox, model)
    assert (ending.outcome, ending.cause, ending.error_steps) == (Outcome.DIRECT_SUCCESS, "", 0)
    assert (len(model.asked), kinds(playing)) == (1, ["done"])


def test_a_plan_that_is_mended_is_an_indirect_success(sandbox: Sandbox) -> None:
    model = said(REFUSED, RAISES, DONE)
    ending, playing = played(sandbox, model)
    assert (ending.outcome, ending.error_steps) == (Outcome.INDIRECT_SUCCESS, 2)
    assert kinds(playing) == ["check", "raised", "done"]
    assert "no action or attribute opne" in model.prompts[1]
    assert "[Step 1] no key" in model.prompts[2]
    assert "Current state: You hold nothing." in model.prompts[2]


def test_a_planned_pause_is_no_error(sandbox: Sandbox) -> None:
    model = said(f"{LOOK}\n# Pause here: look", f"assert len(seen) == 2\n{DONE}")
    ending, playing = played(sandbox, model, environment=Pausing())
    assert (ending.outcome, ending.error_steps) == (Outcome.DIRECT_SUCCESS, 0)
    assert kinds(playing) == ["unfinished", "done"]


def test_a_plan_that_wrongly_took_itself_for_done_is_an_error_step(sandbox: Sandbox) -> None:
    ending, playing = played(sandbox, said(LOOK, f"assert len(seen) == 2\n{DONE}"))
    assert (ending.outcome, ending.error_steps) == (Outcome.INDIRECT_SUCCESS, 1)
    assert kinds(playing) == ["unfinished", "done"]


@pytest.mark.parametrize(
    ("environment", "options", "replies"),
    [(Toy, {}, 4), (Pausing, {}, 7), (Toy, {"replans": 0}, 1), (Pausing, {"replans": 1}, 2), (Toy, {"replans": 9}, 10)],
)
def test_replies_end_after_so_many_replans(
    sandbox: Sandbox, environment: type[Toy], options: dict[str, Any], replies: int
) -> None:
    model = said(RAISES)
    ending, playing = played(sandbox, model, environment=environment(), **options)
    assert len(model.asked) == len(playing.feedbacks) == replies
    assert (ending.outcome, ending.cause, ending.error_steps) == (Outcome.FAILURE, "raised", replies)
    left = [prompt for prompt in model.prompts[1:] if "This is your last reply" in prompt]
    assert left == model.prompts[1:][-1:]


def test_the_number_of_replies_left_is_true(sandbox: Sandbox) -> None:
    model = said(RAISES)
    played(sandbox, model)
    told = [prompt.split("You have ")[1].split(" replies")[0] for prompt in model.prompts[1:-1]]
    assert told == ["3", "2"]


def test_a_plan_that_never_succeeds_is_a_failure_by_its_last_cell(sandbox: Sandbox) -> None:
    ending, _ = played(sandbox, said(RAISES, RAISES, RAISES, LOOK))
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, "unfinished")
    ending, _ = played(sandbox, said(REFUSED))
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, "check")


def test_replies_that_stay_unusable_are_a_failure_of_kind_parse(sandbox: Sandbox) -> None:
    journal, model = MemoryJournal(), Piecewise(["I would look into the boxes."])
    ending, playing = played(sandbox, model, journal=journal)
    assert len(model.asked) == 3, "one reply and two repairs"
    assert (ending.outcome, ending.cause, ending.error_steps) == (Outcome.FAILURE, "parse", 1)
    (feedback,) = playing.feedbacks
    assert feedback.kind is FeedbackKind.PARSE
    assert "no Python code" in feedback.text
    again, _ = played(sandbox, Piecewise([]), journal=journal)
    assert again == ending, "resuming asks nothing and comes to the same"


def test_a_reply_that_only_defines_functions_is_asked_again_and_costs_no_replan(sandbox: Sandbox) -> None:
    model = said(SOLVE, DONE)
    ending, playing = played(sandbox, model, replans=0)
    assert (ending.outcome, kinds(playing)) == (Outcome.DIRECT_SUCCESS, ["done"])
    assert "only defines functions" in model.prompts[1]


def test_an_unusable_reply_after_a_plan_fails_the_episode_that_has_begun(sandbox: Sandbox) -> None:
    ending, playing = played(sandbox, Piecewise([f"```python\n{LOOK}\n```", "Done!"]))
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "parse", 2)
    assert kinds(playing) == ["unfinished", "parse"]


HELPER = """import re
LIMIT = 9

def boxes(task):
    return re.findall(r"box_[0-9]", task.observation)[:LIMIT]
"""


def test_helpers_defined_beforehand_are_told_and_can_be_used(sandbox: Sandbox) -> None:
    model = said(f"assert boxes(task)[0] == 'box_1'\n{DONE}")
    ending, _ = played(sandbox, model, memory=Knows(helpers=HELPER, text="Use boxes (rule_1)."))
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    told = model.prompts[0]
    assert "Functions that are defined already, beside those above: boxes." in told
    assert told.index("Use boxes (rule_1).") < told.index("# The task")
    without = said(DONE)
    played(sandbox, without)
    assert "defined already, beside" not in without.prompts[0]


def test_a_helper_may_be_defined_anew(sandbox: Sandbox) -> None:
    code = f"def boxes(task):\n    return ['box_7']\nassert boxes(task) == ['box_7']\n{DONE}"
    assert played(sandbox, said(code), memory=Knows(helpers=HELPER))[0].outcome is Outcome.DIRECT_SUCCESS


def test_params_that_are_not_told_are_not_in_the_plan_either(sandbox: Sandbox) -> None:
    """A plan could print them, and solve the task by looking up the answer."""
    model = said("print(task.params, task.goal)")
    _, playing = played(sandbox, model, environment=Secretive(), replans=0)
    assert playing.feedbacks[0].output == f"{{'color': 'red'}} {TASK.goal}\n"
    assert "params" not in model.prompts[0].split("# The task")[1]


def test_the_options_shape_the_instructions(sandbox: Sandbox) -> None:
    def system(environment: Toy | None = None, memory: Memory | None = None, **options: Any) -> str:
        model = said(DONE)
        played(sandbox, model, environment=environment, memory=memory, **options)
        return model.asked[0][0].content

    usual, pausing = system(), system(Pausing())
    assert "### Rules" in usual
    assert "### Rules" not in system(cooperation=False)
    assert "Write what could be of use in other tasks as functions" in usual
    assert "Write what could be of use in other tasks as functions" not in system(helper_methods=False)
    assert "### Plan" not in system(segments=False)
    assert "Pause here" not in usual
    assert "Pause here" in pausing
    assert "# An example" not in usual
    assert system(memory=Knows(example="Once, a lamp.")).endswith("# An example\n\nOnce, a lamp.")


def test_feedback_asks_for_code_alone_where_the_first_prompt_does(sandbox: Sandbox) -> None:
    for segments, wanted in ((True, "Fill in `### Mistakes`"), (False, "Answer with one block of Python again.")):
        model = said("agent.look_at('nothing')", DONE)
        played(sandbox, model, segments=segments)
        assert wanted in model.prompts[1]


def test_an_option_that_is_none_is_an_error() -> None:
    for wrong in ({"replans": -1}, {"cooperate": True}):
        with pytest.raises(ValueError, match=r"cooperate|greater than or equal to 0"):
            AutoManualOptions.model_validate(wrong)


def procedure(code: str) -> Procedure:
    return Procedure(name="fetch.py", summary="Fetch.", environment="toy", type="fetch", source="a test", code=code)


FETCH = SOLVE.replace("def fetch", "def solve")
EMPTY_HANDED = "def solve(agent, task):\n    agent.open('box_1')\n    assert agent.table(), 'nothing on the table'"


def test_a_procedure_that_does_it_needs_no_model(sandbox: Sandbox) -> None:
    assert procedure_faults(FETCH, Toy) == []
    model = said(DONE)
    memory = Knows(procedure=procedure(FETCH))
    ending, _ = played(sandbox, model, memory=memory, procedures_first=True)
    assert (ending.outcome, model.asked) == (Outcome.DIRECT_SUCCESS, [])
    ending, _ = played(sandbox, model, memory=memory)
    assert len(model.asked) == 1, "unless it is asked for, the model plans"


def test_where_a_procedure_fails_the_model_goes_on_from_there(sandbox: Sandbox) -> None:
    model = said(DONE)
    memory = Knows(procedure=procedure(EMPTY_HANDED))
    ending, playing = played(sandbox, model, memory=memory, procedures_first=True)
    assert (ending.outcome, ending.error_steps) == (Outcome.INDIRECT_SUCCESS, 1)
    assert kinds(playing) == ["raised", "done"]
    told = model.prompts[0]
    assert "# What has been tried" in told
    assert "nothing on the table" in told
    assert "1. agent.open('box_1') -> You open box_1" in told
    assert ending.actions == len(playing.steps) > 1, "the actions of both count"


def test_a_procedure_that_gives_up_quietly_is_no_error(sandbox: Sandbox) -> None:
    memory = Knows(procedure=procedure("def solve(agent, task):\n    agent.open('box_1')"))
    ending, playing = played(sandbox, said(DONE), memory=memory, procedures_first=True)
    assert (ending.outcome, kinds(playing)) == (Outcome.DIRECT_SUCCESS, ["unfinished", "done"])


def test_a_procedure_that_uses_all_actions_up_leaves_nothing_to_ask_for(sandbox: Sandbox) -> None:
    memory = Knows(procedure=procedure("def solve(agent, task):\n    while True:\n        agent.open('box_1')"))
    model = said(DONE)
    ending, _ = played(sandbox, model, memory=memory, procedures_first=True, actions=3)
    assert (ending.outcome, model.asked) == (Outcome.OUT_OF_BUDGET, [])


def test_what_the_planner_considered_is_kept_with_the_cell(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    text = f"### Understanding\nA key.\n### Rules\n- rule_2: look\n### Code\n```python\n{DONE}\n```"
    played(sandbox, Piecewise([text]), journal=journal)
    (cell,) = (body for (_, kind, _), body in journal.events.items() if kind == "cell")
    assert isinstance(cell["thought"], dict)
    assert (cell["source"], cell["thought"]["rule_ids"]) == ("planner", ["rule_2"])
    assert cell["thought"]["understanding"] == "A key."


# Procedures that are matched with the goal.

BY_PARAMS = SOLVE.replace('task.params["things"][0]', 'task.params["what"]').replace("def fetch", "def solve")
CANDIDATE = MatchCandidate(name="fetch_it", params=("what",), goals=("put the coin on the table",))
SURE = Match(type="fetch_it", params={"what": "THING"}, by="pattern")


class Matching:
    """Knows the type of a task that has one, and is unsure about any other."""

    def recall(self, task: Task) -> Recall:
        if task.type != "fetch_it":
            return Recall(match=Match(candidates=(CANDIDATE,)))
        return Recall(procedure=procedure(BY_PARAMS), match=Match(type=task.type, params=task.params))


def thing() -> str:
    return str(TASK.params["things"][0])  # type: ignore[index]


def matches(journal: MemoryJournal) -> list[Any]:
    spans: list[Any] = [body for (_, kind, _), body in journal.events.items() if kind == "span"]
    return [span["data"] for span in spans if span.get("name") == "match"]


def test_a_model_is_asked_for_the_type_where_nothing_is_certain(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    model = Piecewise([f'It is that one: {{"type": "fetch_it", "params": {{"what": "{thing()}"}}}}'])
    ending, _ = played(sandbox, model, memory=Matching(), journal=journal, procedures_first=True)
    assert (ending.outcome, len(model.asked)) == (Outcome.DIRECT_SUCCESS, 1)
    assert "put the coin on the table" in model.prompts[0]
    assert TASK.goal in model.prompts[0]
    assert [(each["type"], each["by"]) for each in matches(journal)] == [("fetch_it", "model")]


@pytest.mark.parametrize(
    ("answer", "params"),
    [
        ('{"type": "fetch_it", "params": {"what": "THING"}, "failed": "raised", "by": "me"}', {"what": "THING"}),
        ('First {"type": "none"}, then:\n```json\n{"type": "fetch_it", "params": {"what": 5}}\n```', {"what": 5}),
        ('{"type": "fetch_it", "params": {"what": 2.5}}', {"what": 2.5}),
    ],
)
def test_an_answer_gives_a_type_and_its_parameters_alone(answer: str, params: Any, sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    played(sandbox, Piecewise([answer, *said(DONE).replies]), memory=Matching(), journal=journal, procedures_first=True)
    first = matches(journal)[0]
    assert (first["type"], first["params"], first["by"], first["failed"]) == ("fetch_it", params, "model", "")


@pytest.mark.parametrize("value", ["null", "true", '""', "NaN", "[1]", '{"what": 1}'])
def test_values_that_no_parameter_can_have_are_asked_for_again(value: str, sandbox: Sandbox) -> None:
    answers = [f'{{"type": "fetch_it", "params": {{"what": {each}}}}}' for each in (value, f'"{thing()}"')]
    model = Piecewise(answers)
    ending, _ = played(sandbox, model, memory=Matching(), procedures_first=True)
    assert (ending.outcome, len(model.asked)) == (Outcome.DIRECT_SUCCESS, 2)


class Doubting(Matching):
    """Knows a type, with a value that it is not sure of."""

    def recall(self, task: Task) -> Recall:
        known = super().recall(task.model_copy(update={"type": "fetch_it", "params": {"what": thing()}}))
        unsure = Match(type="fetch_it", params={"what": thing()}, by="pattern", candidates=(CANDIDATE,))
        return known.model_copy(update={"match": unsure})


def test_a_model_decides_on_a_doubtful_match_where_there_is_one(sandbox: Sandbox) -> None:
    journal, model = MemoryJournal(), Piecewise(['{"type": "none"}', *said(DONE).replies])
    played(sandbox, model, memory=Doubting(), journal=journal, procedures_first=True)
    assert [each["type"] for each in matches(journal)] == [""]
    assert len(model.asked) == 2
    playing = Episode(TASK, Toy(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=30), memory=Doubting())
    assert play(playing, METHODS["procedures"].play, METHODS["procedures"].options()).outcome is Outcome.DIRECT_SUCCESS


class Unfitting:
    """Knows a type, and that no params have the forms of its parameters."""

    def recall(self, task: Task) -> Recall:
        if task.type == "fetch_it":
            return Recall(match=Match())
        return Recall(match=Match(candidates=(CANDIDATE,)), text="What is known.")


def test_parameters_of_another_form_leave_the_task_to_the_planner(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    model = Piecewise(['{"type": "fetch_it", "params": {"what": "few"}}', *said(DONE).replies])
    ending, _ = played(sandbox, model, memory=Unfitting(), journal=journal, procedures_first=True)
    assert (ending.outcome, len(model.asked)) == (Outcome.DIRECT_SUCCESS, 2)
    assert "What is known." in model.prompts[1]
    assert [(each["type"], len(each["candidates"])) for each in matches(journal)] == [("", 1)]


def test_no_session_is_opened_to_ask_for_a_type() -> None:
    opened, asked = list[object](), list[int]()

    class Counting(Sandbox):
        def session(self, *args: Any, **kwargs: Any) -> Any:
            opened.append(args)
            return super().session(*args, **kwargs)

    class Asked(Piecewise):
        def complete(self, *args: Any, **kwargs: Any) -> Reply:
            asked.append(len(opened))
            return super().complete(*args, **kwargs)

    journal, model = MemoryJournal(), Asked([f'{{"type": "fetch_it", "params": {{"what": "{thing()}"}}}}'])
    with Counting() as sandbox:
        opened.clear()  # it has tried itself
        ending, _ = played(sandbox, model, memory=Matching(), journal=journal, procedures_first=True)
    assert (ending.outcome, asked, len(opened)) == (Outcome.DIRECT_SUCCESS, [0], 1)
    assert ("task/0/round/0/match/0", "ask", 0) in journal.events


class Deep(Toy):
    """Notes how many functions of planbook lead from the method to an action."""

    functions: ClassVar[list[str]] = []

    def act(self, action: Action) -> Observation:
        frame, names = sys._getframe(), list[str]()
        while (above := frame.f_back) is not None and frame.f_code is not play.__code__:
            names += [frame.f_code.co_name] * ("planbook" in frame.f_globals.get("__name__", ""))
            frame = above
        self.functions[:] = names
        return super().act(action)


@pytest.mark.parametrize("match", [None, Match(type="fetch_it", params={"what": thing()}, by="pattern")])
def test_one_function_of_the_method_runs_a_procedure(match: Match | None, sandbox: Sandbox) -> None:
    memory = Knows(procedure=procedure(BY_PARAMS if match else SOLVE.replace("def fetch", "def solve")), match=match)
    playing = Episode(TASK, Deep(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=30), memory=memory)
    assert play(playing, METHODS["procedures"].play, METHODS["procedures"].options()).outcome is Outcome.DIRECT_SUCCESS
    assert Deep.functions[-2:] == ["run", "procedures"]


@pytest.mark.parametrize("abstention", ['{"type": "none"}', '{"type": "fetch_all", "params": {}}', "no idea"])
def test_a_model_that_abstains_or_makes_up_a_type_plans(abstention: str, sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    replies = [abstention] * (1 if "none" in abstention else 3)
    model = Piecewise([*replies, *said(DONE).replies])
    ending, _ = played(sandbox, model, memory=Matching(), journal=journal, procedures_first=True)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [each["type"] for each in matches(journal)] == [""]


def test_what_held_after_the_examples_is_checked_after_a_matched_procedure(sandbox: Sandbox) -> None:
    looks = procedure("def solve(agent, task):\n    agent.open('box_1')")
    recall = {"procedure": looks, "match": SURE, "check": "assert agent.table() != [], 'the table is empty'"}
    journal, model = MemoryJournal(), said(DONE)
    ending, playing = played(sandbox, model, memory=Knows(**recall), journal=journal, procedures_first=True)
    assert ending.outcome is Outcome.INDIRECT_SUCCESS
    assert kinds(playing) == ["unfinished", "raised", "done"]
    assert "the table is empty" in model.prompts[0]
    assert [each["failed"] for each in matches(journal)] == ["", "raised"]
    recall["check"] = "assert agent.table() == []"
    _, playing = played(sandbox, said(DONE), memory=Knows(**recall), procedures_first=True)
    assert kinds(playing) == ["unfinished", "unfinished"], "what passes its check is taken for done"
