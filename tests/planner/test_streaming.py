"""Plans run while the model is still writing them.

They take the same steps however the reply is cut into pieces, and no more of the reply is requested than is needed.
"""

import os
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from planbook.envs import Observation, action
from planbook.envs.toy import Toy
from planbook.planner import (
    BudgetEnded,
    Episode,
    EpisodeStopped,
    FeedbackKind,
    JournalFailed,
    JournalMismatch,
    MemoryJournal,
    Message,
    Model,
    Outcome,
    Reply,
    Sampling,
    ScriptedModel,
)
from planbook.planner.models.types import Finish, OnText, data_digest
from planbook.planner.prompts import Prompts
from planbook.planner.strategies.adapt.executor import EXECUTOR
from planbook.planner.streaming import NOT_RUN, PlanResult, broke_off
from planbook.planner.trajectory import in_reading_order
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import THING, OneModel, started
from tests.planner.streaming_kit import Cut, KilledJournal, PieceModel, cut_at, cut_points, played, uncut, untimed

GO_ON = Prompts.of(go_on="Go on.")["go_on"]
STRIDE = 1 if os.environ.get("PLANBOOK_CUTS") else 23
"""Number of characters between the positions at which replies are cut."""


def reply(code: str, after: str = "So far.") -> str:
    return f"### Understanding\nA box.\n### Code\n```python\n{code.strip()}\n```\n{after}\n"


LOOK = "import random\n\ndef look(n):\n    # where it may be\n    return agent.open(f'box_{n}')\n\n\nLIMIT = 3\n"
RAISES = (
    LOOK + "seen = look(1)\nif seen:\n    print(seen)\nelse:\n    print('none')\nassert not seen, 'Step 1'\nlook(2)\n"
)
FAULTY = "agent.open('box_1')\nprint('one')\nagent.opne('box_2')\nagent.open('box_3')\n"
BROKEN = "agent.open('box_1')\nprint('two'\nagent.open('box_2')\n"
FAULTY_AT_ONCE = "x = 1\nagent.opne('box_1')\nagent.open('box_2')\n"
BROKEN_AT_ONCE = "print('two'\nagent.open('box_2')\n"
LATE_NAME = "def f():\n    return g()\n\nagent.open('box_1')\n\ndef g():\n    return agent.open('box_2')\n\nf()\n"
SOLVE = f"""{LOOK}
for n in range(1, 9):
    if '{THING}' in look(n):
        agent.take('{THING}', f'box_{{n}}')
        break
agent.put('{THING}')
print('never')
"""
TWO_BLOCKS = reply("agent.open('box_1')\na = 1", after="And then:\n```python\nprint(a)\nagent.open('box_2')\n```\n")
REVISED = reply(
    "def f():\n    pass\nagent.open('box_1')", after="No:\n```python\ndef f():\n    agent.open('box_2')\nf()\n```"
)
UNMARKED = "First:\n```\nagent.open('box_1')\nprint(2)\n```\n"
BARE = "agent.open('box_1')\nprint(3)\nagent.open('box_2')\n"

SOUND = [reply(RAISES), reply(LATE_NAME), TWO_BLOCKS, UNMARKED, BARE, reply("agent.open('box_4')\n" + SOLVE)]
"""Replies that pass the check as a whole."""
UNSOUND = [
    *map(reply, (FAULTY, BROKEN, FAULTY_AT_ONCE, BROKEN_AT_ONCE, LOOK)),
    reply(RAISES).replace("\n", "\r\n"),
    REVISED,
    "I do not know.",
    reply(SOLVE),
]
OPTIONS: dict[str, Any] = {"options": {"replans": 9}}
sound_and_unsound = pytest.mark.parametrize("replies", [SOUND, UNSOUND], ids=["sound", "unsound"])


def journal_of(sandbox: Sandbox, model: Model, **kwargs: Any) -> MemoryJournal:
    journal = MemoryJournal()
    played(sandbox, model, journal, **OPTIONS, **kwargs)
    return journal


@sound_and_unsound
def test_the_journal_is_the_same_wherever_a_reply_is_cut(sandbox: Sandbox, replies: Sequence[str]) -> None:
    expected = untimed(journal_of(sandbox, PieceModel(replies)))
    assert sum(key[1] == "ask" for key, _ in expected) == len(replies)
    assert untimed(journal_of(sandbox, PieceModel(replies, cut=list))) == expected
    for place in range(0, max(map(len, replies)), STRIDE):
        assert untimed(journal_of(sandbox, PieceModel(replies, cut_at(place)))) == expected, place


