"""Asking a model: repairs, what is carried on, what the journal answers, and which model plays which role."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from planbook.planner import (
    JournalMismatch,
    MemoryJournal,
    Message,
    Model,
    ModelError,
    OnText,
    RecordedModel,
    Reply,
    Sampling,
    Scope,
    ScriptedModel,
    UnusableReply,
)
from planbook.planner.models.types import Finish, label
from planbook.planner.prompts import Prompts
from planbook.planner.roles import NO_MODELS, Roles, Sample, as_text

QUESTION = "What is {{ what }}?"
PATH = "task/0/round/0"


class Said:
    """Answers with one reply after another and keeps what it was asked, how, and under which label."""

    name = "said"

    def __init__(self, *replies: str | Reply) -> None:
        self._replies = [Reply(text=reply) if isinstance(reply, str) else reply for reply in replies]
        self.asked: list[tuple[Sequence[Message], Sampling]] = []
        self.labels: list[str] = []

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        self.asked.append((messages, sampling))
        self.labels.append(label())
        return self._replies[len(self.asked) - 1]


@pytest.fixture
def prompts(tmp_path: Path) -> Prompts:
    (tmp_path / "question.j2").write_text(QUESTION)
    (tmp_path / "other.j2").write_text("Really {{ what }}?")
    return Prompts(tmp_path)


def scope(model: Model, journal: MemoryJournal | None = None, repairs: int = 2, **sampling: Sampling) -> Scope:
    roles = Roles(lambda role: model, sampling, repairs=repairs)
    return Scope(journal if journal is not None else MemoryJournal(), PATH, roles)


def number(text: str) -> int:
    return int(text)


def test_a_reply_that_cannot_be_used_is_told_why_and_asked_again(prompts: Prompts) -> None:
    model = Said("forty", "42")
    answer = scope(model).ask("planner", prompts["question"], read=number, what="six times seven")
    assert answer.value == 42
    first, second = (messages for messages, _ in model.asked)
    assert [message.content for message in first] == ["What is six times seven?"]
    assert second[:1] == first[:1]
    assert (second[1].role, second[1].content) == ("assistant", "forty")
    assert "invalid literal for int() with base 10: 'forty'" in second[2].content


def test_the_conversation_that_is_carried_on_leaves_failed_replies_out(prompts: Prompts) -> None:
    model = Said("forty", "about forty", "42")
    system = Message(role="system", content="Be exact.")
    answer = scope(model).ask("planner", prompts["question"], read=number, history=[system], what="it")
    assert [(each.role, each.content) for each in answer.history] == [
        ("system", "Be exact."),
        ("user", "What is it?"),
        ("assistant", "42"),
    ]
    told = [each.content for each in model.asked[2][0]]
    assert "forty" not in told, "only the last reply is mended"
    assert "about forty" in told


@pytest.mark.parametrize("repairs", [0, 1, 3])
def test_asking_again_ends(prompts: Prompts, repairs: int) -> None:
    model = Said(*["none"] * 10)
    with pytest.raises(UnusableReply, match=r"the planner gave no usable reply to question\.j2: .*'none'"):
        scope(model, repairs=repairs).ask("planner", prompts["question"], read=number, what="it")
    assert len(model.asked) == 1 + repairs


@pytest.mark.parametrize(
    ("finish", "told"), [("length", "cut off at its token limit"), ("refused", "refused or empty")]
)
def test_how_a_reply_ended_is_told_with_what_is_wrong(prompts: Prompts, finish: Finish, told: str) -> None:
    model = Said(Reply(text="4", finish=finish), "42")

    def two_digits(text: str) -> int:
        if len(text) < 2:
            raise ValueError("too short")
        return int(text)

    scope(model).ask("planner", prompts["question"], read=two_digits, what="it")
    assert told in model.asked[1][0][-1].content
    assert "too short" in model.asked[1][0][-1].content


def test_what_is_no_fault_of_the_reply_is_not_repaired(prompts: Prompts) -> None:
    def broken(text: str) -> str:
        raise ZeroDivisionError

    model = Said("42")
    with pytest.raises(ZeroDivisionError):
        scope(model).ask("planner", prompts["question"], read=broken, what="it")
    assert len(model.asked) == 1


def test_empty_text_is_no_answer() -> None:
    assert as_text(" a\n") == "a"
    with pytest.raises(ValueError, match="the reply is empty"):
        as_text(" \n")


def test_what_is_recorded_is_answered_without_asking(prompts: Prompts) -> None:
    journal = MemoryJournal()
    first = scope(Said("forty", "42"), journal).ask("planner", prompts["question"], read=number, what="it")
    again = scope(Said(), journal).ask("planner", prompts["question"], read=number, what="it")
    assert again == first
    assert [key for key in journal.events if key[1] == "ask"] == [(PATH, "ask", 0), (PATH, "ask", 1)]


def test_asks_after_the_recorded_ones_are_new(prompts: Prompts) -> None:
    journal = MemoryJournal()
    with pytest.raises(UnusableReply):
        scope(Said("forty"), journal, repairs=0).ask("planner", prompts["question"], read=number, what="it")
    model = Said("42")
    assert scope(model, journal).ask("planner", prompts["question"], read=number, what="it").value == 42
    assert len(model.asked) == 1
    assert model.asked[0][0][1].content == "forty"


@pytest.mark.parametrize(
    ("role", "prompt", "what", "told", "differs"),
    [
        ("planner", "question", "else", "What is else?", {"messages"}),
        ("planner", "other", "it", "other.j2", {"template"}),
        ("builder", "question", "it", "builder", {"role"}),
    ],
)
def test_another_question_than_the_recorded_one_is_told_with_what_differs(
    prompts: Prompts, role: str, prompt: str, what: str, told: str, differs: set[str]
) -> None:
    journal = MemoryJournal()
    scope(Said("42"), journal).ask("planner", prompts["question"], read=number, what="it")
    with pytest.raises(JournalMismatch, match=f"{PATH}: ask 0 was recorded as") as mismatch:
        scope(Said(), journal).ask(role, prompts[prompt], read=number, what=what)
    assert told in str(mismatch.value)
    assert isinstance(mismatch.value.actual, dict)
    assert set(mismatch.value.actual) == differs
    assert mismatch.value.recorded != mismatch.value.actual


def test_every_ask_keeps_prompt_model_sampling_and_reply(prompts: Prompts) -> None:
    journal = MemoryJournal()
    drawn = Sampling(temperature=0.7, seed=5)
    scope(Said("42"), journal, planner=drawn).ask(
        "planner", prompts["question"], read=number, sample=Sample(3), what="it"
    )
    body = journal.events[PATH, "ask", 0]
    assert (body["role"], body["template"], body["model"]) == ("planner", "question.j2", "said")
    assert body["messages"] == [{"role": "user", "content": "What is it?"}]
    assert body["sampling"] == drawn.model_copy(update={"sample": 3}).model_dump(mode="json")
    assert (body["left_out"], body["cut_characters"]) == (0, 0)
    assert Reply.model_validate(body["reply"]).text == "42"


def test_a_conversation_too_long_for_the_model_is_cut_and_the_cut_is_recorded(prompts: Prompts) -> None:
    journal, model = MemoryJournal(), Said("42", "43")
    small = Sampling(context=1_500, max_tokens=500)
    old = [Message(role="assistant", content="old " * 300), Message(role="user", content="new " * 300)]
    history = [Message(role="user", content="Begin."), *old, *old]
    answer = scope(model, journal, planner=small).ask(
        "planner", prompts["question"], read=number, history=history, what="it"
    )
    first = journal.events[PATH, "ask", 0]
    assert first["left_out"] == 2
    assert len(model.asked[0][0]) == len(history) + 1 - 2
    assert len(answer.history) == len(history) + 2, "what is carried on is whole: it is fitted anew each time"
    again = scope(Said(), journal, planner=small)
    assert again.ask("planner", prompts["question"], read=number, history=history, what="it").value == 42
    long = scope(model, MemoryJournal(), planner=small)
    long.ask("planner", prompts["question"], read=number, what="w " * 4_000)
    cut = long.journal.get(PATH, "ask", 0)
    assert cut is not None
    assert isinstance(cut["cut_characters"], int)
    assert cut["cut_characters"] > 1_000


def test_scopes_side_by_side_have_their_own_numbers(prompts: Prompts) -> None:
    journal = MemoryJournal()
    parent = scope(ScriptedModel(lambda messages, sampling: messages[-1].content), journal)
    children = [parent.child("achieve") for _ in range(8)]
    assert [child.path for child in children] == [f"{PATH}/achieve/{number}" for number in range(8)]
    answers: dict[int, list[str]] = {}

    def ask(place: int) -> None:
        asked = [children[place].ask("planner", prompts["question"], read=as_text, what=place) for _ in range(5)]
        answers[place] = [answer.value for answer in asked]

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == {place: [f"What is {place}?"] * 5 for place in range(8)}
    assert set(journal.events) == {(child.path, "ask", number) for child in children for number in range(5)}


def test_a_sample_is_another_draw_of_the_same_request(prompts: Prompts) -> None:
    model = Said("1", "2")
    here = scope(model)
    for sample in (0, 1):
        here.ask("planner", prompts["question"], read=number, sample=Sample(sample), what="it")
    assert [sampling.sample for _, sampling in model.asked] == [0, 1]


def test_each_role_has_its_model_and_its_sampling() -> None:
    asked: list[str] = []

    def load(role: str) -> Model:
        asked.append(role)
        return Said(f"{role} speaks")

    own, usual = Sampling(temperature=0.5, seed=7), Sampling(temperature=0.1, seed=None)
    roles = Roles(load, {"builder": own, "default": usual}, seed=3)
    assert asked == [], "a model is made when its role first speaks"
    reply, model, sampling = roles.complete("builder", [], Sample(2))
    assert (reply.text, model) == ("builder speaks", "said")
    assert sampling == own.model_copy(update={"seed": 10, "sample": 2})
    assert roles.sampling("planner") == usual, "no seed is sent where none is wanted"
    assert roles.seeded(30).sampling("builder").seed == 37
    assert Roles(load, {}, seed=4).sampling("anyone") == Sampling(seed=4)


def test_a_guard_is_asked_before_every_call_and_only_then(prompts: Prompts) -> None:
    guarded: list[int] = []
    journal = MemoryJournal()
    for _ in range(2):
        model = Said("forty", "42")
        roles = Roles(lambda role, model=model: model, {}, guard=lambda: guarded.append(1))  # type: ignore[misc]
        Scope(journal, PATH, roles).ask("planner", prompts["question"], read=number, what="it")
    assert len(guarded) == 2


def test_a_role_without_a_model_says_how_to_name_one(prompts: Prompts) -> None:
    with pytest.raises(ModelError, match="the builder has no model to ask; name one with --model"):
        Scope(MemoryJournal(), PATH, NO_MODELS).ask("builder", prompts["question"], read=number, what="it")


def test_recordings_say_which_prompt_was_answered(prompts: Prompts, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    scope(RecordedModel(file, Said("42"))).ask("builder", prompts["question"], read=number, what="it")
    assert json.loads(file.read_text().splitlines()[1])["label"] == "builder: question.j2"
    model = Said("forty", "42")
    scope(model).ask("planner", prompts["question"], read=number, what="it")
    assert model.labels == ["planner: question.j2"] * 2
    assert label() == ""
