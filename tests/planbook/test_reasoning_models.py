"""Code in a model's thoughts is not run. Code that was not run stays in the conversation, but is marked."""

from pathlib import Path
from typing import Any

import pytest

from planbook.planner.streaming import NOT_RUN
from tests.flows import asks, events, invoke, succeed, write_scripted_model

DRAFT, PLAN = "agent.open('box_2')", "agent.open('box_1')"
THOUGHT = f"Maybe:\n```python\n{DRAFT}\n```\nNo, that is wrong."
REPLY = f"### Plan\nOne step.\n### Code\n```python\n{PLAN}\n```"


def opened_boxes(folder: Path) -> set[str]:
    bodies: list[Any] = [event.body for event in events(folder, "act")]
    return {str(body["action"]["args"]) for body in bodies}


REPLY_FORMS = [("<think>", ()), ("<think>", ("--stream",)), ("\n<think>\n", ()), ("", ())]
"""Without an opening tag, thoughts look like a plan until they end, so such replies are not streamed."""


@pytest.mark.parametrize(("opening", "stream"), REPLY_FORMS, ids=["tag", "streamed", "lines", "no tag"])
@pytest.mark.parametrize("planner", ["automanual", "react"])
def test_code_in_thoughts_is_not_run(planner: str, stream: tuple[str, ...], opening: str, tmp_path: Path) -> None:
    text = f"{opening}{THOUGHT}\n</think>\n{REPLY}"
    model = ("--model", write_scripted_model(tmp_path, text), "--out", tmp_path / "run")
    options = ("--planner", planner, "--env", "toy", "--split", "all:1", "--planner-option")
    option = "replans=1" if planner == "automanual" else "iterations=2"
    succeed("run", *options, option, *stream, *model)
    assert opened_boxes(tmp_path / "run") == {"['box_1']"}
    for ask in asks(tmp_path / "run"):
        assert "Maybe" in ask["reply"]["reasoning"]
        assert "Maybe" not in "".join(message["content"] for message in ask["messages"])


def test_a_recorded_reply_is_not_searched_for_reasoning_again(tmp_path: Path) -> None:
    text, run = f"<think>{THOUGHT}</think>\nSo:\n</think>\n{REPLY}", tmp_path / "run"
    model = ("--model", write_scripted_model(tmp_path, text), "--out", run)
    succeed("run", "--planner", "react", "--env", "toy", "--split", "all:1", *model)
    for again in (("replay", run), ("rerun", run, "--recorded", "--out", tmp_path / "second")):
        repeated = invoke(*again, "--json")
        assert repeated.result["by_sameness"]["same"] == 1, repeated.printed


def test_an_unfinished_thought_is_not_used_as_a_plan(tmp_path: Path) -> None:
    options = ("--planner", "automanual", "--env", "toy", "--split", "all:1", "--json")
    played = succeed(
        "run", *options, "--model", write_scripted_model(tmp_path, f"<think>{THOUGHT}"), "--out", tmp_path / "run"
    )
    assert played.result["failures"] == {"parse": 1}
    assert opened_boxes(tmp_path / "run") == set()


FIRST = """### Plan
1. [Step 1] look  2. [Step 2] fetch
### Code
```python
seen = agent.open("box_1")
assert "zzz" in seen, "Step 1: no zzz in box_1"
# [Step 2] fetch it
agent.take("zzz", "box_1")
agent.put("zzz")
```
"""
SECOND = "### Code\n```python\nprint(agent.holding)\n```\n"


def test_code_that_was_not_run_is_marked_in_the_conversation(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(f"replies = {[FIRST, SECOND, SECOND, SECOND]!r}\n")
    out = tmp_path / "run"
    options = ("--split", "all:1", "--model", f"scripted:{tmp_path}/model.py:replies", "--out", out)
    succeed("run", "--planner", "automanual", "--env", "toy", *options)
    kept = [each["content"] for each in asks(out)[1]["messages"] if each["role"] == "assistant"]
    assert len(kept) == 1
    assert kept[0].replace(f"{NOT_RUN}\n", "") == FIRST
    assert kept[0].index("assert") < kept[0].index(NOT_RUN) < kept[0].index("[Step 2] fetch it")

    succeed("export", out, "--format", "chat", "--out", tmp_path / "x.chat")
    assert len((tmp_path / "x.chat").read_text().splitlines()) == 1, "one conversation"
    assert NOT_RUN not in (tmp_path / "x.chat").read_text()
