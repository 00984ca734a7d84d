"""Conversations as tools for fine-tuning take them."""

import json
from pathlib import Path
from typing import Any

import pytest

from planbook.export.exporting import conversations_of
from planbook.export.files import parse_episode
from planbook.planner import Message
from tests.flows import BUILD, asks, here, scripted
from tests.planbook.export.conftest import METHODS


def check(line: str) -> list[dict[str, str]]:
    """The messages of a line, which the format's own rules must allow: nothing more, nothing less."""
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


def talks(*arguments: object, out: Path) -> list[list[dict[str, str]]]:
    exported = here("export", *arguments, "--format", "chat", "--out", out)
    assert exported.returncode == 0, exported.printed
    return [check(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("name", [*METHODS, "toy"])
def test_every_reply_is_in_one_conversation_and_no_conversation_in_another(
    name: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    conversations = talks(runs[name], "--with-repairs", out=tmp_path / "x.chat")
    for place, talk in enumerate(conversations):
        assert not any(other[: len(talk)] == talk for at, other in enumerate(conversations) if at != place)
    replies = {message["content"] for talk in conversations for message in talk if message["role"] == "assistant"}
    played = [each for each in asks(runs[name]) if each["role"] != "formulator"]
    if name != "toy":  # there, those who learn are asked as well
        assert {each["reply"]["text"] for each in played} == replies


def test_only_what_was_asked_for_is_kept(runs: dict[str, Path], tmp_path: Path) -> None:
    every = talks(runs["adapt-textcraft-stepwise"], out=tmp_path / "x.chat")
    plans = talks(runs["adapt-textcraft-stepwise"], "--roles", "planner", out=tmp_path / "x.chat")
    solved = talks(runs["adapt-textcraft-stepwise"], "--solved", out=tmp_path / "x.chat")
    assert [talk for talk in every if talk in plans] == plans
    assert 0 < len(plans) < len(every)
    assert 0 < len(solved) < len(every)


def stubborn(tmp_path: Path, name: str, body: str) -> Path:
    """A run of the toy environment with a model of its own."""
    script = tmp_path / "model.py"
    script.write_text(f"from tests.toy_script import answer, rubbish\n\n\n{body}")
    folder = tmp_path / name
    here("run", "--planner", "automanual", "--env", "toy", "--split", "all:1", "--model",
         f"scripted:{script}:reply", "--out", folder)  # fmt: skip
    return folder


ONCE_UNUSABLE = """
def reply(messages, sampling):
    if "could not be used" in messages[-1].content:
        return answer(messages[:-2], sampling)
    return rubbish(messages, sampling) if len(messages) == 2 else answer(messages, sampling)
"""


def test_an_unusable_reply_is_left_out_with_its_complaint(tmp_path: Path) -> None:
    folder = stubborn(tmp_path, "once", ONCE_UNUSABLE)
    unusable, mended, last = (each["reply"]["text"] for each in asks(folder))
    (talk,) = talks(folder, out=tmp_path / "x.chat")
    assert [message["role"] for message in talk] == ["system", "user", "assistant", "user", "assistant"]
    assert [talk[2]["content"], talk[4]["content"]] == [mended, last]
    assert unusable not in json.dumps(talk)
    repaired, goes_on = talks(folder, "--with-repairs", out=tmp_path / "x.chat")
    assert [repaired[2]["content"], repaired[4]["content"]] == [unusable, mended]
    assert "could not be used" in repaired[3]["content"]
    assert goes_on == talk


@pytest.mark.parametrize("flags", [(), ("--with-repairs",)])
def test_a_conversation_that_stayed_unusable_is_not_written(flags: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "never"
    here("run", "--planner", "automanual", "--env", "toy", "--split", "all:1", "--model", scripted("rubbish"),
         "--out", folder)  # fmt: skip
    assert len(asks(folder)) >= 3
    assert talks(folder, *flags, out=tmp_path / "x.chat") == []


def test_a_growing_conversation_is_written_once_and_another_draw_by_itself(tmp_path: Path) -> None:
    here(*BUILD, "--types", "fetch", "--tasks-per-type", 1, "--no-procedures", "--out", tmp_path / "run")
    here("export", tmp_path / "run", "--out", tmp_path / "x.jsonl")
    trajectory = parse_episode((tmp_path / "x.jsonl").read_text().splitlines()[0])
    assert len(trajectory.calls) == 2
    (talk,) = conversations_of(trajectory)
    assert len(talk) == 5
    first = trajectory.calls[0]
    other = first.model_copy(
        update={"order": 10_000, "reply": first.reply.model_copy(update={"text": "Something else."})}
    )
    two = conversations_of(trajectory.model_copy(update={"calls": (*trajectory.calls, other)}))
    assert two == [talk, (*first.messages, Message(role="assistant", content="Something else."))]
