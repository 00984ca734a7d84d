"""Asking a model: repairs, the conversation, recorded replies, and the model of each role."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from planbook.planner import (
    JournalMismatch,
    MemoryJournal,
    Message,
    Model,
    ModelError,
    Reply,
    Sampling,
    Scope,
    ScriptedModel,
    UnusableReply,
)
from planbook.planner.models.types import Finish
from planbook.planner.prompts import Prompts
from planbook.planner.replies import as_text
from planbook.planner.roles import NO_MODELS, Answer, Roles, Sample
from tests.planner.episode_kit import Replies

PROMPTS = Prompts.of(question="What is {{ what }}?", other="Really {{ what }}?")
PATH = "task/0/round/0"


def scope(model: Model, journal: MemoryJournal | None = None, repairs: int = 2, **sampling: Sampling) -> Scope:
    roles = Roles(lambda role: model, sampling, repairs=repairs)
    return Scope(MemoryJournal() if journal is None else journal, PATH, roles)


def ask(scope: Scope, what: str = "it", role: str = "planner", prompt: str = "question", **kwargs: Any) -> Answer[int]:
    """Ask for a number."""
    return scope.ask(role, PROMPTS[prompt], **{"read": int, **kwargs}, what=what)


@pytest.mark.parametrize(
    ("finish", "message"), [("stop", ""), ("length", "cut off at its token limit"), ("refused", "refused or empty")]
)
def test_an_unusable_reply_is_asked_for_again_with_the_reason(finish: Finish, message: str) -> None:
    model = Replies(Reply(text="forty", finish=finish), "42")
    assert ask(scope(model), "six times seven").value == 42
    first, second = model.asked
    assert [each.content for each in first] == ["What is six times seven?"]
    assert second[:1] == first[:1]
    assert (second[1].role, second[1].content) == ("assistant", "forty")
    assert "invalid literal for int() with base 10: 'forty'" in second[2].content
    assert message in second[2].content


def test_code_that_was_cut_off_is_asked_for_again() -> None:
    model = Replies(Reply(text="```python\nagent.open('box_1')\n", finish="length"), "```python\npass\n```")
    answer = scope(model).ask("planner", PROMPTS["question"], read=str, what="it")
    assert answer.value == "```python\npass\n```"


def test_the_conversation_leaves_failed_replies_out() -> None:
    model = Replies("forty", "about forty", "42")
    answer = ask(scope(model), history=[Message(role="system", content="Be exact.")])
    assert [(each.role, each.content) for each in answer.history] == [
        ("system", "Be exact."),
        ("user", "What is it?"),
        ("assistant", "42"),
    ]
    last = [each.content for each in model.asked[2]]
    assert "forty" not in last, "only the last reply is repaired"
    assert "about forty" in last


@pytest.mark.parametrize("repairs", [0, 3])
def test_a_reply_is_repaired_a_limited_number_of_times(repairs: int) -> None:
    model = Replies(*["none"] * 10)
    with pytest.raises(UnusableReply, match=r"the planner gave no usable reply to question\.j2: .*'none'"):
        ask(scope(model, repairs=repairs))
    assert len(model.asked) == 1 + repairs


def test_an_error_of_the_reader_is_not_repaired() -> None:
    def broken(text: str) -> str:
        raise ZeroDivisionError

    model = Replies("42")
    with pytest.raises(ZeroDivisionError):
        ask(scope(model), read=broken)
    assert len(model.asked) == 1


def test_an_empty_text_is_not_an_answer() -> None:
    assert as_text(" a\n") == "a"
    with pytest.raises(ValueError, match="the reply is empty"):
        as_text(" \n")


def test_recorded_replies_are_not_asked_for_again_but_later_questions_are_asked() -> None:
    journal = MemoryJournal()
    with pytest.raises(UnusableReply):
        ask(scope(Replies("forty"), journal, repairs=0))
    model = Replies("42")
    first = ask(scope(model, journal))
    assert first.value == 42
    assert [messages[1].content for messages in model.asked] == ["forty"]
    assert ask(scope(Replies(), journal)) == first
    assert [key for key in journal.events if key[1] == "ask"] == [(PATH, "ask", 0), (PATH, "ask", 1)]


@pytest.mark.parametrize(
    ("question", "message", "different"),
    [
        ({"what": "else"}, "What is else?", {"messages"}),
        ({"prompt": "other"}, "other.j2", {"template"}),
        ({"role": "builder"}, "builder", {"role"}),
    ],
)
def test_a_question_other_than_the_recorded_one_is_refused_with_the_difference(
    question: dict[str, str], message: str, different: set[str]
) -> None:
    journal = MemoryJournal()
    ask(scope(Replies("42"), journal))
    with pytest.raises(JournalMismatch, match=f"{PATH}: ask 0 was recorded as") as mismatch:
        ask(scope(Replies(), journal), **question)
    assert message in str(mismatch.value)
    assert isinstance(mismatch.value.actual, dict)
    assert set(mismatch.value.actual) == different
    assert mismatch.value.recorded != mismatch.value.actual


def test_an_event_keeps_prompt_model_sampling_and_reply() -> None:
    journal, model, sampling = MemoryJournal(), Replies("42"), Sampling(temperature=0.7, seed=5)
    ask(scope(model, journal, planner=sampling), sample=Sample(3))
    assert model.sampling[0] == sampling.model_copy(update={"sample": 3})
    body = journal.events[PATH, "ask", 0]
    assert (body["role"], body["template"], body["model"]) == ("planner", "question.j2", "replies")
    assert body["messages"] == [{"role": "user", "content": "What is it?"}]
    assert body["sampling"] == model.sampling[0].model_dump(mode="json")
    assert (body["left_out"], body["cut_characters"]) == (0, 0)
    assert Reply.model_validate(body["reply"]).text == "42"


def test_a_conversation_too_long_for_the_model_is_cut_and_the_cut_is_recorded() -> None:
    journal, model = MemoryJournal(), Replies("42", "43")
    small = Sampling(context=1_500, max_tokens=500)
    old = [Message(role="assistant", content="old " * 300), Message(role="user", content="new " * 300)]
    history = [Message(role="user", content="Begin."), *old, *old]
    answer = ask(scope(model, journal, planner=small), history=history)
    assert journal.events[PATH, "ask", 0]["left_out"] == 2
    assert len(model.asked[0]) == len(history) + 1 - 2
    assert len(answer.history) == len(history) + 2, "the conversation itself is not cut"
    assert ask(scope(Replies(), journal, planner=small), history=history).value == 42
    journal = MemoryJournal()
    ask(scope(model, journal, planner=small), "w " * 4_000)
    cut: Any = journal.events[PATH, "ask", 0]["cut_characters"]
    assert cut > 1_000


def test_scopes_in_threads_number_their_own_requests() -> None:
    journal = MemoryJournal()
    parent = scope(ScriptedModel(lambda messages, sampling: messages[-1].content[len("What is ")]), journal)
    children = [parent.child("achieve") for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda n: [ask(children[n], str(n)).value for _ in range(5)], range(8))
        assert list(answers) == [[n] * 5 for n in range(8)]
    assert set(journal.events) == {(f"{PATH}/achieve/{n}", "ask", number) for n in range(8) for number in range(5)}


def test_each_role_has_its_model_and_its_sampling() -> None:
    loaded: list[str] = []

    def load(role: str) -> Model:
        loaded.append(role)
        return Replies(f"{role} speaks")

    own, default = Sampling(temperature=0.5, seed=7), Sampling(temperature=0.1, seed=None)
    roles = Roles(load, {"builder": own, "default": default}, seed=3)
    assert loaded == [], "a model is loaded when its role is asked"
    reply, model, sampling = roles.complete("builder", [], Sample(2))
    assert (reply.text, model) == ("builder speaks", "replies")
    assert sampling == own.model_copy(update={"seed": 10, "sample": 2})
    assert roles.sampling("planner") == default, "no seed is sent if the settings have none"
    assert roles.seeded(30).sampling("builder").seed == 37
    assert Roles(load, {}, seed=4).sampling("anyone") == Sampling(seed=4)


def test_the_guard_is_called_before_each_request_and_not_for_recorded_replies() -> None:
    calls: list[int] = []
    journal, model = MemoryJournal(), Replies("forty", "42")
    for _ in range(2):
        roles = Roles(lambda role: model, {}, guard=lambda: calls.append(1))
        ask(Scope(journal, PATH, roles))
    assert len(calls) == 2


def test_a_role_without_a_model_is_an_error_with_advice() -> None:
    with pytest.raises(ModelError, match="the builder has no model to ask; name one with --model"):
        ask(Scope(MemoryJournal(), PATH, NO_MODELS), role="builder")


def test_titles_and_feedback_may_be_worded_differently_when_an_episode_is_repeated() -> None:
    journal, wordings = MemoryJournal(), ("former", "present")
    for wording in wordings:
        repeated = scope(ScriptedModel([]), journal)
        repeated.record("span", title=wording, data={"by": "judge"})
        repeated.record("cell", feedback={"kind": "done", "text": wording})
    with pytest.raises(JournalMismatch):
        scope(ScriptedModel([]), journal).record("span", title="present", data={"by": "agent"})
