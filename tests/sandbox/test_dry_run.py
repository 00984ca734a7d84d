"""Reports of dry runs, and that they are true: plans are compared with their real runs in the toy environment.

More random plans than usual: PLANBOOK_DRY_RUNS=5000.
"""

import os
from collections.abc import Sequence
from random import Random

import pytest

from planbook.envs import Action, Selection, Task
from planbook.envs.toy import THINGS, Toy
from tests.dry_plans import Call, Writer, carried_out, followed, wrongly_told

PLANS = int(os.environ.get("PLANBOOK_DRY_RUNS", "40"))
BOXES = [f"box_{number}" for number in range(1, 6)]

TOLD = {
    "no such box": ("agent.open('box_99')", [1]),
    "the name is made of known parts": ("for n in range(90, 93):\n    agent.open(f'box_{n}')", [2]),
    "one turn of the loop succeeds": ("for n in range(3, 93):\n    agent.open(f'box_{n}')", []),
    "put what was not taken": ("agent.put('coin')", [1]),
    "put it twice": ("agent.open('box_1')\nagent.take('coin', 'box_1')\nagent.put('coin')\nagent.put('coin')", [4]),
    "take it out of a closed box": ("agent.take('coin', 'box_1')", [1]),
    "take from what was opened in one branch": (
        "if 'key' in agent.open('box_2'):\n    agent.open('box_1')\nagent.take('coin', 'box_1')",
        [],
    ),
    "take from what was opened in neither branch": (
        "if 'key' in agent.open('box_2'):\n    agent.open('box_3')\nagent.take('coin', 'box_1')",
        [3],
    ),
    "an attribute that is known": ("if agent.holding != 'nothing':\n    agent.put('coin')", []),
    "inside a branch": ("if 'key' in agent.open('box_1'):\n    agent.put('key')", [2]),
    "what a loop may have opened": (
        "for box in agent.open('box_1').split():\n    agent.open(box)\nagent.take('coin', 'box_2')",
        [],
    ),
    "what a loop cannot have opened": (
        "while 'x' not in agent.open('box_1'):\n    agent.open('box_3')\nagent.take('coin', 'box_2')",
        [3],
    ),
    "after a while that counts": (
        "n = 0\nwhile n < 3:\n    n += 1\n    agent.open('box_1')\nagent.take('coin', f'box_{n}')",
        [5],
    ),
    "a function with its arguments": ("def give(thing):\n    agent.put(thing)\ngive('coin')", [2]),
    "a function that returns what it was given": ("def same(box):\n    return box\nagent.open(same('box_77'))", [3]),
    "an action as a value": ("act = agent.put\nact('coin')", [2]),
    "an action in a table": ("ways = {'put': agent.put}\nways['put']('coin')", [2]),
    "a function that something else calls": (
        "def look(box):\n    agent.open(box)\nseen = list(map(look, ['box_1']))\nagent.take('coin', 'box_1')",
        [],
    ),
    "a generator that something else goes through": (
        "any('coin' in agent.open(box) for box in ['box_1', 'box_2'])\nagent.take('coin', 'box_2')",
        [],
    ),
    "a comprehension": (
        "[agent.open(b) for b in ['box_1']]\nagent.take('coin', 'box_1')\nagent.take('pen', 'box_2')",
        [3],
    ),
    "a list that is changed through another name": (
        "boxes = []\nsame = boxes\nsame.append('box_88')\nfor box in boxes:\n    agent.open(box)",
        [5],
    ),
    "a list that something unknown may have changed": (
        "import json\nboxes = ['box_88']\njson.dumps(boxes)\nfor box in boxes:\n    agent.open(box)",
        [],
    ),
    "a list that was emptied": ("boxes = ['box_88']\nboxes.pop()\nfor box in boxes:\n    agent.open(box)", []),
    "where an exception is caught": (
        "try:\n    agent.open('box_1')\n    int('x')\nexcept ValueError:\n    agent.take('coin', 'box_1')",
        [],
    ),
    "where an exception is caught, whatever came before": (
        "try:\n    agent.open('box_1')\nexcept ValueError:\n    agent.take('coin', 'box_1')\n    agent.open('sofa')",
        [5],
    ),
    "after a return": ("def f():\n    return 1\n    agent.put('coin')\nf()", []),
    "after a failed assertion": ("assert False\nagent.put('coin')", []),
    "a match": (
        "match agent.open('box_1'):\n    case 'a':\n        agent.open('box_2')\nagent.take('pen', 'box_2')",
        [],
    ),
    "a class that acts": (
        "class Hand:\n    def go(self):\n        agent.open('box_1')\nHand().go()\nagent.take('pen', 'box_1')",
        [],
    ),
    "recursion": (
        "def opened(n):\n    agent.open(f'box_{n}')\n    if n > 1:\n        opened(n - 1)\nopened(2)\n"
        "agent.take('pen', 'box_1')",
        [],
    ),
    "more turns than are followed": ("for n in range(2000):\n    agent.open(f'box_{n}')\n    agent.put('pen')", [3]),
}
"""A plan, and the lines that a dry run tells of."""


