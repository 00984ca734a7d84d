"""Replaying a recorded run: the same strategy on the same recording, and where it first comes out differently."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from envs import load_world
from planbook.lanes import Lane, side_by_side
from planbook.run import Entry, Run
from planbook.runner import play_entry, recorded_endings
from planner import Body, Ending, EventKind, JournalMismatch, Outcome, Step

OBJECT_ID = re.compile(r"\b([A-Za-z]+)[ _](\d+)\b")


class Sameness(StrEnum):
    """How a replayed episode compares with its recording."""

    SAME = "same"
    RENAMED = "renamed ids"
    """The first difference is one of numbers in object ids only."""
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"
    """The recording has no ending, or was BROKEN."""


class Comparison(BaseModel):
    """One replayed episode. ``event`` names the first difference: which record, and its number in the round."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sameness: Sameness
    event: str = ""
    expected: str = ""
    actual: str = ""


class Recording:
    """A journal that only answers: an event that it does not hold is a difference."""

    def __init__(self, recorded: Mapping[tuple[str, str, int], Body]) -> None:
        self._recorded = recorded

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """The body of a recorded event, or None."""
        return self._recorded.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Something happens that was not recorded."""
        raise JournalMismatch(scope, kind, number, None, dict(body))


def replay_run(run: Run, on_comparison: Callable[[Entry, Comparison], None], *, jobs: int = 1) -> bool:
    """Play every recorded episode again and compare. Returns False if Ctrl-C stopped it."""
    world_class = load_world(run.config.env)
    options = world_class.Options.model_validate(run.config.env_options)
    endings = recorded_endings(run)

    def play_one(entry: Entry, lane: Lane) -> Comparison:
        return _replay(run, entry, lane, endings.get(entry.index))

    return side_by_side(run.entries(), world_class, options, play_one, on_comparison, jobs)


def _replay(run: Run, entry: Entry, lane: Lane, ending: Ending | None) -> Comparison:
    if ending is None or ending.outcome is Outcome.BROKEN:
        return Comparison(sameness=Sameness.NOT_COMPARED)
    path = _last_path(run, entry)
    recorded = {(row.scope, row.kind, row.n): row.body for row in run.store.events(path)}
    try:
        play_entry(run.config, entry, path, lane, Recording(recorded))
    except JournalMismatch as mismatch:
        return _compare(mismatch)
    return Comparison(sameness=Sameness.SAME)


def _last_path(run: Run, entry: Entry) -> str:
    """The scope of the episode as it was last started over."""
    scopes = [row.scope for row in run.store.events(entry.path, "outcome")]
    return scopes[-1]


def _compare(mismatch: JournalMismatch) -> Comparison:
    expected, actual = (_told(mismatch.kind, body) for body in (mismatch.recorded, mismatch.actual))
    renamed = expected != actual and without_numbers(expected) == without_numbers(actual)
    return Comparison(
        sameness=Sameness.RENAMED if renamed else Sameness.DIFFERENT,
        event=f"{mismatch.kind} {mismatch.number + 1}",
        expected=expected,
        actual=actual,
    )


def without_numbers(text: str) -> str:
    """The text with the numbers of its object ids replaced by the order in which each id first appears."""
    seen: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"{match[1]}_#{seen.setdefault(match[0], len(seen))}"

    return OBJECT_ID.sub(number, text)


def _told(kind: str, body: Any) -> str:
    """What a record says, in the words that matter for its kind."""
    if body is None:
        return "nothing (the recording ends here)"
    tell = TELL.get(kind)
    return tell(body) if tell else str(body)


def _told_act(body: dict[str, Any]) -> str:
    step = Step.model_validate(body)
    return f"line {step.line}: agent.{step.action} -> {step.observation.text}"


def _told_cell(body: dict[str, Any]) -> str:
    return f"{body['source']}: {body['feedback']['kind']}\n{body['feedback']['text']}"


def _told_ending(body: dict[str, Any]) -> str:
    return f"{body['outcome']} after {body['actions']} actions {body['message']}".strip()


def _told_task(body: dict[str, Any]) -> str:
    return f"{body['task']['goal']}\n{body['observation']['text']}"


TELL: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "act": _told_act,
    "cell": _told_cell,
    "outcome": _told_ending,
    "task": _told_task,
}
