"""A dry run tells only what is so: random plans, held against what becomes of them in the toy world."""

import os
from collections.abc import Sequence
from random import Random

from envs.toy import THINGS, Toy
from envs.types import Selection, Task
from tests.dry_plans import Writer, carried_out, followed, wrongly_told

PLANS = int(os.environ.get("PLANBOOK_DRY_RUNS", "300"))
BOXES = [f"box_{number}" for number in range(1, 6)]


def task_of(number: int) -> Task:
    return Toy.select(Selection(ids=(f"fetch_two/{number}",)))[0]


def call(dice: Random, names: Sequence[str]) -> str:
    thing = dice.choice([*names, *map(repr, THINGS[:3])])
    box = dice.choice([*names, *map(repr, BOXES)])
    return dice.choice([f"agent.open({box})", f"agent.take({thing}, {box})", f"agent.put({thing})"])


def test_nothing_is_told_that_the_world_contradicts() -> None:
    told = 0
    for number in range(PLANS):
        plan = Writer(Random(number), call, [*THINGS[:3], *BOXES[:3]]).plan()
        task = task_of(number % 7)
        run = followed(Toy, Toy.preconditions(task), plan)
        assert not wrongly_told(plan, run, carried_out(Toy(), task, plan)), number
        told += len(run.faults)
    assert told > PLANS, "the dry runs told too little to be a test"
