"""From a success's code to a procedure that has shown that it holds."""

from collections.abc import Callable, Sequence

import pytest
from pydantic import JsonValue

from planbook.envs import Selection, Task
from planbook.envs.alfworld import Alfworld
from planbook.envs.miniwob import Miniwob
from planbook.envs.toy import Toy
from planbook.planner import (
    METHODS,
    Cell,
    Ending,
    Episode,
    EpisodeSettings,
    Feedback,
    FeedbackKind,
    MemoryJournal,
    Model,
    ModelError,
    Outcome,
    Procedure,
    Round,
    Scope,
    Trajectory,
    code_of,
    play,
    read_trajectory,
)
from planbook.planner.roles import Roles
from planbook.rules import Knowledge, Rule, RuleType, Skill, Verification, admit, generalise, verified
from planbook.rules.procedures import FAILURE_CHARACTERS, MAX_CODE, Generalised, learned_procedure, procedure_reader
from planbook.sandbox import Sandbox
from tests.rules.replies import Replies
from tests.spanning import rows_of

DONE = Feedback(kind=FeedbackKind.DONE, text="1. agent.open('box_1') -> You open box_1. In it, you see ```apple```.")
TASKS = Toy.select(Selection(types=("fetch",), seeds=(0, 1, 3)))
SKILL = Skill(task=TASKS[0], scene="You see box_1, box_2 and a table.", code="agent.open('box_1')\nagent.put('apple')")
RULE = Rule(id="rule_4", type=RuleType.SPECIAL_MECHANISM, content="A box shows its things.", log=("NEVER TOLD",))
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
"""Takes the pen to be in every box that it opens."""


def hard_coded(task: Task) -> str:
    """A procedure with the ids of one scene: it does that task, and no other."""
    environment = Toy()
    environment.reset(task)
    (thing,) = map(str, task.params["things"])  # type: ignore[arg-type]
    box = next(f"box_{n}" for n in range(1, 9) if thing in environment.open(f"box_{n}").text)
    steps = f"agent.open({box!r})\n    agent.take({thing!r}, {box!r})\n    agent.put({thing!r})"
    return f"def solve(agent, task):\n    {steps}\n    assert False, 'nothing more to try'\n"


def reply(code: str) -> str:
    return f"This holds in any scene.\n\n```python\n{code}\n```"


class Bench:
    """Plays procedures on the toy's tasks, in the real sandbox and in one journal, as a building run does."""

    def __init__(self, sandbox: Sandbox, journal: MemoryJournal | None = None) -> None:
        self.sandbox, self.journal = sandbox, journal if journal is not None else MemoryJournal()
        self.played: list[Procedure] = []

    def verify(self, procedure: Procedure) -> list[Verification]:
        self.played.append(procedure)
        return [self._play(procedure, n, task) for n, task in enumerate(TASKS)]

    def _play(self, procedure: Procedure, number: int, task: Task) -> Verification:
        path = f"verify/{len(self.played)}/{number}"
        episode = Episode(task, Toy(), self.sandbox, self.journal, settings=EpisodeSettings(actions=30), path=path)
        play(episode, METHODS["code"].play, code_of(procedure))
        return verified(read_trajectory(path, rows_of(self.journal)))

    def generalise(self, load: Callable[[str], Model], knowledge: Knowledge = KNOWN) -> Generalised:
        scope = Scope(self.journal, "generalise/fetch", Roles(load, {}))
        return generalise(scope, knowledge, "fetch", PLAYED, self.verify, environment=Toy, actions=30)


def nobody(role: str) -> Model:
    raise ModelError(f"the {role} was asked")


def test_a_procedure_that_holds_is_admitted_at_once_under_our_header(sandbox: Sandbox) -> None:
    model = Replies([reply(GENERAL)], model='a\\b"""\nworld: c')
    bench = Bench(sandbox)
    made = bench.generalise(lambda role: model)
    assert made.procedure == bench.played[0]
    (attempt,) = made.attempts
    assert [each.task_id for each in attempt] == ["fetch/0", "fetch/1", "fetch/3"]
    assert made.procedure is not None
    assert made.procedure.source == "learnt from fetch/0, fetch/1, fetch/3 by a/b''' world: c/planner"
    assert (made.procedure.name, made.procedure.environment, made.procedure.type) == ("fetch.py", "toy", "fetch")
    assert "hand-written" not in made.procedure.code
    assert "import re\n\n\ndef boxes" in made.procedure.code


