"""Goals are read from plan code. Reading them never changes the environment, whatever the reply contains."""

import time
from collections.abc import Iterator, Sequence

import pytest

from planbook.envs import Action
from planbook.envs.toy import Toy
from planbook.planner import Episode
from planbook.planner.strategies.deps.goals import MAX_GOALS, Goal, collect
from planbook.planner.strategies.deps.text_matching import GoalMatcher
from planbook.sandbox import Limits, Sandbox
from tests.planner.camp import PICKAXE_TASK, Camp, CampGoals, code
from tests.planner.episode_kit import started

SAND = Action("mine", ({"sand": 1}, None))
LOG = Action("mine", ({"log": 1}, None))


@pytest.fixture
def episode(sandbox: Sandbox) -> Iterator[Episode]:
    limits = Limits(wall_seconds=30, cpu_seconds=0.5)
    with started(sandbox, environment=Camp(), task=PICKAXE_TASK, limits=limits) as playing:
        yield playing
        assert playing.environment.history == []


def collected(episode: Episode, reply: str) -> tuple[Goal, ...]:
    return collect(episode, "planner", reply).goals


def actions(episode: Episode, reply: str) -> list[Action]:
    return [goal.action for goal in collected(episode, reply)]


def test_each_call_becomes_a_goal_with_its_line(episode: Episode) -> None:
    goals = collected(episode, code("# step 1: sand\nagent.mine({'sand': 1})\n\nagent.mine(tool=None, obj={'log': 1})"))
    assert [(goal.action, goal.line, goal.source, goal.said) for goal in goals] == [
        (SAND, 2, "agent.mine({'sand': 1})", ""),
        (LOG, 4, "agent.mine(tool=None, obj={'log': 1})", ""),
    ]


@pytest.mark.parametrize(
    "plan",
    [
        "def obtain(inventory={}):\n    agent.mine({'sand': 1}, null);  # step 1\n    return 'sand'",
        "def helper(n):\n    return n\n\ndef obtain():\n    mine({'sand': helper(1)})",
        "for kind in ('sand',):\n    if kind not in agent.inventory():\n        agent.mine({kind: 1})",
        "collect = agent.mine\nagent.mine({'sand': 1}, None)",
    ],
)
def test_any_python_that_names_goals_is_read(episode: Episode, plan: str) -> None:
    assert actions(episode, code(plan)) == [SAND]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("agent.mine_sand(1)", SAND),
        ("agent.mine('sand', 1, 'shovel')", SAND),
        ("agent.mine(\n    'log',\n    1,\n)", LOG),
    ],
)
def test_an_invalid_call_is_read_as_the_most_similar_goal(episode: Episode, line: str, meant: Action) -> None:
    goals = collected(episode, code(f"agent.craft({{'box': 1}}, {{'planks': 4}})\n{line}"))
    assert [goal.action for goal in goals][1:] == [meant]
    assert goals[0].said == ""
    assert goals[1].said == goals[1].source == " ".join(map(str.strip, line.split("\n")))
    assert goals[1].line == 2


@pytest.mark.parametrize(
    "reply",
    [
        "The plan is this:\nstep 1: mine 1 sand\nstep 2: mine 1 log\nGood luck!",
        "1. mine 1 sand\n2. agent.mine({'log': 1})",
        "- mine sand\n- mine log",
        "- agent.mine({'sand': 1})\n- agent.mine({'log': 1})",
        "#1 mine 1 sand\n#2 mine 1 log",
        code("# step 1: sand\nmine 1 sand\nagent.mine({'log': 1})  # step 2"),
        code("def obtain():\nmine({'sand':1}, null); # step 1\nmine({'log':1}, null); # step 2\nreturn log"),
    ],
)
def test_a_list_that_is_not_python_is_read_line_by_line(episode: Episode, reply: str) -> None:
    assert actions(episode, reply) == [SAND, LOG]