def test_a_sound_plan_does_the_same_as_without_streaming(sandbox: Sandbox) -> None:
    journals, models = (MemoryJournal(), MemoryJournal()), (PieceModel(SOUND, list), PieceModel(SOUND, list))
    endings = [
        played(sandbox, model, journal, stream=stream, **OPTIONS)
        for model, journal, stream in zip(models, journals, (True, False), strict=True)
    ]
    assert endings[0] == endings[1]
    requests = [[data_digest(messages) for messages in model.asked] for model in models]
    assert requests[0] == requests[1]
    for kind in ("task", "act", "cell", "outcome"):
        streamed, waited = (
            [{**body, "code": ""} for (_, each, _), body in journal.events.items() if each == kind]
            for journal in journals
        )
        assert streamed == waited
    assert "piece" not in {key[1] for key in journals[1].events}


def stream_cell(
    sandbox: Sandbox, model: Model, *, stream: bool = True, actions: int | None = None, environment: Toy | None = None
) -> tuple[PlanResult, Episode]:
    """Stream one reply and run its code. Return the result and the episode."""
    with started(sandbox, OneModel(model), stream=stream, environment=environment) as playing:
        return playing.stream(EXECUTOR, GO_ON, actions=actions), playing


class ArrivalToy(Toy):
    """A toy environment that records how much of the reply had been sent when each box was opened."""

    def __init__(self, model: PieceModel) -> None:
        super().__init__()
        self._model, self.arrived = model, list[int]()

    @action("agent.open('box_2') -> 'You open box_2. In it, you see key.'")
    def open(self, box: str) -> Observation:
        """Open a box."""
        self.arrived.append(self._model.sent_characters)
        return super().open(box)


def test_a_statement_runs_once_it_is_certain_and_a_failing_one_stops_the_reply(sandbox: Sandbox) -> None:
    text = reply("agent.open('box_1')\nagent.open('box_2')\n1 / 0\nagent.open('box_3')\n" + "print(1)\n" * 20)
    model = PieceModel([text], list)
    environment = ArrivalToy(model)
    result, playing = stream_cell(sandbox, model, environment=environment)
    assert environment.arrived == [text.index(call) + len(call) + 1 for call in ("'box_2')", "1 / 0")]
    assert model.sent_characters == text.index("'box_3')") + len("'box_3')") + 1
    assert (result.feedback.kind, result.feedback.line) == (FeedbackKind.RAISED, 3)
    ran = text[: text.index("1 / 0") + len("1 / 0")]
    assert result.history[-1].content == f"{ran}\n{NOT_RUN}\n```"
    assert playing.cells[0].code == "agent.open('box_1')\nagent.open('box_2')\n1 / 0"
    assert playing.cells[0].thought.understanding == "A box."


def test_an_executor_that_may_take_one_action_is_stopped_at_the_second(sandbox: Sandbox) -> None:
    text = reply("agent.open('box_1')\nagent.open('box_2')\nagent.open('box_3')\n")
    model = PieceModel([text], list)
    result, playing = stream_cell(sandbox, model, actions=1)
    assert result.feedback.kind is FeedbackKind.UNFINISHED
    assert result.history[-1].content.endswith(f"agent.open('box_2')\n{NOT_RUN}\n```")
    assert model.sent_characters < len(text)
    assert len(playing.steps) == 1


@pytest.mark.parametrize("cut", [uncut, list])
def test_a_reply_that_is_not_streamed_is_kept_whole_with_a_mark_before_code_not_run(sandbox: Sandbox, cut: Cut) -> None:
    text = reply("agent.open('box_1')\n1 / 0\nagent.open('box_2')\n") + "\nThen I am done."
    ran = text[: text.index("1 / 0") + 5]
    result, playing = stream_cell(sandbox, PieceModel([text], cut), stream=False)
    assert result.history[-1].content == f"{ran}\n{NOT_RUN}{text.removeprefix(ran)}"
    assert len(playing.steps) == 1
    text = reply("agent.open('box_1')\n1 / 0\n") + "\nThen I am done."
    result, _ = stream_cell(sandbox, PieceModel([text], cut), stream=False)
    assert result.history[-1].content == text, "all of the code ran"