def test_the_question_tells_code_rules_tasks_and_what_code_can_use(sandbox: Sandbox) -> None:
    model = Replies([reply(GENERAL)])
    Bench(sandbox).generalise(lambda role: model)
    system, question = (message.content for message in model.asked[0])
    assert "agent.take(thing: str, box: str)" in system
    for told in (RULE.content, SKILL.code, SKILL.scene, f"````\n{DONE.text}\n````", '{"things": ["pen"]}'):
        assert told in question
    assert all(task.goal in question for task in TASKS)
    assert [f"box of {task.id}" in question for task in TASKS] == [False, True, True]
    assert "NEVER TOLD" not in question


def test_hard_coded_ids_are_refused_and_the_next_one_is_told_why(sandbox: Sandbox) -> None:
    model = Replies([reply(hard_coded(TASKS[0])), reply(GENERAL)])
    made = Bench(sandbox).generalise(lambda role: model)
    first, second = made.attempts
    assert [each.solved for each in first] == [True, False, False]
    assert [each.solved for each in second] == [True] * 3
    assert made.procedure is not None
    told = model.asked[1][-1].content
    assert "3 tasks" in told
    assert "1 of them was done" in told
    assert "Nothing happens" in told
    assert "nothing more to try" in told
    assert TASKS[1].goal in told
    assert TASKS[0].goal not in told
    assert [message.role for message in model.asked[1]] == ["system", "user", "assistant", "user"]


def test_after_the_last_reply_nothing_is_admitted_and_the_libraries_are_as_they_were(sandbox: Sandbox) -> None:
    older = learned_procedure("def solve(agent, task):\n    agent.put('key')", "fetch", Toy, "an older one")
    before = admit(KNOWN, older)
    model = Replies([reply(hard_coded(task)) for task in TASKS])
    made = Bench(sandbox).generalise(lambda role: model, before)
    assert (made.procedure, len(made.attempts)) == (None, 3)
    assert admit(before, made.procedure) == before


def test_replayed_from_the_journal_no_model_is_asked(sandbox: Sandbox) -> None:
    model = Replies(["nothing", reply(CARELESS), reply(GENERAL)])
    first = Bench(sandbox)
    made = first.generalise(lambda role: model)
    assert (len(model.asked), len(made.attempts)) == (3, 2)
    events = dict(first.journal.events)
    again = Bench(sandbox, first.journal)
    assert again.generalise(nobody) == made
    assert again.journal.events == events


