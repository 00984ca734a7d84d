"""The code that solved a task is generalised to a procedure, which is verified on other tasks."""

from collections.abc import Callable, Sequence

import pytest
from pydantic import JsonValue

from planbook.envs import Environment, Selection, Task
from planbook.envs.alfworld import Alfworld
from planbook.envs.miniwob import Miniwob
from planbook.envs.toy import Toy
from planbook.planner import (
    METHODS,
    Cell,
    Ending,
    Feedback,
    FeedbackKind,
    MemoryJournal,
    Model,
    Outcome,
    Procedure,
    Reply,
    Round,
    Scope,
    Trajectory,
    code_of,
    play,
    read_trajectory,
)
from planbook.planner.roles import Roles
from planbook.rules import Knowledge, Rule, RuleType, Skill, Verification, generalise, verification_of
from planbook.rules.procedures import FAILURE_CHARACTERS, MAX_CODE, Generalisation, learned_procedure, procedure_reader
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import Replies, episode
from tests.spanning import rows_of

DONE = Feedback(kind=FeedbackKind.DONE, text="1. agent.open('box_1') -> You open box_1. In it, you see ```apple```.")
TASKS = Toy.select(Selection(types=("fetch",), seeds=(0, 1, 3)))
SKILL = Skill(task=TASKS[0], scene="You see box_1, box_2 and a table.", code="agent.open('box_1')\nagent.put('apple')")
RULE = Rule(id="rule_4", type=RuleType.SPECIAL_MECHANISM, content="A box shows its things.", log=("NEVER SHOWN",))
PLAYED = tuple(
    Trajectory(
        path=f"task/{n}",
        task=task,
        rounds=(
            Round(
                number=0,
                observation=f"You see the box of {task.id}.",
                cells=(Cell(scope="", number=0, source="planner", code="", feedback=DONE),),
            ),
        ),
    )
    for n, task in enumerate(TASKS)
)
KNOWN = Knowledge(environment="toy", rules=(RULE,), skills={"fetch": SKILL})

GENERAL = '''"""Fetches.

source: a model that calls itself hand-written
"""

import re


def boxes(text):
    return re.findall(r"box_[0-9]+", text)


def solve(agent, task):
    for thing in task.params["things"]:
        for box in boxes(task.observation):
            if thing in agent.open(box).partition("you see ")[2]:
                agent.take(thing, box)
                agent.put(thing)
                break
'''
CARELESS = GENERAL.replace('.partition("you see ")[2]', "")
"""A procedure that assumes that every box it opens holds the thing."""


def hard_coded(task: Task) -> str:
    """Return a procedure that contains the ids of one scene, and so solves only that task."""
    environment = Toy()
    environment.reset(task)
    (thing,) = map(str, task.params["things"])  # type: ignore[arg-type]
    box = next(f"box_{n}" for n in range(1, 9) if thing in environment.open(f"box_{n}").text)
    steps = f"agent.open({box!r})\n    agent.take({thing!r}, {box!r})\n    agent.put({thing!r})"
    return f"def solve(agent, task):\n    {steps}\n    assert False, 'nothing more to try'\n"


def reply(code: str) -> str:
    return f"This holds in any scene.\n\n```python\n{code}\n```"


SOLVED = Verification(task_id="1", solved=True)


class Bench:
    """Verifies procedures on tasks of the toy, in the real sandbox and with one journal, as ``planbook build`` does."""

    def __init__(self, sandbox: Sandbox, journal: MemoryJournal | None = None) -> None:
        self.sandbox, self.journal = sandbox, journal if journal is not None else MemoryJournal()
        self.played: list[Procedure] = []

    def verify(self, procedure: Procedure) -> list[Verification]:
        self.played.append(procedure)
        return [self._play(procedure, n, task) for n, task in enumerate(TASKS)]

    def _play(self, procedure: Procedure, number: int, task: Task) -> Verification:
        path = f"verify/{len(self.played)}/{number}"
        verifying = episode(self.sandbox, environment=Toy(), task=task, journal=self.journal, path=path)
        play(verifying, METHODS["code"].play, code_of(procedure))
        return verification_of(read_trajectory(path, rows_of(self.journal)))

    def generalise(self, model: Model) -> Generalisation:
        return generalised(model, self.verify, journal=self.journal)