ACTS = "agent.open('box_1')\n"
REFUSED_PARTS = [
    (reply(FAULTY), 2, "line 3: unknown-action: agent has no action or attribute opne"),
    (reply(BROKEN), 1, "line 2: syntax: '(' was never closed"),
    (REVISED, 3, "revised: a later block of the reply redefines"),
    (reply(FAULTY_AT_ONCE), 0, "line 2: unknown-action"),
    (reply("def f(x):\n    return eval(x)\n" + 3 * ACTS), 0, "line 2: forbidden-name: `eval` is not available"),
    (reply(ACTS + "def f():\n    return nobody()\n" + 2 * ACTS), 1, "line 3: unknown-name: nobody is not defined"),
]


@pytest.mark.parametrize("cut", [list, uncut])
@pytest.mark.parametrize(("text", "last_line", "fault"), REFUSED_PARTS)
def test_only_the_statements_before_a_faulty_one_run(
    sandbox: Sandbox, text: str, last_line: int, fault: str, cut: Cut
) -> None:
    model = PieceModel([text, reply(SOLVE)], cut)
    assert played(sandbox, model, MemoryJournal()).outcome is Outcome.INDIRECT_SUCCESS
    prompt = model.prompts[1]
    ran = f"The code ran up to line {last_line}; the rest was not run." if last_line else "The code was not run."
    assert f"{ran} Correct this first:" in prompt
    assert fault in prompt
    assert ("1. agent.open('box_1') -> " in prompt, "2. agent" in prompt) == (last_line > 0, False)
    assert ("Printed:\none" in prompt) == (text == reply(FAULTY))


class ModelCutOff(PieceModel):
    """A model whose first reply ends for the reason ``finish``."""

    finish: Finish = "length"

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        reply = super().complete(messages, sampling, on_text)
        return reply.model_copy(update={"finish": self.finish}) if len(self.asked) == 1 else reply


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("beginning", ["```python\n", "``` \n", ""])
@pytest.mark.parametrize(("finish", "reason"), [("length", "cut off at its token limit"), ("refused", "refused")])
def test_the_beginning_of_a_cut_off_reply_is_not_taken_for_the_whole_plan(
    sandbox: Sandbox, finish: Finish, reason: str, beginning: str, stream: bool
) -> None:
    model = ModelCutOff([f"{beginning}agent.open('box_1')\nagent.open('box_2')\nagent.ope", reply(SOLVE)], list)
    model.finish = finish
    ending = played(sandbox, model, MemoryJournal(), stream=stream)
    if stream and "python" in beginning:
        assert "The reply broke off. Its code ran up to line 1;" in model.prompts[1]
    else:
        assert f"the reply was {reason}" in model.prompts[1]
        assert ending.outcome is Outcome.DIRECT_SUCCESS, "nothing of the first reply was run"


@sound_and_unsound
def test_an_episode_killed_after_any_event_ends_in_the_same_journal(sandbox: Sandbox, replies: Sequence[str]) -> None:
    expected = journal_of(sandbox, PieceModel(replies, list))
    kinds = [key[1] for key in expected.events]
    assert "piece" in kinds
    for events in cut_points(expected):
        killed, resumed = KilledJournal(events), MemoryJournal()
        with pytest.raises(JournalFailed):
            played(sandbox, PieceModel(replies, list), killed, **OPTIONS)
        assert len(killed.events) == events
        resumed.events = dict(killed.events)
        left = replies[kinds[:events].count("ask") :]
        model = PieceModel(left, list)
        played(sandbox, model, resumed, **OPTIONS)
        assert untimed(resumed) == untimed(expected)
        assert len(model.asked) == len(left), "a recorded reply is not asked for again"


def test_an_episode_cannot_be_resumed_if_the_model_replies_differently(sandbox: Sandbox) -> None:
    replies = [reply("a = agent.open('box_1')\nb = agent.open('box_2')\nagent.open('box_3')\nprint(a)\n"), "no"]
    events = list(journal_of(sandbox, PieceModel(replies, list)).events.items())
    second_action = [number for number, (key, _) in enumerate(events) if key[1] == "act"][1]
    journal = MemoryJournal()
    journal.events = dict(events[: second_action + 1])
    with pytest.raises(JournalMismatch, match="another reply of the model"):
        played(sandbox, PieceModel([reply("print('something else')")], list), journal, **OPTIONS)
    recorded: Any = next(body for (_, kind, _), body in journal.events.items() if kind == "ask")
    assert recorded["reply"]["text"].endswith("agent.open('box_3')\n"), "its cost is recorded as well"


