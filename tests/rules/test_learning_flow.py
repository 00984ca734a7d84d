"""From a model's first success to tasks that need no model: played, concluded, learnt, told, generalised, replayed."""

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
from tests.rules.replies import Replies
from tests.spanning import rows_of

FIRST_SAMPLE, SECOND, LATER = Toy.select(Selection(ids=("fetch/0", "fetch/1", "fetch/11")))
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


def test_what_one_success_teaches_carries_over_and_then_needs_no_model(sandbox: Sandbox) -> None:
    def code(text: str) -> str:
        return f"### Code\n```python\n{text}\n```"

    (first, second) = (str(*task.params["things"]) for task in (FIRST_SAMPLE, SECOND))  # type: ignore[misc]
    plan = PLAN.format(thing=first)
    shorter = f"fetch(agent, {second!r}, [f'box_{{n}}' for n in range(1, 9)])"
    model = Replies([code(text) for text in (plan, shorter, PROCEDURE)])
    run = Run(sandbox, Roles(lambda role: model, {}))

    episode = run.play(FIRST_SAMPLE, "automanual", AutoManualOptions())
    concluded = conclude(Scope(run.journal, "conclude/0", run.roles), episode, Toy, Toy.Options())
    knowledge = learn(Knowledge(environment="toy"), episode, concluded)
    assert knowledge.skills["fetch"].code.strip() == plan.strip()

    told = run.play(SECOND, "automanual", AutoManualOptions(), LearnedMemory(knowledge, Toy))
    assert told.ending.outcome is Outcome.DIRECT_SUCCESS
    assert plan.strip() in told.knowledge
    assert "defined already, beside those above: fetch." in model.asked[1][-1].content

    def verify(procedure: Procedure) -> list[Verification]:
        return [verified(run.play(task, "code", code_of(procedure))) for task in (FIRST_SAMPLE, SECOND)]

    scope = Scope(run.journal, "generalise/fetch", run.roles)
    made = generalise(scope, knowledge, "fetch", [episode, told], verify, environment=Toy, actions=30)
    assert [each.task_id for each in made.attempts[-1]] == [FIRST_SAMPLE.id, SECOND.id]
    silent = Run(sandbox, NO_MODELS)
    memory = LearnedMemory(admit(knowledge, made.procedure), Toy)
    assert silent.play(LATER, "procedures", Options(), memory).ending.outcome is Outcome.DIRECT_SUCCESS
    first_of_all = AutoManualOptions(procedures_first=True)
    assert silent.play(LATER, "automanual", first_of_all, memory).ending.outcome is Outcome.DIRECT_SUCCESS
