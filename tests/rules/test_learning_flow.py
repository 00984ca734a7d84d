"""What one success teaches, from the first episode with a model to later tasks without one."""

from planbook.envs import Selection, Task
from planbook.envs.toy import Toy
from planbook.planner import (
    METHODS,
    Episode,
    EpisodeSettings,
    Memory,
    MemoryJournal,
    Options,
    Outcome,
    Procedure,
    Scope,
    Trajectory,
    code_of,
    conclude,
    play,
    read_trajectory,
)
from planbook.planner.roles import NO_MODELS, Roles
from planbook.planner.strategies.automanual import AutoManualOptions
from planbook.rules import Knowledge, LearnedMemory, Verification, admit, generalise, learn, verified
from planbook.sandbox import Sandbox
from tests.rules.asking import Replies
from tests.spanning import rows_of

FIRST, SECOND, LATER = Toy.select(Selection(ids=("fetch/0", "fetch/1", "fetch/11")))
PLAN = """def fetch(agent, thing, boxes):
    for box in boxes:
        if thing in agent.open(box).partition("you see ")[2]:
            agent.take(thing, box)
            agent.put(thing)
            return

# [Step 1] Fetch it
fetch(agent, {thing!r}, [f"box_{{n}}" for n in range(1, 9)])
"""
CALL = '\n\ndef solve(agent, task):\n    boxes = [f"box_{n}" for n in range(1, 9)]\n'
CALL += '    for thing in task.params["things"]:\n        fetch(agent, thing, boxes)'
PROCEDURE = PLAN.partition("\n# [Step")[0] + CALL


class Run:
    """One journal, one sandbox, and the models of one role."""

    def __init__(self, sandbox: Sandbox, roles: Roles) -> None:
        self.sandbox, self.roles, self.journal, self.episodes = sandbox, roles, MemoryJournal(), 0

    def play(self, task: Task, planner: str, options: Options, memory: Memory | None = None) -> Trajectory:
        path, self.episodes = f"task/{self.episodes}", self.episodes + 1
        settings = EpisodeSettings(actions=30)
        episode = Episode(
            task, Toy(), self.sandbox, self.journal, settings=settings, path=path, memory=memory, roles=self.roles
        )
        play(episode, METHODS[planner].play, options)
        return read_trajectory(path, rows_of(self.journal))


def test_after_one_success_later_tasks_need_no_model(sandbox: Sandbox) -> None:
    def code(text: str) -> str:
        return f"### Code\n```python\n{text}\n```"

    (first_thing, second_thing) = (str(*task.params["things"]) for task in (FIRST, SECOND))  # type: ignore[misc]
    plan = PLAN.format(thing=first_thing)
    shorter = f"fetch(agent, {second_thing!r}, [f'box_{{n}}' for n in range(1, 9)])"
    model = Replies([code(text) for text in (plan, shorter, PROCEDURE)])
    run = Run(sandbox, Roles(lambda role: model, {}))

    first = run.play(FIRST, "automanual", AutoManualOptions())
    conclusion = conclude(Scope(run.journal, "conclude/0", run.roles), first, Toy, Toy.Options())
    knowledge = learn(Knowledge(environment="toy"), first, conclusion)
    assert knowledge.skills["fetch"].code.strip() == plan.strip()

    second = run.play(SECOND, "automanual", AutoManualOptions(), LearnedMemory(knowledge, Toy))
    assert second.ending.outcome is Outcome.DIRECT_SUCCESS
    assert plan.strip() in second.knowledge
    assert "defined already, beside those above: fetch." in model.prompt(1)

    def verify(procedure: Procedure) -> list[Verification]:
        return [verified(run.play(task, "code", code_of(procedure))) for task in (FIRST, SECOND)]

    scope = Scope(run.journal, "generalise/fetch", run.roles)
    result = generalise(scope, knowledge, "fetch", [first, second], verify, environment=Toy, actions=30)
    assert [each.task_id for each in result.attempts[-1]] == [FIRST.id, SECOND.id]
    silent = Run(sandbox, NO_MODELS)
    memory = LearnedMemory(admit(knowledge, result.procedure), Toy)
    assert silent.play(LATER, "procedures", Options(), memory).ending.outcome is Outcome.DIRECT_SUCCESS
    first_options = AutoManualOptions(procedures_first=True)
    assert silent.play(LATER, "automanual", first_options, memory).ending.outcome is Outcome.DIRECT_SUCCESS
