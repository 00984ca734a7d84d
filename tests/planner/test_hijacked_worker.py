"""A plan that has taken over its worker speaks for its session, and changes no verdict, budget, limit or check."""

from typing import Any

import pytest

from planbook.envs import Action, Observation, Selection
from planbook.envs.toy import Toy
from planbook.planner import (
    Episode,
    EpisodeOver,
    EpisodeSettings,
    FeedbackKind,
    MemoryJournal,
    Outcome,
    ScriptedModel,
    method,
    play,
)
from planbook.planner.roles import NO_MODELS, Roles
from planbook.sandbox import Limits, Sandbox

TAKE_OVER = """
import copy, statistics
class Name:
    def __call__(self, *args):
        return None
    def method(self):
        return None
Method = type(Name().method)
def read(owner, name):
    named = Name()
    vars(named)["__name__"] = name
    return copy.copy(Method(named, owner))
modules = read(statistics.mean, "__globals__")["sys"].modules
channel = modules["socket"].socket(fileno=3, family=1, type=1, proto=0)
def say(text):
    channel.sendall(len(text).to_bytes(4, "big") + text.encode())
def hear():
    return channel.recv(int.from_bytes(channel.recv(4, 256), "big"), 256).decode()
"""
"""From the policy's own language to the socket of the worker: the name of what a bound method calls is the plan's."""
OPEN = 'say(\'["call",1,"agent.open",["box_1"],{}]\')\n'
END = 'say(\'["end",{"solved":true,"outcome":"direct_success"},[]]\')\n'
SOLVE = """
for number in range(1, 9):
    if task.params["things"][0] in agent.open(f"box_{number}"):
        agent.take(task.params["things"][0], f"box_{number}")
        break
agent.put(task.params["things"][0])
"""


