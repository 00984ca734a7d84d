"""A seed gives the same environment in every process, whatever the seed of Python's hashes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = {
    "alfworld": """
from planbook.envs.alfworld import generated
from planbook.envs.alfworld.generated import TYPES
print([dict(generated.make_game(kind, seed).data) for kind in TYPES for seed in (0, 7)])
""",
    "crafter": """
from itertools import islice
from tests.envs.crafter_games import random_actions, started
environment = started(4)
texts = [environment.act(action).text for action in islice(random_actions(environment, 4), 120)]
assert all("Beside you" in text for text in texts)
print(texts, environment.game.land.random.random_sample())
""",
    "minecraft": """
from tests.minecraft_plans import TO_DIAMOND, act_all, start_task
environment = start_task()
print(environment.scene(), [each.text for each in act_all(environment, TO_DIAMOND)], environment.state())
""",
    "shopping": """
import time
from planbook.envs.shopping.catalogue import generated_shop
from planbook.envs.shopping.environment import search_index
start = time.process_time()
shop = generated_shop()
assert time.process_time() - start < 1
print(shop, [search_index("", "", "").results(wish.sentence) for wish in shop.wishes[:20]])
""",
    "tabletop": """
from planbook.envs import Selection
from planbook.envs.tabletop import Tabletop
environment, tasks = Tabletop(), Tabletop.tasks(Selection(seeds=tuple(range(8))))
assert len(tasks) == 40
for task in tasks:
    print(environment.reset(task).text, environment.state(), environment.things(), environment.places())
""",
    "textcraft": """
import sys
from planbook.envs import Selection, load_environment
environment = load_environment("textcraft")
assert not {"textcraft", "gymnasium"} & set(sys.modules), "imported before it is needed"
for split in environment.splits:
    print([environment().reset(task).text for task in environment.select(Selection(split=split))])
""",
}


@pytest.mark.parametrize(
    "env", [pytest.param(env, marks=[pytest.mark.deep] * (env in ("crafter", "textcraft"))) for env in PROGRAMS]
)
def test_a_seed_gives_the_same_environment_in_every_process(env: str) -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAMS[env]],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for seed in ("1", "77")
    ]
    assert printed[0] == printed[1] != b""
