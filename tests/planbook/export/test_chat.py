"""`planbook export --format chat` writes conversations in the format of fine-tuning tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from planbook.export.conversations import conversations_of
from planbook.export.importing import parse_episode
from planbook.planner import Message
from tests.flows import BUILD, asks, invoke, scripted, succeed
from tests.planbook.export.conftest import METHODS


def check(line: str) -> list[dict[str, str]]:
    """Check that a line follows the rules of the format, and return its messages."""
    entry: Any = json.loads(line)
    assert list(entry) == ["messages"]
    messages: list[dict[str, str]] = entry["messages"]
    assert all(set(message) == {"role", "content"} for message in messages)
    assert all(isinstance(message["content"], str) and message["content"].strip() for message in messages)
    roles = [message["role"] for message in messages]
    turns = roles[1:] if roles[0] == "system" else roles
    assert turns == ["user", "assistant"] * (len(turns) // 2)
    assert turns
    return messages


def conversations(*arguments: object, out: Path) -> list[list[dict[str, str]]]:
    succeed("export", *arguments, "--format", "chat", "--out", out)
    return [check(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("name", [*METHODS, "toy"])
def test_every_reply_is_written_and_no_conversation_is_the_start_of_another(
    name: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    found = conversations(runs[name], out=tmp_path / "x.chat")
    for place, one in enumerate(found):
        assert not any(other[: len(one)] == one for at, other in enumerate(found) if at != place)
    replies = {message["content"] for one in found for message in one if message["role"] == "assistant"}
    played = [each for each in asks(runs[name]) if each["role"] != "formulator"]
    if name != "toy":  # a run of `planbook build` also asks the roles that learn
        assert {each["reply"]["text"] for each in played} == replies


def test_conversations_are_chosen_by_role_and_success(runs: dict[str, Path], tmp_path: Path) -> None:
    run, out = runs["adapt-textcraft-stepwise"], tmp_path / "x.chat"
    everything = conversations(run, out=out)
    plans, solved = conversations(run, "--roles", "planner", out=out), conversations(run, "--solved", out=out)
    assert [each for each in everything if each in plans] == plans
    assert 0 < len(plans) < len(everything)
    assert 0 < len(solved) < len(everything)


def play(model: str, folder: Path) -> None:
    invoke("run", "--planner", "automanual", "--env", "toy", "--split", "all:1", "--model", model, "--out", folder)


UNUSABLE_ONCE = """from tests.toy_script import answer, rubbish


def reply(messages, sampling):
    if "could not be used" in messages[-1].content:
        return answer(messages[:-2], sampling)
    return rubbish(messages, sampling) if len(messages) == 2 else answer(messages, sampling)
"""


def test_an_unusable_reply_is_left_out_with_the_complaint_about_it(tmp_path: Path) -> None:
    folder, out = tmp_path / "run", tmp_path / "x.chat"
    (tmp_path / "model.py").write_text(UNUSABLE_ONCE)
    play(f"scripted:{tmp_path / 'model.py'}:reply", folder)
    unusable, mended, last = (each["reply"]["text"] for each in asks(folder))
    (found,) = conversations(folder, out=out)
    assert [message["role"] for message in found] == ["system", "user", "assistant", "user", "assistant"]
    assert [found[2]["content"], found[4]["content"]] == [mended, last]
    assert unusable not in json.dumps(found)


def test_a_conversation_without_a_usable_reply_is_not_written(tmp_path: Path) -> None:
    play(scripted("rubbish"), tmp_path / "run")
    assert len(asks(tmp_path / "run")) >= 3
    assert conversations(tmp_path / "run", out=tmp_path / "x.chat") == []


def test_a_growing_conversation_is_written_once_and_a_second_sample_separately(tmp_path: Path) -> None:
    invoke(*BUILD, "--types", "fetch", "--tasks-per-type", 1, "--no-procedures", "--out", tmp_path / "run")
    invoke("export", tmp_path / "run", "--out", tmp_path / "x.jsonl")
    trajectory = parse_episode((tmp_path / "x.jsonl").read_text().splitlines()[0])
    assert len(trajectory.calls) == 2
    (grown,) = conversations_of(trajectory)
    assert len(grown) == 5
    first = trajectory.calls[0]
    reply = first.reply.model_copy(update={"text": "Something else."})
    sample = first.model_copy(update={"order": 10_000, "reply": reply})
    found = conversations_of(trajectory.model_copy(update={"calls": (*trajectory.calls, sample)}))
    assert found == [grown, (*first.messages, Message(role="assistant", content="Something else."))]