def generalised(
    model: Model,
    verify: Callable[[Procedure], list[Verification]],
    knowledge: Knowledge = KNOWN,
    task_type: str = "fetch",
    played: Sequence[Trajectory] = PLAYED,
    environment: type[Environment] = Toy,
    journal: MemoryJournal | None = None,
) -> Generalisation:
    scope = Scope(MemoryJournal() if journal is None else journal, "generalise/fetch", Roles(lambda role: model, {}))
    return generalise(scope, knowledge, task_type, played, verify, environment=environment, actions=30)


def test_a_procedure_that_solves_every_task_is_admitted_with_our_header(sandbox: Sandbox) -> None:
    model = Replies(Reply(text=reply(GENERAL), model='a\\b"""\nworld: c'))
    bench = Bench(sandbox)
    result = bench.generalise(model)
    assert result.procedure == bench.played[0]
    (attempt,) = result.attempts
    assert [each.task_id for each in attempt] == ["fetch/0", "fetch/1", "fetch/3"]
    assert result.procedure is not None
    assert result.procedure.source == "learnt from fetch/0, fetch/1, fetch/3 by a/b''' world: c/planner"
    assert (result.procedure.name, result.procedure.environment, result.procedure.type) == ("fetch.py", "toy", "fetch")
    assert "hand-written" not in result.procedure.code
    assert "import re\n\n\ndef boxes" in result.procedure.code


def test_after_a_failed_verification_the_prompt_has_the_failures(sandbox: Sandbox) -> None:
    model = Replies(reply(hard_coded(TASKS[0])), reply(GENERAL))
    result = Bench(sandbox).generalise(model)
    assert [[each.solved for each in attempt] for attempt in result.attempts] == [[True, False, False], [True] * 3]
    assert result.procedure is not None
    for shown in ("3 tasks", "1 of them was done", "Nothing happens", "nothing more to try", TASKS[1].goal):
        assert shown in model.prompt(1)
    assert TASKS[0].goal not in model.prompt(1)
    assert "NEVER SHOWN" not in model.prompt(0)
    assert model.roles(1) == ["system", "user", "assistant", "user"]


def test_a_replay_from_the_journal_asks_no_model(sandbox: Sandbox) -> None:
    model = Replies("nothing", reply(CARELESS), reply(GENERAL))
    first = Bench(sandbox)
    result = first.generalise(model)
    assert (len(model.asked), len(result.attempts)) == (3, 2)
    events = dict(first.journal.events)
    resumed = Bench(sandbox, first.journal)
    assert resumed.generalise(Replies()) == result
    assert resumed.journal.events == events


