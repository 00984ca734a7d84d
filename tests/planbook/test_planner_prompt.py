"""The planner's first prompt on ALFWorld with the learned library: its length, its text, and its rules."""

import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.envs.alfworld import Alfworld
from planbook.knowledge import learned_state
from planbook.planner.models.types import Message, estimate_prompt
from planbook.rules.learned_memory import LearnedMemory
from planbook.runs import Run
from tests.flows import asks, command_of, invoke, write_scripted_model

GOLDEN = Path(__file__).with_name("planner_prompt.md")
"""The prompt of the task generated/pick_cool_then_place/1. Write this file anew after an intended change."""
MAX_TOKENS = 4_535
"""Half of the tokens that the longest first prompt had when it still contained all rules."""
TYPES = ("pick_and_place", "pick_clean_then_place", "pick_heat_then_place", "look_at_obj", "pick_two_obj")
COOL = "pick_cool_then_place"


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The messages of the first request of one episode for each type."""
    folder = tmp_path_factory.mktemp("prompts")
    model = (
        "--model",
        write_scripted_model(folder, "### Code\n```python\nagent.look()\n```"),
        "--planner-option",
        "replans=0",
    )
    found = {}
    for kind in (*TYPES, COOL):
        task = ("--env", "alfworld", "--split", "generated", "--task", f"generated/{kind}/1", "--library", "learned")
        assert invoke("run", "--planner", "automanual", *task, *model, "--out", folder / kind).returncode == 0
        found[kind] = asks(folder / kind)[0]["messages"]
    return found


@pytest.mark.parametrize("kind", [*TYPES, COOL])
def test_the_first_prompt_is_short_and_shows_no_code_twice(prompts: dict[str, Any], kind: str) -> None:
    messages = [Message.model_validate(each) for each in prompts[kind]]
    assert estimate_prompt(messages) <= MAX_TOKENS
    assert not re.search("[\x00-\x08]", "".join(each.content for each in messages))
    definitions = re.findall(r"^def (\w+)", messages[-1].content, re.MULTILINE)
    assert set(Counter(definitions).values()) == {1}


def test_the_first_message_is_the_same_for_every_task(prompts: dict[str, Any]) -> None:
    """A server that caches the beginnings of prompts processes this message only once."""
    assert len({messages[0]["content"] for messages in prompts.values()}) == 1


def test_the_prompt_equals_its_golden_file(prompts: dict[str, Any]) -> None:
    assert "\n\n".join(message["content"] for message in prompts[COOL]) + "\n" == GOLDEN.read_text()


def test_the_chosen_rules_include_those_that_recorded_planners_cited(tmp_path: Path) -> None:
    """The recording needs neither downloaded games nor a browser. Of the 25 cited rules, 24 were included so far."""
    name = "alfworld-generated"
    invoke(*command_of(name), "--model", f"recorded:{name}", "--no-procedures", "--out", tmp_path / "run")
    cited = found = 0
    with closing(Run.open(tmp_path / "run")) as built:
        for entry in built.entries():
            known = learned_state(built, entry.index).knowledge
            chosen = LearnedMemory(known, Alfworld, by_task=True).recall(entry.task).rule_ids
            named = [id for id in _cited(tmp_path / "run", entry.index) if id in {rule.id for rule in known.rules}]
            cited, found = cited + len(named), found + len(set(named) & set(chosen))
    assert cited > 20
    assert found / cited >= 0.95


def _cited(run: Path, index: int) -> set[str]:
    plans = asks(run, "planner", "automanual/task")
    segment = re.search(r"### Rules(.*?)###", plans[index]["reply"]["text"], re.DOTALL)
    return set(re.findall(r"rule_\d+", segment[1])) if segment else set()
