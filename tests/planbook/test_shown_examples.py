"""The options of a run decide which examples an executor is shown."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from planbook.planner import Message, Sampling
from tests.flows import asks, invoke

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
