"""Code that a model drafts while it thinks is never run, whichever way the thoughts come."""

from pathlib import Path

import pytest

from planbook.runs import Run
from tests.flows import asks, here

DRAFT, PLAN = "agent.open('box_2')", "agent.open('box_1')"
THOUGHT = f"Maybe:\n```python\n{DRAFT}\n```\nNo, that is wrong."
REPLY = f"### Plan\nOne step.\n### Code\n```python\n{PLAN}\n```"


def opened(folder: Path) -> set[str]:
    run = Run.open(folder)
    try:
        return {str(event.body["action"]["args"]) for event in run.store.events(kind="act")}  # type: ignore[index,call-overload]
    finally:
        run.close()


@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=["whole", "streamed"])
@pytest.mark.parametrize("planner", ["automanual", "react"])
@pytest.mark.parametrize("opening", ["<think>", "\n<think>\n", ""])
def test_what_a_model_thinks_is_not_run(planner: str, stream: tuple[str, ...], opening: str, tmp_path: Path) -> None:
    if stream and not opening:
        pytest.skip("without an opening tag nothing tells thoughts from a plan while they come")
    text = f"{opening}{THOUGHT}\n</think>\n{REPLY}"
    (tmp_path / "model.py").write_text(f"def answer(messages, sampling):\n    return {text!r}\n")
    given = ("--planner", planner, "--env", "toy", "--split", "all:1", "--planner-option")
    option = "replans=1" if planner == "automanual" else "iterations=2"
    played = here("run", *given, option, *stream, "--model", f"scripted:{tmp_path}/model.py:answer",
                  "--out", tmp_path / "run")  # fmt: skip
    assert played.returncode == 0, played.printed
    assert opened(tmp_path / "run") == {"['box_1']"}
    for ask in asks(tmp_path / "run"):
        assert "Maybe" in ask["reply"]["reasoning"]
        assert "Maybe" not in "".join(message["content"] for message in ask["messages"])


def test_a_thought_without_an_end_is_no_plan(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(f"def answer(messages, sampling):\n    return {'<think>' + THOUGHT!r}\n")
    played = here("run", "--planner", "automanual", "--env", "toy", "--split", "all:1", "--model",
                  f"scripted:{tmp_path}/model.py:answer", "--out", tmp_path / "run", "--json")  # fmt: skip
    assert played.returncode == 0, played.printed
    assert played.result["failures"] == {"parse": 1}
    assert opened(tmp_path / "run") == set()
