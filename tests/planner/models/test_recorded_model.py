"""Recordings are replayed, extended, and repaired after a kill; a missing reply is reported with its prompt."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from planbook.planner import Message, RecordedModel, Reply, Sampling, ScriptedModel, Usage, read_recording
from planbook.planner.errors import ModelError, ModelRefused, ModelUnavailable, NotRecorded, UnknownModel
from planbook.planner.models.types import Finish, PromptData, asking, request_key
from tests.piece_listener import PieceListener
from tests.planner.episode_kit import Replies


def conversation(*texts: str) -> list[Message]:
    return [Message(role="assistant" if n % 2 else "user", content=text) for n, text in enumerate(texts)]


def echo(messages: Sequence[Message], sampling: Sampling) -> str:
    return f"{messages[-1].content}, drawn {sampling.sample}"


def test_a_recorded_reply_is_replayed_without_the_model(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.jsonl"
    inner = ScriptedModel(echo, name="mine")
    with asking("plan.j2"):
        first = RecordedModel(path, inner).complete(conversation("hello\u2028\nthere"), Sampling())
    assert not first.replayed
    replay = RecordedModel(path)
    again = replay.complete(conversation("hello\u2028\nthere"), Sampling())
    assert again == first.model_copy(update={"replayed": True, "seconds": 0.0})
    header, entry = path.read_text(encoding="utf-8").splitlines()[0], json.loads(path.read_bytes().split(b"\n")[1])
    assert json.loads(header) == {"recording": 1, "made_with": "mine", "command": ""}
    assert entry["label"] == "plan.j2"
    assert entry["text"] == "hello\u2028\nthere, drawn 0"
    recorded = entry["messages"][0]
    assert (recorded["role"], recorded["length"], recorded["head"]) == ("user", 12, "hello\u2028\nthere")


def test_only_missing_replies_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    RecordedModel(path, ScriptedModel(["one"], name="first")).complete(conversation("a"), Sampling())
    model = RecordedModel(path, ScriptedModel(["two"], name="mine"))
    assert model.complete(conversation("a"), Sampling()).text == "one"
    assert model.complete(conversation("b"), Sampling()).text == "two"
    assert model.complete(conversation("b"), Sampling()).replayed
    assert model.name == f"recorded:{path}+mine"
    assert read_recording(path)[0].made_with == "first"
    assert [("made_with" in line) for line in path.read_text().splitlines()] == [True, False, False]


@pytest.mark.parametrize("finish", ["length", "refused", "cut"])
def test_incomplete_replies_are_recorded_as_such(tmp_path: Path, finish: Finish) -> None:
    inner = Replies(Reply(text="half", finish=finish, usage=Usage(prompt=3, completion=1), model="m-1", seconds=2.0))
    model = RecordedModel(tmp_path / "a.jsonl", inner)
    assert [model.complete(conversation("a"), Sampling()).finish for _ in range(2)] == [finish, finish]
    assert len(inner.asked) == 1
    assert RecordedModel(tmp_path / "a.jsonl").complete(conversation("a"), Sampling()).finish == finish


def test_errors_are_not_recorded(tmp_path: Path) -> None:
    answers: list[str | ModelError] = [ModelUnavailable("away"), "here"]

    def script(messages: Sequence[Message], sampling: Sampling) -> str:
        answer = answers.pop(0)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    model = RecordedModel(tmp_path / "a.jsonl", ScriptedModel(script))
    with pytest.raises(ModelUnavailable):
        model.complete(conversation("a"), Sampling())
    assert model.complete(conversation("a"), Sampling()).text == "here"


@example("0123456789" * 10, 2)
@given(st.text(min_size=1, max_size=60), st.integers(1, 6))
def test_recording_and_replay_cut_at_the_same_character(
    tmp_path_factory: pytest.TempPathFactory, text: str, pieces: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    live, again = PieceListener(pieces), PieceListener(pieces)
    first = RecordedModel(path, ScriptedModel([text])).complete(conversation("a"), Sampling(), live)
    second = RecordedModel(path).complete(conversation("a"), Sampling(), again)
    assert (first.text, first.finish, live.received) == (second.text, second.finish, again.received)
    assert live.text == first.text
    assert RecordedModel(path).complete(conversation("a"), Sampling()).text == text, "the recording has the whole reply"


def test_threads_with_the_same_question_ask_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def slow(messages: Sequence[Message], sampling: Sampling) -> str:
        asked.append(messages[0].content)
        time.sleep(0.05)
        return "yes"

    model = RecordedModel(tmp_path / "a.jsonl", ScriptedModel(slow))
    requests = [conversation(str(number % 3)) for number in range(12)]
    with ThreadPoolExecutor(12) as pool:
        assert len(list(pool.map(lambda request: model.complete(request, Sampling()), requests))) == 12
    assert sorted(asked) == ["0", "1", "2"]
    replay = RecordedModel(tmp_path / "a.jsonl")
    assert all(replay.complete(request, Sampling()).text == "yes" for request in requests)


def test_processes_may_record_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    code = """
import sys
from planbook.planner import Message, RecordedModel, Sampling, ScriptedModel
model = RecordedModel(sys.argv[1], ScriptedModel(lambda messages, sampling: "x" * 20_000))
for number in range(25):
    model.complete([Message(role="user", content=f"{sys.argv[2]} {number}")], Sampling())
