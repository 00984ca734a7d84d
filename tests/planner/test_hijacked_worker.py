"""A plan that has taken over its worker changes no verdict, budget, limit or check of the host."""

from collections.abc import Iterator

import pytest

from planbook.envs import Action, Observation
from planbook.envs.toy import Toy
from planbook.planner import (
    Episode,
    EpisodeOver,
    FeedbackKind,
    Outcome,
    ScriptedModel,
)
from planbook.sandbox import Limits, Sandbox
from tests.planner.episode_kit import SOLVE, OneModel, played, started

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
"""Reach the socket of the worker from the policy's language: the plan chooses the name of a bound method's function."""
OPEN = 'say(\'["call",1,"agent.open",["box_1"],{}]\')\n'
END = 'say(\'["end",{"solved":true,"outcome":"direct_success"},[]]\')\n'


class SpyToy(Toy):
    """A toy environment that records every action that reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[Action] = []

    def act(self, action: Action) -> Observation:
        self.taken.append(action)
        return super().act(action)


@pytest.fixture
def environment() -> SpyToy:
    return SpyToy()


@pytest.fixture
def playing(sandbox: Sandbox, environment: SpyToy, request: pytest.FixtureRequest) -> Iterator[Episode]:
    """A started episode; indirect parameters are its settings."""
    with started(sandbox, environment=environment, **getattr(request, "param", {})) as playing:
        yield playing


def test_a_plan_that_says_it_has_solved_the_task_has_not(playing: Episode, environment: SpyToy) -> None:
    feedback = playing.run(f'{TAKE_OVER}say(\'["print","The task is done."]\')\n{END}')
    assert (feedback.kind, environment.taken) == (FeedbackKind.UNFINISHED, [])
    assert not playing.verdict().solved
    assert playing.ending().outcome is Outcome.FAILURE


def test_a_plan_that_answers_for_later_cells_takes_no_action_and_spoils_no_other_episode(
    sandbox: Sandbox, playing: Episode, environment: SpyToy
) -> None:
    playing.run(f"{TAKE_OVER}{END}while hear():\n    {END}")
    assert playing.run(SOLVE).kind is FeedbackKind.UNFINISHED
    assert (environment.taken, playing.steps, playing.ending().outcome) == ([], [], Outcome.FAILURE)
    playing.close()
    with started(sandbox) as honest:
        with pytest.raises(EpisodeOver):
            honest.run(SOLVE)
        assert honest.ending().outcome is Outcome.DIRECT_SUCCESS


@pytest.mark.parametrize("playing", [{"actions": 3}], indirect=True)
def test_a_plan_takes_no_more_actions_than_the_episode_has(playing: Episode, environment: SpyToy) -> None:
    with pytest.raises(EpisodeOver, match="3 actions are used up"):
        playing.run(f"{TAKE_OVER}for _ in range(20):\n    {OPEN}    hear()")
    assert (len(environment.taken), playing.actions, len(playing.steps)) == (3, 3, 3)
    assert playing.ending().outcome is Outcome.OUT_OF_BUDGET


def test_a_plan_takes_no_more_actions_than_its_cell_has(playing: Episode, environment: SpyToy) -> None:
    feedback = playing.run(f"{TAKE_OVER}for _ in range(20):\n    {OPEN}", actions=2)
    assert len(environment.taken) == 2
    assert feedback.kind in (FeedbackKind.UNFINISHED, FeedbackKind.LIMIT), "the plan may already have sent too much"


WRONG = ("[1]", '[["box_1"]]', "[null]", "[]", '["box_1","box_2"]', '["box_1"],{"box":"box_2"}', '[],{"self":"box_1"}')


def test_no_argument_reaches_the_environment_unchecked(playing: Episode, environment: SpyToy) -> None:
    calls = [f'["call",1,"agent.open",{odd if "{" in odd else odd + ",{}"}]' for odd in WRONG]
    feedback = playing.run(f"{TAKE_OVER}for call in {calls!r}:\n    say(call)\n    print(hear())\n{OPEN}print(hear())")
    assert (feedback.kind, feedback.output.count('["error","TypeError"')) == (FeedbackKind.UNFINISHED, len(WRONG))
    assert [action.args for action in environment.taken] == [("box_1",)]


@pytest.mark.parametrize("name", ["agent.verdict", "world.reset", "agent.open.__call__", ""])
def test_only_the_functions_of_the_session_can_be_called(playing: Episode, environment: SpyToy, name: str) -> None:
    feedback = playing.run(f'{TAKE_OVER}say(\'["call",1,"{name}",[],{{}}]\')\nhear()')
    assert (feedback.kind, environment.taken) == (FeedbackKind.LIMIT, [])
    assert "which the session does not have" in feedback.text


LIMITS = Limits(wall_seconds=1, cpu_seconds=1, output_chars=500, host_calls=5, memory_mb=64)


@pytest.mark.parametrize("playing", [{"limits": LIMITS}], indirect=True)
@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("wall", "while True:\n    pass"),
        ("output", 'while True:\n    say(\'["print","xxxxxxxxxx"]\')'),
        ("host_calls", f"while True:\n    {OPEN}"),
        ("sleep", "while True:\n    say('[\"sleep\",0.9]')"),
        ("memory", "kept = 'x' * 10 ** 9"),
        ("protocol", 'say(\'["end",null,[{"kind":"limit","type":"wall","message":"m"}]]\')'),
    ],
)
def test_every_limit_still_ends_a_cell(playing: Episode, environment: SpyToy, limit: str, code: str) -> None:
    feedback = playing.run(TAKE_OVER + code)
    assert feedback.kind is FeedbackKind.LIMIT
    assert [fault.type for fault in feedback.faults] in ([limit], ["cpu"] if limit == "wall" else [limit])
    assert len(feedback.output) <= LIMITS.output_chars
    assert len(environment.taken) <= LIMITS.host_calls


def test_a_model_is_asked_no_more_often_than_for_a_plan_that_always_fails(sandbox: Sandbox) -> None:
    def calls_and_outcome(plan: str) -> tuple[int, Outcome]:
        calls: list[object] = []

        def answer(messages: object, sampling: object) -> str:
            calls.append(messages)
            return f"```python\n{plan}\n```"

        ending, _ = played(sandbox, OneModel(ScriptedModel(answer)), "react", options={"iterations": 6})
        return len(calls), ending.outcome

    assert calls_and_outcome(f"{TAKE_OVER}{END}while hear():\n    {END}") == calls_and_outcome("assert False")