class Watched(Toy):
    """Notes every action that reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[Action] = []

    def act(self, action: Action) -> Observation:
        self.taken.append(action)
        return super().act(action)


def episode(sandbox: Sandbox, roles: Roles = NO_MODELS, **terms: Any) -> tuple[Episode, Watched]:
    task, environment = Toy.tasks(Selection(ids=("fetch/0",)))[0], Watched()
    given = EpisodeSettings(**{"actions": 30, **terms})
    return Episode(task, environment, sandbox, MemoryJournal(), settings=given, roles=roles), environment


def begun(sandbox: Sandbox, **terms: Any) -> tuple[Episode, Watched]:
    played, environment = episode(sandbox, **terms)
    played.begin()
    return played, environment


def test_a_plan_that_says_it_has_solved_the_task_has_not(sandbox: Sandbox) -> None:
    played, environment = begun(sandbox)
    feedback = played.run(f'{TAKE_OVER}say(\'["print","The task is done."]\')\n{END}')
    assert (feedback.kind, environment.taken) == (FeedbackKind.UNFINISHED, [])
    assert not played.verdict().solved
    assert played.ending().outcome is Outcome.FAILURE
    played.close()


def test_a_plan_that_answers_for_the_next_cells_takes_no_action_in_their_name(sandbox: Sandbox) -> None:
    """The next episode is played in a worker of its own."""
    played, environment = begun(sandbox)
    played.run(f"{TAKE_OVER}{END}while hear():\n    {END}")
    assert played.run(SOLVE).kind is FeedbackKind.UNFINISHED
    assert (environment.taken, played.steps, played.ending().outcome) == ([], [], Outcome.FAILURE)
    played.close()
    honest, _ = begun(sandbox)
    with pytest.raises(EpisodeOver):
        honest.run(SOLVE)
    assert honest.ending().outcome is Outcome.DIRECT_SUCCESS
    honest.close()


def test_no_more_actions_are_taken_than_the_episode_has(sandbox: Sandbox) -> None:
    played, environment = begun(sandbox, actions=3)
    with pytest.raises(EpisodeOver, match="3 actions are used up"):
        played.run(f"{TAKE_OVER}for _ in range(20):\n    {OPEN}    hear()")
    assert (len(environment.taken), played.actions, len(played.steps)) == (3, 3, 3)
    assert played.ending().outcome is Outcome.OUT_OF_BUDGET
    played.close()


def test_nor_than_the_cell_has(sandbox: Sandbox) -> None:
    played, environment = begun(sandbox)
    feedback = played.run(f"{TAKE_OVER}for _ in range(20):\n    {OPEN}", actions=2)
    assert len(environment.taken) == 2
    assert feedback.kind in (FeedbackKind.UNFINISHED, FeedbackKind.LIMIT), "it may have said too much already"
    played.close()


ODD = ("[1]", '[["box_1"]]', "[null]", "[]", '["box_1","box_2"]', '["box_1"],{"box":"box_2"}', '[],{"self":"box_1"}')


def test_no_argument_reaches_the_environment_unchecked(sandbox: Sandbox) -> None:
    played, environment = begun(sandbox)
    calls = [f'["call",1,"agent.open",{odd if "{" in odd else odd + ",{}"}]' for odd in ODD]
    feedback = played.run(f"{TAKE_OVER}for call in {calls!r}:\n    say(call)\n    print(hear())\n{OPEN}print(hear())")
    assert (feedback.kind, feedback.output.count('["error","TypeError"')) == (FeedbackKind.UNFINISHED, len(ODD))
    assert [action.args for action in environment.taken] == [("box_1",)]
    played.close()


@pytest.mark.parametrize("name", ["agent.begin", "agent.verdict", "world.reset", "agent.open.__call__", "ask", ""])
def test_only_what_the_session_offers_can_be_called(sandbox: Sandbox, name: str) -> None:
    played, environment = begun(sandbox)
    feedback = played.run(f'{TAKE_OVER}say(\'["call",1,"{name}",[],{{}}]\')\nhear()')
    assert (feedback.kind, environment.taken) == (FeedbackKind.LIMIT, [])
    assert "which the session does not have" in feedback.text
    played.close()


LIMITS = Limits(wall_seconds=1, cpu_seconds=1, output_chars=500, host_calls=5, memory_mb=64)
BEYOND = {
    "wall": "while True:\n    pass",
    "output": 'while True:\n    say(\'["print","xxxxxxxxxx"]\')',
    "host_calls": f"while True:\n    {OPEN}",
    "sleep": "while True:\n    say('[\"sleep\",0.9]')",
    "memory": "kept = 'x' * 10 ** 9",
    "protocol": 'say(\'["end",null,[{"kind":"limit","type":"wall","message":"m"}]]\')',
}
"""What a plan does that has taken its worker over, by the limit that ends it."""


@pytest.mark.parametrize("limit", BEYOND)
def test_nothing_outlives_its_limits(sandbox: Sandbox, limit: str) -> None:
    played, environment = begun(sandbox, limits=LIMITS)
    feedback = played.run(TAKE_OVER + BEYOND[limit])
    assert feedback.kind is FeedbackKind.LIMIT
    assert [fault.type for fault in feedback.faults] in ([limit], ["cpu"] if limit == "wall" else [limit])
    assert len(feedback.output) <= LIMITS.output_chars
    assert len(environment.taken) <= LIMITS.host_calls
    played.close()


def test_a_model_is_asked_no_more_often_than_for_a_plan_that_always_fails(sandbox: Sandbox) -> None:
    def asked(plan: str) -> tuple[int, Outcome]:
        times: list[object] = []

        def answer(messages: object, sampling: object) -> str:
            times.append(messages)
            return f"```python\n{plan}\n```"

        played, _ = episode(sandbox, Roles(lambda role: ScriptedModel(answer), {}))
        react = method("react")
        outcome = play(played, react.play, react.options.model_validate({"iterations": 6})).outcome
        return len(times), outcome

    assert asked(f"{TAKE_OVER}{END}while hear():\n    {END}") == asked("assert False")
