"""The exchange model writes prompts as files, and reads answers from files."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planbook.planner import Message, Reply, Sampling
from planbook.planner.errors import ModelRefused
from planbook.planner.models.stand_ins import ExchangeModel
from planbook.planner.models.types import asking, request_key

POLL = 0.02
ASK = [Message(role="system", content="Be brief."), Message(role="user", content="# Two\n\nlines: ä")]


def prompts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.prompt.md"))


def answer_to(prompt: Path) -> Path:
    return prompt.with_name(prompt.name.replace(".prompt.md", ".answer.md"))


@contextmanager
def answering(folder: Path, answer: Callable[[str], str]) -> Iterator[None]:
    """Answer each prompt from a thread, as a user's script would."""
    done = threading.Event()

    def work() -> None:
        while not done.wait(POLL):
            for prompt in prompts(folder):
                if not answer_to(prompt).exists():
                    answer_to(prompt).write_text(answer(prompt.read_text(encoding="utf-8")), encoding="utf-8")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_prompt_and_its_answer_are_files(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    seen: list[str] = []

    def script(prompt: str) -> str:
        seen.append(prompt)
        return "the whole\ntext, ü\n"

    with answering(folder, script), asking("plan.j2"):
        reply = ExchangeModel(folder, poll=POLL).complete(ASK, Sampling())
    assert (reply.text, reply.finish, reply.model) == ("the whole\ntext, ü\n", "stop", "exchange")
    assert reply.usage.estimated
    assert not reply.replayed
    key = request_key(ASK, Sampling())
    assert [path.name for path in prompts(folder)] == [f"0001-{key[:8]}.prompt.md"]
    first, rest = seen[0].split("\n\n", 1)
    assert rest == (
        "# ===== message 1 of 2: system =====\n\nBe brief.\n\n# ===== message 2 of 2: user =====\n\n# Two\n\nlines: ä\n"
    )
    assert first.startswith("<!-- prompt plan.j2; temperature 0.0, max_tokens 4000")
    assert key in first
    assert first.endswith(f"; write the reply to 0001-{key[:8]}.answer.md -->")
    assert sorted(path.suffix for path in folder.iterdir()) == [".md"] * 2  # no partly written file is left


def test_a_resumed_run_finds_its_prompts_and_answers(tmp_path: Path) -> None:
    with answering(tmp_path, lambda prompt: f"answer {len(prompts(tmp_path))}"):
        first = ExchangeModel(tmp_path, poll=POLL).complete(ASK, Sampling())
        other = ExchangeModel(tmp_path, poll=POLL).complete(ASK, Sampling(sample=1))
    repeated = ExchangeModel(tmp_path, poll=POLL).complete(ASK, Sampling())
    assert (first.text, other.text, repeated.text) == ("answer 1", "answer 2", "answer 1")
    assert [path.name[:5] for path in prompts(tmp_path)] == ["0001-", "0002-"]


def test_keys_with_the_same_beginning_are_different(tmp_path: Path) -> None:
    key = request_key(ASK, Sampling())
    (tmp_path / f"0041-{key[:8]}.prompt.md").write_text(f"<!-- key {key[:8]}{'0' * 56} -->\n")
    (tmp_path / f"0041-{key[:8]}.answer.md").write_text("to another prompt")
    with answering(tmp_path, lambda prompt: "mine"):
        assert ExchangeModel(tmp_path, poll=POLL).complete(ASK, Sampling()).text == "mine"
    assert [path.name[:5] for path in prompts(tmp_path)] == ["0041-", "0042-"]


def test_an_answer_is_read_once_it_stops_changing(tmp_path: Path) -> None:
    replies: list[Reply] = []
    model = ExchangeModel(tmp_path, poll=1.0)
    thread = threading.Thread(target=lambda: replies.append(model.complete(ASK, Sampling())))
    thread.start()
    wait_for(lambda: bool(prompts(tmp_path)))
    answer = answer_to(prompts(tmp_path)[0])
    answer.write_text("")
    time.sleep(1.2)
    with answer.open("w") as file:
        file.write(" \n")
        file.flush()
        time.sleep(1.2)
        assert not replies
        for word in ["slowly", "written", "down"]:
            file.write(f"{word} ")
            file.flush()
            time.sleep(0.05)
    thread.join(timeout=10)
    assert [reply.text for reply in replies] == [" \nslowly written down "]


def test_threads_wait_for_their_answers_max_concurrent(tmp_path: Path) -> None:
    model = ExchangeModel(tmp_path, poll=POLL)
    replies: dict[int, str] = {}

    def ask(number: int) -> None:
        replies[number] = model.complete([Message(role="user", content=f"number {number}")], Sampling()).text

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(prompts(tmp_path)) == 5)  # no request waits for the answer to another
    with answering(tmp_path, lambda prompt: prompt.strip().splitlines()[-1]):
        for thread in threads:
            thread.join(timeout=10)
    assert replies == {number: f"number {number}" for number in range(5)}
    assert [path.name[:4] for path in prompts(tmp_path)] == ["0001", "0002", "0003", "0004", "0005"]


def test_a_listener_may_cut_an_answer(tmp_path: Path) -> None:
    with answering(tmp_path, lambda prompt: "x" * 100):
        reply = ExchangeModel(tmp_path, poll=POLL).complete(ASK, Sampling(), lambda piece: False)
    assert reply.finish == "cut"
    assert 0 < len(reply.text) < 100


def test_unusable_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelRefused, match=r"exchange of prompts in .*file failed"):
        ExchangeModel(tmp_path / "file").complete(ASK, Sampling())
    key = request_key(ASK, Sampling())
    (tmp_path / f"0001-{key[:8]}.prompt.md").write_text(f"<!-- key {key} -->")
    (tmp_path / f"0001-{key[:8]}.answer.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelRefused, match=r"answer\.md is not UTF-8 text"):
        ExchangeModel(tmp_path, poll=POLL).complete(ASK, Sampling())