"""
    env = {"PYTHONPATH": str(Path(__file__).parents[3])}
    runs = [subprocess.Popen([sys.executable, "-c", code, str(path), name], env=env) for name in ("a", "b")]
    assert [run.wait(timeout=60) for run in runs] == [0, 0]
    replay = RecordedModel(path)
    for name in ("a", "b"):
        for number in range(25):
            assert replay.complete(conversation(f"{name} {number}"), Sampling()).text == "x" * 20_000
    assert len(path.read_bytes().splitlines()) == 51


def test_a_kill_at_any_byte_loses_at_most_the_line_being_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    model = RecordedModel(path, ScriptedModel(echo))
    ends = []
    for text in ("ä", "b"):
        model.complete(conversation(text), Sampling())
        ends.append(path.stat().st_size)
    whole = path.read_bytes()
    special = [place for place, byte in enumerate(whole) if byte == ord("\n") or byte > 127]
    for size in range(len(whole)):
        if size % 9 and all(abs(size - place) > 2 for place in special):
            continue  # within a line, all positions are equivalent
        path.write_bytes(whole[:size])
        kept = [text for text, end in zip(("ä", "b"), ends, strict=True) if size >= end]
        if size:
            for text in kept:
                assert RecordedModel(path).complete(conversation(text), Sampling()).replayed
            assert path.read_bytes() == whole[:size]
        resumed = RecordedModel(path, ScriptedModel(echo))
        assert [resumed.complete(conversation(text), Sampling()).replayed for text in ("ä", "b")] == [
            text in kept for text in ("ä", "b")
        ]
        assert path.read_bytes() == whole


def test_an_invalid_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    RecordedModel(path, ScriptedModel(echo)).complete(conversation("a"), Sampling())
    header, entry = path.read_bytes().splitlines(keepends=True)
    for content, message in (
        (header + b"{broken\n" + entry, r"a\.jsonl:2 is not a recorded reply: Expecting"),
        (header + entry + b'{"key": 1}\n', r"a\.jsonl:3 is not a recorded reply: key"),
        (entry, r"a\.jsonl:1 is not the header of a recording"),
        (b'{"recording": 9}\n', "format 9; this version reads format 1"),
    ):
        path.write_bytes(content)
        with pytest.raises(UnknownModel, match=message):
            RecordedModel(path)
    with pytest.raises(UnknownModel, match="cannot be read"):
        RecordedModel(tmp_path / "none.jsonl")


def test_a_recording_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    model = RecordedModel(tmp_path / "file" / "a.jsonl", ScriptedModel(echo))
    with pytest.raises(ModelRefused, match=r"a\.jsonl cannot be written: .+$"):
        model.complete(conversation("a"), Sampling())


def test_a_missing_reply_names_the_prompt_and_what_may_have_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    model = RecordedModel(path, ScriptedModel(echo))
    with asking("planner: plan.j2", data=PromptData(number=0, data="of task 1")):
        model.complete(conversation("rules", "yes", "Your task is 1"), Sampling())
    question = asking("planner: plan.j2", data=PromptData(number=2, data="of task 2"))
    with question, pytest.raises(NotRecorded) as error:
        RecordedModel(path).complete(conversation("rules", "yes", "Your task is 2"), Sampling())
    assert (
        f"{path} has no answer to this prompt (planner: plan.j2): its data, such as the task or earlier replies, "
        "differ from those recorded. "
    ) in str(error.value)
    assert f"copy {path} to a FILE of your own, and use --model recorded:FILE+MODEL" in str(error.value)
    for label, data, text, sampling, message in (
        ("planner: plan.j2", "of task 1", "b", Sampling(seed=2), "with seed=0, not seed=2; --seed and --repeats"),
        ("planner: plan.j2", "of task 1", "b", Sampling(temperature=1), "with temperature=0.0, not temperature=1.0. "),
        ("planner: plan.j2", "of task 2", "Your task is 1", Sampling(sample=1), "with sample=0, not sample=1. "),
        ("critic: plan.j2", "of task 1", "b", Sampling(), ": it has none to this role and template. "),
        ("", "of task 1", "b", Sampling(seed=1), "to this prompt: its data, such as the task or earlier replies"),
    ):
        question = asking(label, data=PromptData(number=0, data=data))
        with question, pytest.raises(NotRecorded, match=re.escape(message)):
            RecordedModel(path).complete(conversation("rules", "yes", text), sampling)


def test_an_empty_recording_has_no_reply(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    with pytest.raises(NotRecorded, match="has no answer"):
        RecordedModel(tmp_path / "a.jsonl").complete([], Sampling())


MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["system", "user", "assistant"]),
        content=st.text(st.characters(blacklist_categories=())),
    ),
    max_size=4,
)


@given(MESSAGES, st.text(st.characters(blacklist_categories=())))
def test_any_text_is_recorded(tmp_path_factory: pytest.TempPathFactory, messages: list[Message], text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    RecordedModel(path, ScriptedModel(lambda *_: text)).complete(messages, Sampling())
    assert RecordedModel(path).complete(messages, Sampling()).text == text


@given(MESSAGES, MESSAGES)
def test_different_requests_have_different_keys(one: list[Message], other: list[Message]) -> None:
    assert (request_key(one, Sampling()) == request_key(other, Sampling())) == (one == other)
    assert request_key(one, Sampling()) != request_key(one, Sampling(sample=1))
