"""Code that a model drafts while it thinks is never run, whichever way the thoughts come."""

from pathlib import Path
from typing import Any

import pytest

from tests.flows import asks, events, here, saying

DRAFT, PLAN = "agent.open('box_2')", "agent.open('box_1')"
THOUGHT = f"Maybe:\n```python\n{DRAFT}\n```\nNo, that is wrong."
REPLY = f"### Plan\nOne step.\n### Code\n```python\n{PLAN}\n```"


def opened(folder: Path) -> set[str]:
    bodies: list[Any] = [event.body for event in events(folder, "act")]
    return {str(body["action"]["args"]) for body in bodies}


WAYS = [("<think>", ()), ("<think>", ("--stream",)), ("\n<think>\n", ()), ("", ())]
"""Without an opening tag nothing tells thoughts from a plan while they come, so that is not streamed."""


@pytest.mark.parametrize(("opening", "stream"), WAYS, ids=["tag", "streamed", "lines", "no tag"])
@pytest.mark.parametrize("planner", ["automanual", "react"])
def test_what_a_model_thinks_is_not_run(planner: str, stream: tuple[str, ...], opening: str, tmp_path: Path) -> None:
    text = f"{opening}{THOUGHT}\n</think>\n{REPLY}"
    model = ("--model", saying(tmp_path, text), "--out", tmp_path / "run")
    given = ("--planner", planner, "--env", "toy", "--split", "all:1", "--planner-option")
    option = "replans=1" if planner == "automanual" else "iterations=2"
    played = here("run", *given, option, *stream, *model)
    assert played.returncode == 0, played.printed
    assert opened(tmp_path / "run") == {"['box_1']"}
    for ask in asks(tmp_path / "run"):
        assert "Maybe" in ask["reply"]["reasoning"]
        assert "Maybe" not in "".join(message["content"] for message in ask["messages"])


def test_a_thought_without_an_end_is_no_plan(tmp_path: Path) -> None:
    given = ("--planner", "automanual", "--env", "toy", "--split", "all:1", "--json")
    played = here("run", *given, "--model", saying(tmp_path, f"<think>{THOUGHT}"), "--out", tmp_path / "run")
    assert played.returncode == 0, played.printed
    assert played.result["failures"] == {"parse": 1}
    assert opened(tmp_path / "run") == set()
