"""What prompts contain: chosen examples and rules, no code twice, and no more than fits the context."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from planbook.envs.alfworld import Alfworld
from planbook.knowledge import learned_state
from planbook.planner import Message, Sampling
from planbook.planner.models.types import estimate_prompt
from planbook.rules.learned_memory import LearnedMemory
from planbook.runs import Run
from tests.flows import asks, command_of, invoke, succeed, write_scripted_model

NOTE = "The examples may contain more actions in a reply."


def idle_executor(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply like an executor that does nothing."""
    return "I wait.\n\n```python\nfinish(False)\n```"


@pytest.mark.parametrize(
    ("chosen", "demonstrations", "titles"),
    [
        (("textcraft", "--split", "test:1"), "task", ["Craft several times", "A whole task: wooden axe"]),
        (("alfworld", "--task", "generated/pick_two_obj/0"), "task", ["One task", "Another task"]),
        (
            ("alfworld", "--split", "generated:1"),
            "hybrid",
            ["Put", "A whole task: heat", "A whole task: examine with a lamp"],
        ),
    ],
)
def test_with_one_action_per_reply_each_example_reply_has_one_action(
    chosen: Sequence[str], demonstrations: str, titles: list[str], tmp_path: Path
) -> None:
    prompt = _prompt(tmp_path, chosen, demonstrations)
    assert set(titles) <= set(re.findall("^## (.*)", prompt, re.MULTILINE))
    assert NOTE not in prompt
    assert not re.search("^(for|while) ", prompt, re.MULTILINE)


def test_without_such_examples_longer_ones_are_shown_with_a_note(tmp_path: Path) -> None:
    prompt = _prompt(tmp_path, ("toy", "--seeds", "0"), "hybrid")
    assert NOTE in prompt
    assert "## " in prompt.partition(NOTE)[2]


def _prompt(folder: Path, chosen: Sequence[str], demonstrations: str) -> str:
    options = [f"--planner-option={each}" for each in ("actions_per_reply=1", f"demonstrations={demonstrations}")]
    model = f"scripted:{__file__}:{idle_executor.__name__}"
    invoke("run", "--planner", "react", "--env", *chosen, *options, "--model", model, "--out", folder / "run")
    text = asks(folder / "run")[0]["messages"][0]["content"]
    assert isinstance(text, str)
    return text


CONTEXT, REPLY = 4096, 500


def unsure(look: str, messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply like an executor that only looks around, or like a planner that plans a single step."""
    if "Execution Order" in messages[0].content:
        return "Step 1: Look around once more\nExecution Order: (Step 1)"
    return f"{'I look around before I decide. ' * 10}\n\n```python\n{look}\n```"


alfworld = partial(unsure, "agent.look()")
textcraft = partial(unsure, "print(agent.inventory())")
shopping = partial(unsure, "agent.search('a lamp')")


@pytest.mark.parametrize("actions", [None, 1])
@pytest.mark.parametrize("environment", ["alfworld", "textcraft", "shopping"])
def test_the_prompts_of_adapt_fit_four_thousand_tokens(environment: str, actions: int | None, tmp_path: Path) -> None:
    split = {"alfworld": "generated:1", "textcraft": "test:1", "shopping": "test:1"}[environment]
    arguments = f"--planner adapt --env {environment} --split {split} --model scripted:{__file__}:{environment}".split()
    options = f"--sampling context={CONTEXT} --sampling max_tokens={REPLY} --planner-option d_max=2".split()
    stepwise = ["--planner-option", f"actions_per_reply={actions}"] if actions else []
    succeed("run", *arguments, *options, *stepwise, "--out", tmp_path / "run")
    asked = asks(tmp_path / "run")
    assert {each["role"] for each in asked} == {"executor", "planner"}
    for each in asked:
        messages = [Message.model_validate({name: m[name] for name in ("role", "content")}) for m in each["messages"]]
        assert estimate_prompt(messages) <= CONTEXT - REPLY
        assert "cut here to fit the context" not in "".join(message.content for message in messages)
        first = next(message.content for message in messages if message.role == "user")
        assert "ubtask" in first


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
        succeed("run", "--planner", "automanual", *task, *model, "--out", folder / kind)
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