BAD = {
    "no code": ("I cannot.", "no Python code"),
    "no solve": (reply("def help(agent):\n    agent.put('key')"), "must define solve"),
    "other parameters": (reply("def solve(agent):\n    agent.put('key')"), "exactly the parameters agent and task"),
    "more parameters": (reply("def solve(agent, task, box='box_1'):\n    agent.put('key')"), "exactly the parameters"),
    "acts outside": (reply(f"{GENERAL}\nagent.put('key')"), "acts inside solve"),
    "unknown action": (reply(GENERAL.replace("agent.put", "agent.drop")), "agent.drop"),
    "no file": (reply(GENERAL.replace("import re", "import re, os")), "os"),
    "depends on the task": (reply(GENERAL + "    assert task.id != 'fetch/0'\n"), "leave task.id out"),
    "too long": (reply(GENERAL + "# " + "x" * MAX_CODE), f"at most {MAX_CODE}"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_reply_that_is_no_procedure_is_asked_again_with_what_is_wrong(sandbox: Sandbox, name: str) -> None:
    text, why = BAD[name]
    model, bench = Replies([text, reply(GENERAL)]), Bench(sandbox)
    made = bench.generalise(lambda role: model)
    assert why in model.asked[1][-1].content
    assert made.procedure is not None
    assert len(bench.played) == len(made.attempts) == 1


def test_faults_name_the_lines_of_the_models_own_code() -> None:
    with pytest.raises(ValueError, match="line 3: unknown-action"):
        procedure_reader(TASKS[0], Toy)(reply("def solve(agent, task):\n    pass\n    agent.drop('key')"))


@pytest.mark.parametrize("code", ["'''Mine.''' ; import re\n", "'''Mine.'''\nimport re\n", "# Mine.\nimport re\n"])
def test_what_a_model_writes_above_its_code_costs_none_of_it(code: str) -> None:
    read = procedure_reader(TASKS[0], Toy)(reply(f"{code}\ndef solve(agent, task):\n    agent.put(re.escape('key'))"))
    procedure = learned_procedure(read, "fetch", Toy, "me")
    assert procedure.summary == "Do a task of type fetch."
    assert "import re" in procedure.code


def test_a_reply_that_stays_unusable_ends_it(sandbox: Sandbox) -> None:
    model = Replies([reply(hard_coded(TASKS[0])), "no", "no", "no"])
    made = Bench(sandbox).generalise(lambda role: model)
    assert made.procedure is None
    assert len(made.attempts) == 1


@pytest.mark.parametrize("answers", [[True, True], [True, False], []])
def test_it_is_admitted_only_if_every_verification_holds(answers: Sequence[bool]) -> None:
    def verify(procedure: Procedure) -> list[Verification]:
        return [Verification(task_id=str(n), solved=solved, feedback="x" * 9_000) for n, solved in enumerate(answers)]

    model = Replies([reply(GENERAL)] * 3)
    scope = Scope(MemoryJournal(), "generalise", Roles(lambda role: model, {}))
    made = generalise(scope, KNOWN, "fetch", PLAYED, verify, environment=Toy, actions=30)
    assert (made.procedure is not None) == (answers == [True, True])
    if not all(answers):
        assert FAILURE_CHARACTERS < len(model.asked[1][-1].content) < FAILURE_CHARACTERS + 1_500


def test_of_many_tasks_only_the_first_are_told_and_the_others_counted() -> None:
    def verify(procedure: Procedure) -> list[Verification]:
        return [Verification(task_id=str(n), solved=n == 0, feedback=f"failure {n};") for n in range(5)]

    many = [PLAYED[0].model_copy(update={"task": TASKS[0].model_copy(update={"id": f"fetch/{n}"})}) for n in range(9)]
    model = Replies([reply(GENERAL)] * 3)
    scope = Scope(MemoryJournal(), "generalise", Roles(lambda role: model, {}))
    generalise(scope, KNOWN, "fetch", many, verify, environment=Toy, actions=30)
    assert model.asked[0][-1].content.count("`task.goal`: put") == 5
    told = model.asked[1][-1].content
    assert [f"failure {n};" in told for n in range(5)] == [False, True, True, False, False]
    assert "2 more failed." in told


def mail(kind: str, params: dict[str, JsonValue]) -> Knowledge:
    task = Task(id=f"{kind}/1", env="miniwob", split="feedback", type=kind, goal="Pass it to Ada.", params=params)
    return Knowledge(environment="miniwob", skills={kind: Skill(task=task, scene="<p>", code="agent.type('Ada')")})


@pytest.mark.parametrize(("kind", "told"), [("email-inbox", True), ("email-inbox-forward-nl-turk", False)])
def test_params_that_say_more_than_the_goal_are_neither_told_nor_used(kind: str, told: bool) -> None:
    uses = reply("def solve(agent, task):\n    agent.type(task.params['receiver'])")
    model = Replies([uses, reply("def solve(agent, task):\n    agent.type(task.goal)")])
    knowledge = mail(kind, {"receiver": "ANSWER"})
    played = [Trajectory(path="task/0", task=knowledge.skills[kind].task)]
    scope = Scope(MemoryJournal(), "generalise", Roles(lambda role: model, {}))
    passed = [Verification(task_id="1", solved=True)]
    made = generalise(scope, knowledge, kind, played, lambda procedure: passed, environment=Miniwob, actions=20)
    prompts = "".join(message.content for asked in model.asked for message in asked)
    assert ("ANSWER" in prompts) == told
    assert len(model.asked) == (1 if told else 2)
    assert made.procedure is not None
    assert ("params" in made.procedure.code) == told
    assert ("task.params must not be used" in prompts) != told


def test_a_procedure_may_use_what_the_environment_defines_and_nothing_else_beyond_python() -> None:
    task = Task(
        id="x", env="alfworld", split="generated", type="look_at_obj", goal="look at it", params={"object": "mug"}
    )
    code = "def solve(agent, task):\n    agent.go_to(get_object_with_id(task.observation, task.params['object'])[0])"
    assert "get_object_with_id" in procedure_reader(task, Alfworld)(reply(code))
    with pytest.raises(ValueError, match="find_object"):
        procedure_reader(task, Alfworld)(reply(code.replace("get_object_with_id", "find_object")))


def test_an_episode_that_broke_tells_why_and_one_that_was_solved_needs_no_telling() -> None:
    broken = Ending(outcome=Outcome.BROKEN, message="the world fell")
    told = verified(PLAYED[1].model_copy(update={"ending": broken, "rounds": ()}))
    assert (told.task_id, told.solved) == ("fetch/1", False)
    assert "the world fell" in told.feedback
    assert TASKS[1].goal in told.feedback
    solved = verified(PLAYED[1].model_copy(update={"ending": Ending(outcome=Outcome.INDIRECT_SUCCESS)}))
    assert solved == Verification(task_id="fetch/1", solved=True)


def test_without_a_skill_there_is_nothing_to_generalise() -> None:
    with pytest.raises(LookupError, match="fetch_two"):
        generalise(
            Scope(MemoryJournal(), "generalise"),
            KNOWN,
            "fetch_two",
            PLAYED,
            lambda procedure: [],
            environment=Toy,
            actions=30,
        )
