"""ADaPT's prompts fit a context of 4,096 tokens, since dispensable parts are left out."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from planbook.planner import Message, Sampling
from planbook.planner.models.types import estimate_prompt
from tests.flows import asks, invoke

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
    done = invoke("run", *arguments, *options, *stepwise, "--out", tmp_path / "run")
    assert done.returncode == 0, done.printed
    asked = asks(tmp_path / "run")
    assert {each["role"] for each in asked} == {"executor", "planner"}
    for each in asked:
        messages = [Message.model_validate({name: m[name] for name in ("role", "content")}) for m in each["messages"]]
        assert estimate_prompt(messages) <= CONTEXT - REPLY
        assert "cut here to fit the context" not in "".join(message.content for message in messages)
        first = next(message.content for message in messages if message.role == "user")
        assert "ubtask" in first