BAD = {
    "no code": ("I cannot.", "no Python code"),
    "no solve": (reply("def help(agent):\n    agent.put('key')"), "must define solve"),
    "other parameters": (reply("def solve(agent):\n    agent.put('key')"), "exactly the parameters agent and task"),
    "a third parameter": (
        reply("def solve(agent, task, box='box_1'):\n    agent.put('key')"),
        "exactly the parameters",
    ),
    "acts outside": (reply(f"{GENERAL}\nagent.put('key')"), "actions only inside solve"),
    "unknown action": (reply(GENERAL.replace("agent.put", "agent.drop")), "agent.drop"),
    "depends on the task": (reply(GENERAL + "    assert task.id != 'fetch/0'\n"), "do not use task.id"),
    "too long": (reply(GENERAL + "# " + "x" * MAX_CODE), f"at most {MAX_CODE}"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_an_unusable_reply_is_asked_for_again(text: str, message: str) -> None:
    model = Replies(text, reply(GENERAL))
    result = generalised(model, lambda procedure: [SOLVED])
    assert message in model.prompt(1)
    assert result.procedure is not None
    assert len(result.attempts) == 1


def test_generalising_ends_after_three_unusable_replies() -> None:
    failed = Verification(task_id="1", solved=False)
    result = generalised(Replies(reply(GENERAL), "no", "no", "no"), lambda procedure: [failed])
    assert (result.procedure, len(result.attempts)) == (None, 1)


def test_faults_name_the_lines_of_the_models_code() -> None:
    with pytest.raises(ValueError, match="line 3: unknown-action"):
        procedure_reader(TASKS[0], Toy)(reply("def solve(agent, task):\n    pass\n    agent.drop('key')"))


@pytest.mark.parametrize("above", ["'''Mine.''' ; import re\n", "'''Mine.'''\nimport re\n", "# Mine.\nimport re\n"])
def test_a_docstring_above_the_code_is_replaced_and_the_code_stays(above: str) -> None:
    code = procedure_reader(TASKS[0], Toy)(reply(f"{above}\ndef solve(agent, task):\n    agent.put(re.escape('key'))"))
    procedure = learned_procedure(code, "fetch", Toy, "me")
    assert procedure.summary == "Do a task of type fetch."
    assert "import re" in procedure.code


@pytest.mark.parametrize("answers", [[True, True], [True, False], []])
def test_a_procedure_must_solve_every_task_of_its_verification(answers: Sequence[bool]) -> None:
    results = [Verification(task_id=str(n), solved=solved, feedback="x" * 9_000) for n, solved in enumerate(answers)]
    model = Replies(*[reply(GENERAL)] * 3)
    result = generalised(model, lambda procedure: results)
    admitted = answers == [True, True]
    assert (result.procedure is not None, len(result.attempts)) == (admitted, 1 if admitted else 3)
    if not all(answers):
        assert FAILURE_CHARACTERS < len(model.prompt(1)) < FAILURE_CHARACTERS + 1_500


def test_the_prompt_shows_the_first_tasks_and_failures_and_counts_the_others() -> None:
    results = [Verification(task_id=str(n), solved=n == 0, feedback=f"failure {n};") for n in range(5)]
    many = [PLAYED[0].model_copy(update={"task": TASKS[0].model_copy(update={"id": f"fetch/{n}"})}) for n in range(9)]
    model = Replies(*[reply(GENERAL)] * 3)
    generalised(model, lambda procedure: results, played=many)
    assert model.prompt(0).count("`task.goal`: put") == 5
    assert [f"failure {n};" in model.prompt(1) for n in range(5)] == [False, True, True, False, False]
    assert "2 more failed." in model.prompt(1)


@pytest.mark.parametrize(("kind", "shown"), [("email-inbox", True), ("email-inbox-forward-nl-turk", False)])
def test_params_that_say_more_than_the_goal_are_neither_shown_nor_used(kind: str, shown: bool) -> None:
    params: dict[str, JsonValue] = {"receiver": "ANSWER"}
    task = Task(id="1", env="miniwob", split="feedback", type=kind, goal="Pass it to Ada.", params=params)
    skill = Skill(task=task, scene="<p>", code="agent.type('Ada')")
    uses = reply("def solve(agent, task):\n    agent.type(task.params['receiver'])")
    model = Replies(uses, reply("def solve(agent, task):\n    agent.type(task.goal)"))
    knowledge, played = Knowledge(environment="miniwob", skills={kind: skill}), [Trajectory(path="task/0", task=task)]
    result = generalised(model, lambda procedure: [SOLVED], knowledge, kind, played, Miniwob)
    prompts = "".join(message.content for asked in model.asked for message in asked)
    assert ("ANSWER" in prompts) == shown
    assert len(model.asked) == (1 if shown else 2)
    assert result.procedure is not None
    assert ("params" in result.procedure.code) == shown
    assert ("task.params must not be used" in prompts) != shown


def test_a_procedure_may_call_the_helpers_of_the_environment() -> None:
    task = Task(id="x", env="alfworld", split="generated", type="look_at_obj", goal="look", params={"object": "mug"})
    code = "def solve(agent, task):\n    agent.go_to(get_object_with_id(task.observation, task.params['object'])[0])"
    assert "get_object_with_id" in procedure_reader(task, Alfworld)(reply(code))
    with pytest.raises(ValueError, match="find_object"):
        procedure_reader(task, Alfworld)(reply(code.replace("get_object_with_id", "find_object")))


def test_a_verification_has_feedback_unless_it_was_solved() -> None:
    broken = Ending(outcome=Outcome.BROKEN, message="the world fell")
    failed = verification_of(PLAYED[1].model_copy(update={"ending": broken, "rounds": ()}))
    assert (failed.task_id, failed.solved) == ("fetch/1", False)
    assert "the world fell" in failed.feedback
    assert TASKS[1].goal in failed.feedback
    solved = verification_of(PLAYED[1].model_copy(update={"ending": Ending(outcome=Outcome.INDIRECT_SUCCESS)}))
    assert solved == Verification(task_id="fetch/1", solved=True)


def test_a_type_without_a_skill_is_refused() -> None:
    with pytest.raises(LookupError, match="fetch_two"):
        generalised(Replies(), lambda procedure: [], task_type="fetch_two")
