"""Goals out of plan code: nothing in the environment happens meanwhile, whatever the reply holds."""

import time
from collections.abc import Iterator, Sequence

import pytest

from planbook.envs import Action, Selection
from planbook.envs.toy import Toy
from planbook.planner import Episode, EpisodeSettings, MemoryJournal
from planbook.planner.strategies.deps.goals import MAX_GOALS, Goal, collect
from planbook.planner.strategies.deps.text_matching import GoalMatcher
from planbook.sandbox import Limits, Sandbox
from tests.planner.camp import Camp, CampGoals, code

SAND = Action("mine", ({"sand": 1}, None))
LOG = Action("mine", ({"log": 1}, None))


@pytest.fixture
def episode(sandbox: Sandbox) -> Iterator[Episode]:
    task, settings = (
        Camp.tasks(Selection())[0],
        EpisodeSettings(actions=30, limits=Limits(wall_seconds=30, cpu_seconds=0.5)),
    )
    played = Episode(task, Camp(), sandbox, MemoryJournal(), settings=settings)
    played.begin()
    yield played
    assert played.environment.history == []
    played.close()


def collected(episode: Episode, reply: str) -> tuple[Goal, ...]:
    return collect(episode, "planner", reply).goals


def actions(episode: Episode, reply: str) -> list[Action]:
    return [goal.action for goal in collected(episode, reply)]


def test_calls_become_goals_with_the_lines_they_stand_in(episode: Episode) -> None:
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
        "import math\nx = math.floor(1.5)\nagent.mine({'sand': x})",
    ],
)
def test_any_python_that_names_goals_will_do(episode: Episode, plan: str) -> None:
    assert actions(episode, code(plan)) == [SAND]


def test_a_reply_in_which_nothing_calls_the_function_is_asked_for_again_where_it_takes_arguments(
    episode: Episode,
) -> None:
    with pytest.raises(ValueError, match="only defines obtain, which takes arguments"):
        collected(episode, code("def obtain(inventory):\n    agent.mine({'sand': 1})"))
    with pytest.raises(ValueError, match="nothing in it names a goal"):
        collected(episode, code("class Plan:\n    pass\nimport math"))


@pytest.mark.parametrize(
    ("line", "taken_for"),
    [
        ("agent.mien({'sand': 1})", SAND),
        ("agent.mine_sand(1)", SAND),
        ("agent.mine('sand', 1, 'shovel')", SAND),
        ("agent.mine(1, 'log')", LOG),
        ("dig(log, mine=1)", LOG),
        ("agent.mine(\n    'log',\n    1,\n)", LOG),
    ],
)
def test_what_is_no_valid_call_is_taken_for_the_nearest_goal(episode: Episode, line: str, taken_for: Action) -> None:
    goals = collected(episode, code(f"agent.craft({{'box': 1}}, {{'planks': 4}})\n{line}"))
    assert [goal.action for goal in goals][1:] == [taken_for]
    assert goals[0].said == ""
    assert goals[1].said == goals[1].source == " ".join(map(str.strip, line.split("\n")))
    assert goals[1].line == 2


@pytest.mark.parametrize(
    "reply",
    [
        "The plan is this:\nstep 1: mine 1 sand\nstep 2: mine 1 log\nGood luck!",
        "1. mine 1 sand\n2. agent.mine({'log': 1})",
        "- mine sand\n- mine log",
        "#1 mine 1 sand\n#2 mine 1 log",
        code("# step 1: sand\nmine 1 sand\nagent.mine({'log': 1})  # step 2"),
        code("def obtain():\nmine({'sand':1}, null); # step 1\nmine({'log':1}, null); # step 2\nreturn log"),
    ],
)
def test_a_list_that_is_no_python_is_read_line_by_line(episode: Episode, reply: str) -> None:
    assert actions(episode, reply) == [SAND, LOG]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "no Python code"),
        ("I cannot do that, it is too hard.", "no Python code"),
        (code("x = 1"), "names no goal"),
        (code("pass"), "the plan does nothing"),
        (code("agent.fly_away_over_the_hills('now')"), "these lines name no goal"),
        ("1. sing a song about the moon and the stars", "these lines name no goal"),
        (code("while 'log' not in agent.inventory():\n    agent.mine({'log': 1})"), f"more than {MAX_GOALS} goals"),
        (code("for n in range(5000):\n    unclear('sand and moon and all that' * n)"), f"more than {MAX_GOALS} goals"),
        (code("agent.mine({'log': 1})\nwhile True:\n    pass"), "0.5 s of processor time"),
        (code("assert 'You mine' in agent.mine({'log': 1})"), "only listed at first"),
        (code("agent = 1\nagent.mine({'log': 1})"), "agent"),
        (code("agent.mine = print"), "agent"),
        (code("x = agent.mine.__globals__"), "__globals__"),
        (code("import os\nos.system('true')\nagent.mine({'log': 1})"), "os"),
        (code("kinds = ['log']\nagent.mine(kinds)"), "argument 'obj'"),
        (code("```" * 3), ""),
        ("x" * 2_000_000, "characters"),
    ],
)
def test_a_reply_that_names_no_goals_is_refused_with_a_reason(episode: Episode, reply: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        collected(episode, reply)
    assert why in str(refused.value)


def test_every_goal_up_to_the_bound_is_taken(episode: Episode) -> None:
    assert len(collected(episode, code(f"for n in range({MAX_GOALS}):\n    agent.mine({{'log': 1}})"))) == MAX_GOALS
    with pytest.raises(ValueError, match=f"more than {MAX_GOALS} goals"):
        collected(episode, code(f"for n in range({MAX_GOALS + 1}):\n    agent.mine({{'log': 1}})"))


def test_an_environment_that_knows_no_goals_has_every_line_mended(sandbox: Sandbox) -> None:
    playing = Episode(
        Toy.tasks(Selection(ids=("fetch/0",)))[0], Toy(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=30)
    )
    playing.begin()
    assert actions(playing, code("agent.open('box_1')\nagent.put('key')")) == [
        Action("open", ("box_1",)),
        Action("put", ("key",)),
    ]
    with pytest.raises(ValueError, match=r"agent\.opne\('box_1'\)\nThe goals are agent\.open, agent\.take, agent\.put"):
        collected(playing, code("agent.opne('box_1')"))
    assert playing.environment.history == []
    playing.close()


class ManyGoals(CampGoals):
    def known(self) -> Sequence[Action]:
        return [Action("mine", ({f"kind_{number}": 1}, None)) for number in range(2_000)]


def test_long_lines_are_compared_in_a_moment() -> None:
    goals, begun = ManyGoals(Camp()), time.thread_time()
    likeness = GoalMatcher(goals)
    assert likeness.nearest("x" * 1_000_000) is None
    assert likeness.nearest("mine " + "kind, " * 100_000) is None
    assert likeness.nearest("mine kind 7") == goals.known()[7]
    assert time.thread_time() - begun < 2