@pytest.mark.parametrize(
    "reply",
    [
        "agent.mine({'sand': 1})\nmine 1 log\n\nGood luck!",
        "Sand first.\nagent.mine({'sand': 1})\n2. agent.mine({'log': 1})\nGood luck!",
        "Sand first.\nagent.mine({'sand': 1});  # one\nagent.mine({'log': 1})\nGood luck!",
        "def obtain():\n    agent.mine({'sand': 1})\n\nmine 1 log\nGood luck!",
    ],
)
def test_without_a_fence_the_lines_below_the_code_are_read_too(episode: Episode, reply: str) -> None:
    plan = collect(episode, "planner", reply)
    assert [goal.action for goal in plan.goals] == [SAND, LOG]
    assert plan.unmatched == ("Good luck!",)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("I cannot do that, it is too hard.", "no Python code"),
        ("Twice:\nfor n in range(2):\n    agent.mine({'log': 1})\nGood luck!", "begins with ```python"),
        (
            'def do():\n    """\n    mine({"sand": 1})\n    """\n    mine({"log": 1})\nGood luck!',
            "begins with ```python",
        ),
        (code("def obtain(inventory):\n    agent.mine({'sand': 1})"), "only defines obtain, which takes arguments"),
        (code("class Plan:\n    pass\nimport math"), "nothing in it names a goal"),
        (code("x = 1"), "names no goal"),
        (code("pass"), "the plan does nothing"),
        (code("agent.fly_away_over_the_hills('now')"), "these lines name no goal"),
        ("1. sing a song about the moon and the stars", "these lines name no goal"),
        (code("for n in range(5000):\n    unclear('sand and moon and all that' * n)"), f"more than {MAX_GOALS} goals"),
        (code("agent.mine({'log': 1})\nwhile True:\n    pass"), "0.5 s of processor time"),
        (code("assert 'You mine' in agent.mine({'log': 1})"), "only lists goals"),
        (code("agent = 1\nagent.mine({'log': 1})"), "agent"),
        (code("import os\nos.system('true')\nagent.mine({'log': 1})"), "os"),
        (code("kinds = ['log']\nagent.mine(kinds)"), "argument 'obj'"),
        ("x" * 2_000_000, "characters"),
    ],
)
def test_a_reply_without_goals_is_refused_with_a_reason(episode: Episode, reply: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        collected(episode, reply)
    assert message in str(refused.value)


def test_at_most_a_hundred_goals_are_taken(episode: Episode) -> None:
    assert len(collected(episode, code(f"for n in range({MAX_GOALS}):\n    agent.mine({{'log': 1}})"))) == MAX_GOALS
    with pytest.raises(ValueError, match=f"more than {MAX_GOALS} goals"):
        collected(episode, code(f"for n in range({MAX_GOALS + 1}):\n    agent.mine({{'log': 1}})"))


def test_an_environment_without_known_goals_refuses_invalid_calls(sandbox: Sandbox) -> None:
    known = r"agent\.opne\('box_1'\)\nThe goals are agent\.open, agent\.take, agent\.put"
    with started(sandbox, environment=Toy()) as playing:
        assert actions(playing, code("agent.open('box_1')\nagent.put('key')")) == [
            Action("open", ("box_1",)),
            Action("put", ("key",)),
        ]
        with pytest.raises(ValueError, match=known):
            collected(playing, code("agent.opne('box_1')"))
        assert playing.environment.history == []


class ManyGoals(CampGoals):
    def list_goals(self) -> Sequence[Action]:
        return [Action("mine", ({f"kind_{number}": 1}, None)) for number in range(2_000)]


def test_long_lines_are_compared_quickly() -> None:
    goals, start = ManyGoals(Camp()), time.thread_time()
    matcher = GoalMatcher(goals)
    assert matcher.match("x" * 1_000_000) is None
    assert matcher.match("mine " + "kind, " * 100_000) is None
    assert matcher.match("mine kind 7") == goals.list_goals()[7]
    assert time.thread_time() - start < 2
