"""Plans that run while the model still writes them: the same steps, however the reply comes, and no word too many."""

import os
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from planbook.envs import Observation, action
from planbook.envs.toy import Toy
from planbook.planner import (
    Body,
    BudgetEnded,
    Episode,
    EpisodeStopped,
    EventKind,
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
from planbook.planner.models.types import OnText, data_digest
from planbook.planner.strategies.adapt.executor import EXECUTOR
from planbook.planner.streaming import NOT_RUN
from planbook.planner.trajectory import in_reading_order
from planbook.sandbox import Sandbox
from tests.planner.pieces import Piecewise, at, cuts, episode, played, timeless, whole
from tests.planner.players import THING

STRIDE = 1 if os.environ.get("PLANBOOK_CUTS") else 23
"""Replies are cut at each so-manieth place; with PLANBOOK_CUTS=1 at every one."""


def reply(code: str, before: str = "### Understanding\nA box.\n### Code", after: str = "So far.") -> str:
    return f"{before}\n```python\n{code.strip()}\n```\n{after}\n"


LOOK = "import random\n\ndef look(n):\n    # where it may be\n    return agent.open(f'box_{n}')\n\n\nLIMIT = 3\n"
RAISES = (
    LOOK + "seen = look(1)\nif seen:\n    print(seen)\nelse:\n    print('none')\nassert not seen, 'Step 1'\nlook(2)\n"
)
FAULTY = "agent.open('box_1')\nprint('one')\nagent.opne('box_2')\nagent.open('box_3')\n"
BROKEN = "agent.open('box_1')\nprint('two'\nagent.open('box_2')\n"
FAULTY_AT_ONCE = "x = 1\nagent.opne('box_1')\nagent.open('box_2')\n"
BROKEN_AT_ONCE = "print('two'\nagent.open('box_2')\n"
ONLY_DEFINES = LOOK
LATE_NAME = "def f():\n    return g()\n\nagent.open('box_1')\n\ndef g():\n    return agent.open('box_2')\n\nf()\n"
SOLVE = f"""
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

SOUND = [reply(RAISES), reply(LATE_NAME), TWO_BLOCKS, UNMARKED, BARE, reply("agent.open('box_4')\n" + LOOK + SOLVE)]
"""Replies that pass the check as a whole."""
UNSOUND = [
    reply(FAULTY),
    reply(BROKEN),
    reply(FAULTY_AT_ONCE),
    reply(BROKEN_AT_ONCE),
    reply(ONLY_DEFINES),
    reply(RAISES).replace("\n", "\r\n"),
    REVISED,
    "I do not know.",
    reply(LOOK + SOLVE),
]
OPTIONS: dict[str, Any] = {"options": {"replans": 9}}


def journal_of(sandbox: Sandbox, model: Model, **given: Any) -> MemoryJournal:
    journal = MemoryJournal()
    played(sandbox, model, journal, **OPTIONS, **given)
    return journal


@pytest.mark.parametrize("replies", [SOUND, UNSOUND], ids=["sound", "unsound"])
def test_the_journal_is_the_same_wherever_a_reply_is_cut(sandbox: Sandbox, replies: Sequence[str]) -> None:
    expected = timeless(journal_of(sandbox, Piecewise(replies)))
    assert sum(key[1] == "ask" for key, _ in expected) == len(replies)
    assert timeless(journal_of(sandbox, Piecewise(replies, cut=list))) == expected
    for place in range(0, max(map(len, replies)), STRIDE):
        assert timeless(journal_of(sandbox, Piecewise(replies, at(place)))) == expected, place


def test_a_sound_plan_does_the_same_as_without_streaming(sandbox: Sandbox) -> None:
    streamed, waited = MemoryJournal(), MemoryJournal()
    ours, theirs = Piecewise(SOUND, list), Piecewise(SOUND, list)
    assert played(sandbox, ours, streamed, **OPTIONS) == played(sandbox, theirs, waited, stream=False, **OPTIONS)
    assert [data_digest(asked) for asked in ours.asked] == [data_digest(asked) for asked in theirs.asked]

    def told(journal: MemoryJournal, kind: str) -> list[Any]:
        return [{**body, "code": ""} for (_, each, _), body in journal.events.items() if each == kind]

    for kind in ("task", "act", "cell", "outcome"):
        assert told(streamed, kind) == told(waited, kind)
    assert [key[1] for key in waited.events if key[1] == "heard"] == []


class GoOn:
    """A prompt."""

    name = "go on"

    def render(self, **variables: object) -> str:
        return "Go on."


class Watched(Toy):
    """Knows how much of the reply had come when each action was taken."""

    def __init__(self, model: Piecewise) -> None:
        super().__init__()
        self._model, self.told = model, list[int]()

    @action("agent.open('box_2') -> 'You open box_2. In it, you see key.'")
    def open(self, box: str) -> Observation:
        """Open a box."""
        self.told.append(self._model.told)
        return super().open(box)


def test_a_step_is_taken_as_soon_as_its_statement_is_certain_and_a_failing_one_stops_the_reply(
    sandbox: Sandbox,
) -> None:
    text = reply("agent.open('box_1')\nagent.open('box_2')\n1 / 0\nagent.open('box_3')\n" + "print(1)\n" * 20)
    model = Piecewise([text], list)
    environment = Watched(model)
    playing = episode(sandbox, model, environment=environment)
    playing.begin()
    told = playing.stream(EXECUTOR, GoOn())
    playing.close()
    ends = [text.index(call) + len(call) + 1 for call in ("'box_2')", "1 / 0")]
    assert environment.told == ends
    assert model.told == text.index("'box_3')") + len("'box_3')") + 1
    assert told.feedback.kind is FeedbackKind.RAISED
    assert told.feedback.line == 3
    ran = text[: text.index("1 / 0") + len("1 / 0")]
    assert told.history[-1].content == f"{ran}\n{NOT_RUN}\n```"
    assert playing.cells[0].code == "agent.open('box_1')\nagent.open('box_2')\n1 / 0"
    assert playing.cells[0].thought.understanding == "A box."


def test_the_prefix_before_a_faulty_statement_runs(sandbox: Sandbox) -> None:
    model = Piecewise([reply(FAULTY), reply(BROKEN), REVISED, reply(FAULTY_AT_ONCE), reply(LOOK + SOLVE)], list)
    journal = MemoryJournal()
    assert played(sandbox, model, journal, **OPTIONS).outcome is Outcome.INDIRECT_SUCCESS
    after_faulty, after_broken, after_revised, after_none = model.prompts[1:]
    for prompt, line, said in (
        (after_faulty, 2, "line 3: unknown-action: agent has no action or attribute opne"),
        (after_broken, 1, "line 2: syntax: '(' was never closed"),
        (after_revised, 3, "revised: a later block of the reply defines again"),
    ):
        assert "1. agent.open('box_1') -> " in prompt
        assert f"The code ran up to line {line}; what follows was not run. Mend this first:" in prompt
        assert said in prompt
        assert "2. agent" not in prompt
    assert "Printed:\none" in after_faulty
    assert "The code was not run. Mend this first:\nline 2: unknown-action" in after_none


def test_what_cannot_be_used_is_asked_again_as_long_as_nothing_has_run(sandbox: Sandbox) -> None:
    nothing = reply("import random\n\ndef f():\n    return agent.open('box_1')\n")
    model = Piecewise([reply(BROKEN_AT_ONCE), nothing, reply(LOOK + SOLVE)], list)
    journal = MemoryJournal()
    assert played(sandbox, model, journal).outcome is Outcome.DIRECT_SUCCESS
    assert "'(' was never closed" in model.prompts[1]
    assert "the code only defines functions" in model.prompts[2]
    assert len([key for key in journal.events if key[1] == "cell"]) == 1


ACTS = "agent.open('box_1')\n"
IN_DOUBT = [
    ("def f(x):\n    return eval(x)\n" + 3 * ACTS, 0, "line 2: forbidden-name: `eval` is not available"),
    (ACTS + "def f():\n    return nobody()\n" + 2 * ACTS, 1, "line 3: unknown-name: nobody is not defined"),
]


@pytest.mark.parametrize(("code", "ran_to", "said"), IN_DOUBT)
def test_nothing_runs_from_a_statement_on_that_later_ones_do_not_put_right(
    sandbox: Sandbox, code: str, ran_to: int, said: str
) -> None:
    for cut in (list, whole):
        model, journal = Piecewise([reply(code), reply(LOOK + SOLVE)], cut), MemoryJournal()
        assert played(sandbox, model, journal).outcome is Outcome.INDIRECT_SUCCESS
        told = f"The code ran up to line {ran_to}; what follows was not run." if ran_to else "The code was not run."
        assert told in model.prompts[1]
        assert said in model.prompts[1]
        assert ("1. agent" in model.prompts[1], "2. agent" in model.prompts[1]) == (ran_to > 0, False)


class Mortal(MemoryJournal):
    """Fails at the so-manieth new event, as a process that is killed there."""

    def __init__(self, events: dict[tuple[str, EventKind, int], Body], lives: int) -> None:
        super().__init__()
        self.events, self._lives = dict(events), lives

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        if self._lives == 0:
            raise OSError("killed")
        self._lives -= 1
        super().put(scope, kind, number, body)


class Resumed(Piecewise):
    """The replies behind those that are in the journal already."""

    def __init__(self, replies: Sequence[str], journal: MemoryJournal) -> None:
        super().__init__(replies[sum(key[1] == "ask" for key in journal.events) :], list)


@pytest.mark.parametrize("replies", [SOUND, UNSOUND], ids=["sound", "unsound"])
def test_an_episode_killed_after_any_event_ends_in_the_same_journal(sandbox: Sandbox, replies: Sequence[str]) -> None:
    expected = journal_of(sandbox, Piecewise(replies, list))
    kinds = [key[1] for key in expected.events]
    assert "heard" in kinds
    for lives in cuts(expected):
        journal = Mortal({}, lives)
        with pytest.raises(JournalFailed):
            played(sandbox, Piecewise(replies, list), journal, **OPTIONS)
        assert len(journal.events) == lives
        again = MemoryJournal()
        again.events = dict(journal.events)
        model = Resumed(replies, again)
        played(sandbox, model, again, **OPTIONS)
        assert timeless(again) == timeless(expected)
        assert len(model.asked) == len(replies) - kinds[:lives].count("ask"), "no reply is asked for that is there"


def cut_off(sandbox: Sandbox, replies: Sequence[str], kind: str, number: int) -> MemoryJournal:
    """The journal of an episode that was killed right after the so-manieth event of a kind."""
    events = list(journal_of(sandbox, Piecewise(replies, list)).events.items())
    place = [place for place, (key, _) in enumerate(events) if key[1] == kind][number]
    journal = MemoryJournal()
    journal.events = dict(events[: place + 1])
    return journal


def test_where_the_model_says_otherwise_after_a_crash_the_episode_cannot_be_repeated(sandbox: Sandbox) -> None:
    replies = [reply("a = agent.open('box_1')\nb = agent.open('box_2')\nagent.open('box_3')\nprint(a)\n"), "no"]
    journal = cut_off(sandbox, replies, "act", 1)
    model = Piecewise([reply("print('something else')")], list)
    with pytest.raises(JournalMismatch, match="another reply of the model"):
        played(sandbox, model, journal, **OPTIONS)
    asked: Any = next(body for (_, kind, _), body in journal.events.items() if kind == "ask")
    assert asked["reply"]["text"].endswith("agent.open('box_3')\n"), "and what it cost is recorded"


class BrokenOff(Piecewise):
    """A stream that breaks and begins anew otherwise: the listener hears no more, and the reply is another text."""

    def __init__(self, heard: str, replies: Sequence[str]) -> None:
        super().__init__(replies)
        self._heard = heard

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        if not self.asked and on_text is not None:
            on_text(self._heard)
            self.asked.append(messages)
            return Reply(text=self.replies[0])
        return super().complete(messages, sampling, on_text)


def test_what_was_heard_of_a_broken_stream_stands_if_it_was_acted_upon(sandbox: Sandbox) -> None:
    other = reply("agent.open('box_4')\nagent.open('box_5')\n")
    begun = other.partition("agent")[0]
    acted = BrokenOff(begun + "agent.open('box_1')\nagent.open('box_2')\n", [other, reply(LOOK + SOLVE)])
    assert played(sandbox, acted, MemoryJournal(), **OPTIONS).outcome is Outcome.DIRECT_SUCCESS
    assert "1. agent.open('box_1')" in acted.prompts[1]
    assert "box_4" not in acted.prompts[1]
    idle = BrokenOff(begun + "x = 1\n", [other, reply(LOOK + SOLVE)])
    assert played(sandbox, idle, MemoryJournal(), **OPTIONS).outcome is Outcome.INDIRECT_SUCCESS
    assert "1. agent.open('box_4')" in idle.prompts[1]


@pytest.mark.parametrize("error", [EpisodeStopped, BudgetEnded])
def test_a_reply_is_heard_out_when_the_run_is_stopped_and_is_not_asked_for_again(
    sandbox: Sandbox, error: Callable[[], BaseException]
) -> None:
    replies = [reply("agent.open('box_1')\nagent.open('box_2')\nagent.open('box_3')\n"), reply(LOOK + SOLVE)]
    expected, taken = journal_of(sandbox, Piecewise(replies, list)), 0

    def guard() -> None:
        nonlocal taken
        taken += 1
        if taken == 2:
            raise error()

    journal, model = MemoryJournal(), Piecewise(replies, list)
    with pytest.raises(type(error())):
        played(sandbox, model, journal, guard=lambda: guard() if model.told else None, **OPTIONS)
    assert model.told == len(replies[0])
    assert [key[1] for key in journal.events][-1] == "ask"
    again = Piecewise(replies[1:], list)
    played(sandbox, again, journal, **OPTIONS)
    assert sorted(row for row in timeless(journal) if row[0][1] != "heard") == sorted(
        row for row in timeless(expected) if row[0][1] != "heard"
    )


def test_the_time_that_the_plan_takes_is_not_the_models(sandbox: Sandbox) -> None:
    class Slow(Toy):
        @action("agent.open('box_2') -> 'You open box_2. In it, you see key.'")
        def open(self, box: str) -> Observation:
            """Open a box."""
            time.sleep(0.1)
            return super().open(box)

    journal = MemoryJournal()
    model = ScriptedModel([reply("agent.open('box_1')\nagent.open('box_2')\nprint(1)"), reply(LOOK + SOLVE)])
    played(sandbox, model, journal, environment=Slow(), **OPTIONS)
    asked: Any = [body for (_, kind, _), body in journal.events.items() if kind == "ask"]
    assert asked[0]["reply"]["seconds"] < 0.1


def test_readers_see_the_question_before_what_it_led_to(sandbox: Sandbox) -> None:
    journal = journal_of(sandbox, Piecewise(SOUND, list))
    events = [SimpleNamespace(scope=scope, kind=kind, body=body) for (scope, kind, _), body in journal.events.items()]
    kinds = [event.kind for event in in_reading_order(events)]
    assert kinds[:5] == ["task", "recall", "ask", "act", "cell"]
    assert "heard" not in kinds
    assert len(kinds) == sum(event.kind != "heard" for event in events)


def test_an_executor_that_may_take_one_action_is_stopped_at_the_second(sandbox: Sandbox) -> None:
    text = reply("agent.open('box_1')\nagent.open('box_2')\nagent.open('box_3')\n")
    model = Piecewise([text, reply(f"def look(n):\n    return agent.open(f'box_{{n}}')\n{SOLVE}")], list)
    playing = episode(sandbox, model)
    playing.begin()
    told = playing.stream(EXECUTOR, GoOn(), actions=1)
    assert told.feedback.kind is FeedbackKind.UNFINISHED
    assert told.history[-1].content.endswith(f"agent.open('box_2')\n{NOT_RUN}\n```")
    assert model.told < len(text)
    _ends(playing)


def _ends(playing: Episode) -> None:
    assert len(playing.steps) == 1
    playing.close()


def test_the_conversation_keeps_the_whole_reply_and_marks_what_was_not_run(sandbox: Sandbox) -> None:
    text = reply("agent.open('box_1')\n1 / 0\nagent.open('box_2')\n") + "\nThen I am done."
    ran = text[: text.index("1 / 0") + 5]
    for cut in (whole, list):
        playing = episode(sandbox, Piecewise([text], cut), stream=False)
        playing.begin()
        told = playing.stream(EXECUTOR, GoOn())
        assert told.history[-1].content == f"{ran}\n{NOT_RUN}{text.removeprefix(ran)}"
        _ends(playing)


def test_a_reply_whose_last_statement_fails_is_kept_as_it_is(sandbox: Sandbox) -> None:
    text = reply("agent.open('box_1')\n1 / 0\n") + "\nThen I am done."
    playing = episode(sandbox, Piecewise([text], whole), stream=False)
    playing.begin()
    assert playing.stream(EXECUTOR, GoOn()).history[-1].content == text
    _ends(playing)
