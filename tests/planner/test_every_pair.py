"""Every planning method plays in every environment with useless replies. It asks its models, and nothing breaks."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from planbook.envs import Environment, Selection, load_environment
from planbook.manuals.procedures import DemonstratingMemory
from planbook.planner import (
    METHODS,
    Message,
    NoMemory,
    Outcome,
    Sampling,
    ScriptedModel,
    method,
)
from planbook.sandbox import Limits, Sandbox
from tests.browser import need_browser
from tests.planner.episode_kit import OneModel, played

TASKS = {
    "alfworld": "generated/pick_and_place/0",
    "crafter": "survive/0",
    "minecraft": "MT1/chest/0",
    "shopping": "dev/500",
    "tabletop": "put_block_in_bowl/0",
    "textcraft": "test/17",
    "toy": "fetch/0",
}
IN_A_BROWSER = {"miniwob": "click-button/1", "web": "ticket_field/1"}
ASKING = sorted(name for name, each in METHODS.items() if each.roles)
REPLIES = {
    "nothing": "",
    "prose": "I would first think about the weather.",
    "no end": "```python\nwhile True:\n    pass\n```",
    "a break-in": "```python\nimport os\n().__class__.__base__.__subclasses__()\n```",
    "a plan without steps": "Execution Order: Step 1 OR\n```python\nfinish(True)\n```\nAnswer: 99",
}

QUICK = (("toy", "a break-in"), ("shopping", "a break-in"))
ON_THE_WEB = (("devils-advocate", "web", "prose"),)


@pytest.mark.parametrize(
    ("environment_name", "reply"),
    [
        pytest.param(*pair, marks=[] if pair[1] == "prose" or pair in QUICK else [pytest.mark.deep])
        for pair in product(TASKS, REPLIES)
    ],
)
@pytest.mark.parametrize("planner", ASKING)
def test_no_reply_breaks_an_episode(sandbox: Sandbox, planner: str, environment_name: str, reply: str) -> None:
    check_episode(sandbox, load_environment(environment_name)(), TASKS[environment_name], planner, reply)


@pytest.fixture(scope="module")
def in_a_browser() -> Iterator[dict[str, Environment]]:
    need_browser()
    environments = {name: load_environment(name)() for name in IN_A_BROWSER}
    yield environments
    for environment in environments.values():
        environment.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("planner", "environment_name", "reply"),
    [
        pytest.param(*each, marks=[] if each[1:] == ("miniwob", "prose") or each in ON_THE_WEB else [pytest.mark.deep])
        for each in product(ASKING, IN_A_BROWSER, ("prose", "a plan without steps"))
    ],
)
def test_no_reply_breaks_an_episode_on_pages(
    sandbox: Sandbox, in_a_browser: dict[str, Environment], planner: str, environment_name: str, reply: str
) -> None:
    check_episode(sandbox, in_a_browser[environment_name], IN_A_BROWSER[environment_name], planner, reply)


def check_episode(sandbox: Sandbox, environment: Environment, task_id: str, planner: str, reply: str) -> None:
    """Play an episode in which every model gives the same reply. Nothing breaks, and nothing is solved."""
    (task,) = environment.select(Selection(ids=(task_id,)))
    chosen = method(planner)
    prompts: list[str] = []

    def answer(messages: Sequence[Message], sampling: Sampling) -> str:
        prompts.append("\n".join(message.content for message in messages))
        return REPLIES[reply]

    short = {"iterations": 1, "d_max": 2, "replans": 1, "rounds": 1, "controller_steps": 1}
    ending, _ = played(
        sandbox,
        OneModel(ScriptedModel(answer)),
        planner,
        options={name: value for name, value in short.items() if name in chosen.options.model_fields},
        environment=environment,
        task=task,
        memory=DemonstratingMemory(NoMemory(), chosen.demonstrations),
        actions=5,
        limits=Limits(wall_seconds=0.2, cpu_seconds=0.2),
    )
    assert ending.outcome in (Outcome.FAILURE, Outcome.OUT_OF_BUDGET), ending.message
    assert all(environment.about in prompt for prompt in prompts if "# The environment" in prompt)
    assert any(environment.about in prompt for prompt in prompts)


def test_a_method_imports_only_its_own_family() -> None:
    code = (
        "import sys; from planbook.planner import METHODS, method; method('code'); 'lats' in METHODS; "
        "print([name for name in sys.modules if '.strategies.' in name or '.planner.graph' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.findall(r"\.(\w+)'", done.stdout) == ["figures", "base", "without_model"]