class ReconnectingModel(PieceModel):
    """A model whose first stream breaks: the listener gets the beginning of a reply, but another one is returned."""

    def __init__(self, beginning: str, replies: Sequence[str]) -> None:
        super().__init__(replies)
        self._beginning = beginning

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        if not self.asked and on_text is not None:
            on_text(self._beginning)
            self.asked.append(messages)
            return Reply(text=self.replies[0])
        return super().complete(messages, sampling, on_text)


def test_the_beginning_of_a_broken_stream_counts_if_any_of_it_ran(sandbox: Sandbox) -> None:
    other = reply("agent.open('box_4')\nagent.open('box_5')\n")
    start = other.partition("agent")[0]
    acting = ReconnectingModel(f"{start}agent.open('box_1')\nagent.open('box_2')\n", [other, reply(SOLVE)])
    assert played(sandbox, acting, MemoryJournal(), **OPTIONS).outcome is Outcome.DIRECT_SUCCESS
    assert "1. agent.open('box_1')" in acting.prompts[1]
    assert "box_4" not in acting.prompts[1]
    idle = ReconnectingModel(f"{start}x = 1\n", [other, reply(SOLVE)])
    assert played(sandbox, idle, MemoryJournal(), **OPTIONS).outcome is Outcome.INDIRECT_SUCCESS
    assert "1. agent.open('box_4')" in idle.prompts[1]


@pytest.mark.parametrize("error", [EpisodeStopped, BudgetEnded])
def test_a_stopped_run_receives_the_reply_to_its_end_and_does_not_ask_again(
    sandbox: Sandbox, error: Callable[[], BaseException]
) -> None:
    replies = [reply("agent.open('box_1')\nagent.open('box_2')\nagent.open('box_3')\n"), reply(SOLVE)]
    expected, guarded = journal_of(sandbox, PieceModel(replies, list)), 0
    journal, model = MemoryJournal(), PieceModel(replies, list)

    def guard() -> None:
        nonlocal guarded
        guarded += model.sent_characters > 0
        if guarded == 2:
            raise error()

    with pytest.raises(type(error())):
        played(sandbox, model, journal, guard=guard, **OPTIONS)
    assert model.sent_characters == len(replies[0])
    assert [key[1] for key in journal.events][-1] == "ask"
    played(sandbox, PieceModel(replies[1:], list), journal, **OPTIONS)
    resumed, whole_run = (sorted(row for row in untimed(each) if row[0][1] != "piece") for each in (journal, expected))
    assert resumed == whole_run


def test_the_seconds_of_a_reply_exclude_those_of_the_plan(sandbox: Sandbox) -> None:
    class Slow(Toy):
        @action("agent.open('box_2') -> 'You open box_2. In it, you see key.'")
        def open(self, box: str) -> Observation:
            """Open a box."""
            time.sleep(0.1)
            return super().open(box)

    journal = MemoryJournal()
    model = ScriptedModel([reply("agent.open('box_1')\nagent.open('box_2')\nprint(1)"), reply(SOLVE)])
    played(sandbox, model, journal, environment=Slow(), **OPTIONS)
    recorded: Any = [body for (_, kind, _), body in journal.events.items() if kind == "ask"]
    assert recorded[0]["reply"]["seconds"] < 0.1


def test_in_reading_order_a_request_precedes_the_actions_of_its_reply(sandbox: Sandbox) -> None:
    journal = journal_of(sandbox, PieceModel(SOUND, list))
    events = [SimpleNamespace(scope=scope, kind=kind, body=body) for (scope, kind, _), body in journal.events.items()]
    kinds = [event.kind for event in in_reading_order(events)]
    assert kinds[:5] == ["task", "recall", "ask", "act", "cell"]
    assert sorted(kinds) == sorted(event.kind for event in events if event.kind != "piece")


@pytest.mark.parametrize(
    ("text", "broken"), [("a.b()\na.c('d", True), ("a.b()\na.c()", True), ("I look around and", False)]
)
def test_a_reply_without_fences_breaks_off_inside_its_code_if_it_has_calls(text: str, broken: bool) -> None:
    assert broke_off(Reply(text=text, finish="length")) == broken
    assert not broke_off(Reply(text=text))