def task_of(number: int) -> Task:
    return Toy.select(Selection(ids=(f"fetch_two/{number}",)))[0]


@pytest.mark.parametrize("name", TOLD)
def test_it_tells_what_cannot_succeed_and_no_more(name: str) -> None:
    plan, lines = TOLD[name]
    run = followed(Toy, Toy.preconditions(task_of(0)), plan)
    assert [fault.line for fault in run.faults] == lines
    assert not wrongly_told(plan, run, carried_out(Toy(), task_of(0), plan))


def test_it_says_why_and_since_when() -> None:
    taken = "agent.open('box_1')\nagent.take('coin', 'box_1')\nagent.put('coin')\n"
    plan = f"{taken}\ndef give(x):\n    agent.put(x)\ngive('pen')"
    (fault,) = followed(Toy, Toy.preconditions(task_of(0)), plan).faults
    assert fault.message == ("put('pen'), called in give(), cannot succeed: nothing is held then since line 3")
    assert (fault.type, fault.line, fault.source.strip()) == ("cannot-succeed", 6, "agent.put(x)")


COUNTED = {
    "every call": ("agent.open('box_1')\nfor n in range(3):\n    agent.open('box_2')", (2, 0)),
    "a function that is called twice": ("def go(n):\n    agent.open(f'box_{n}')\ngo(1)\ngo(2)", (1, 0)),
    "methods": (
        "class Hand:\n    def go(self):\n        agent.open('box_1')\nHand().go()\nagent.open('box_2')",
        (1, 1),
    ),
    "an object that keeps the agent": (
        "class Hand:\n    def __init__(self, agent):\n        self.agent = agent\n    def go(self):\n"
        "        self.agent.open('box_1')\nHand(agent).go()",
        (0, 1),
    ),
    "map over an action": ("list(map(agent.open, ['box_1']))\nagent.open('box_2')", (1, 1)),
    "map over a function": ("def look(n):\n    agent.open(n)\nlist(map(look, ['box_1']))", (0, 1)),
    "getattr": ("getattr(agent, 'open')('box_1')\nagent.open('box_2')", (1, 1)),
    "another name": ("act = agent.open\nact('box_1')", (1, 0)),
    "never reached": ("if agent.holding != 'nothing':\n    agent.put('coin')\nagent.open('box_1')", (1, 1)),
}
"""A plan, and how many of its calls are followed, and how many are not."""


@pytest.mark.parametrize("name", COUNTED)
def test_it_says_how_many_calls_were_not_followed(name: str) -> None:
    plan, counts = COUNTED[name]
    run = followed(Toy, Toy.preconditions(task_of(0)), plan)
    assert (run.calls, run.unfollowed, run.faults) == (*counts, ())


def test_a_call_that_fails_whoever_makes_it_is_told_once() -> None:
    plan = "def go(n):\n    if n == 0:\n        return agent.open('box_99')\n    return go(n - 1)\ngo(2)"
    run = followed(Toy, Toy.preconditions(task_of(0)), plan)
    assert [fault.message for fault in run.faults] == ["open('box_99') cannot succeed: there is no box_99"]
    assert (run.calls, run.unfollowed) == (1, 0)


def test_what_is_too_long_to_follow_is_not_told_of() -> None:
    loops = "".join(f"{'    ' * depth}for a_{depth} in range(50):\n" for depth in range(4))
    run = followed(Toy, Toy.preconditions(task_of(0)), f"agent.put('pen')\n{loops}{'    ' * 4}agent.open('box_1')\n")
    assert (run.followed, run.faults) == (False, ())


def likely_calls(task: Task) -> tuple[Call, list[str]]:
    """Calls about three things, mostly with the boxes that they are in, so that many of them succeed."""
    environment = Toy()
    environment.reset(task)
    seen = {box: environment.act(Action("open", (box,))).text for box in BOXES[:4]}
    homes = [(thing, box) for box, text in seen.items() for thing in THINGS if thing in text.partition("see ")[2]][:3]

    def call(dice: Random, names: Sequence[str]) -> str:
        thing, box = map(repr, dice.choice(homes))
        if names and dice.random() < 0.3:
            thing, box = dice.choice([(names[-1], box), (thing, names[-1])])
        return dice.choice([f"agent.open({box})", f"agent.take({thing}, {box})", f"agent.put({thing})"])

    return call, [word for home in homes for word in home]


def test_nothing_is_told_that_the_environment_contradicts() -> None:
    told = 0
    for number in range(PLANS):
        task = task_of(number % 7)
        call, words = likely_calls(task)
        plan = Writer(Random(number), call, words).plan()
        run = followed(Toy, Toy.preconditions(task), plan)
        assert not wrongly_told(plan, run, carried_out(Toy(), task, plan)), number
        told += len(run.faults)
    assert told > PLANS, "the dry runs told too little to be a test"
