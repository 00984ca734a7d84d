"""Replaying a recorded run: the same strategy on the same recording, and where it first comes out differently."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from envs import EnvsError, MissingRequirement
from planbook.config import Config
from planbook.episodes.lanes import Hosting, Lane, side_by_side
from planbook.episodes.runner import play_entry
from planbook.episodes.telling import tell
from planbook.figures.causes import UNPLAYED
from planbook.run import Entry, Run, last_path, recorded_endings
from planner import Body, Ending, EventKind, JournalMismatch, Roles
from planner.asking import no_model

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

    def __str__(self) -> str:
        return f"{self.sameness}, at {self.event}\n  expected: {self.expected}\n  actual:   {self.actual}"


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


def replay_run(run: Run, on_comparison: Callable[[Entry, Comparison], None], hosting: Hosting | None = None) -> bool:
    """Play every recorded episode again and compare. Returns False if Ctrl-C stopped it."""
    config = run.config
    endings = recorded_endings(run)

    def play_one(entry: Entry, lane: Lane) -> Comparison:
        return replay_entry(run, entry, lane, endings.get(entry.index))

    return side_by_side(
        run.entries(),
        config.world,
        config.world_options,
        play_one,
        on_comparison,
        hosting or Hosting(),
        open_roles=lambda stopped: mute(config),
    )


def mute(config: Config) -> Roles:
    """The roles of a run that is replayed: the record answers, and nobody is asked."""
    return Roles(no_model, config.sampling)


def replay_entry(run: Run, entry: Entry, lane: Lane, ending: Ending | None) -> Comparison:
    """Play an episode again, and hold it against its recording; ``ending`` is the recorded one."""
    if ending is None or ending.outcome in UNPLAYED:
        return Comparison(sameness=Sameness.NOT_COMPARED)
    path = last_path(run, entry)
    recorded = {(row.scope, row.kind, row.n): row.body for row in run.store.events(path)}
    try:
        play_entry(run.config, entry, path, lane, Recording(recorded))
    except JournalMismatch as mismatch:
        lane.drop_world()
        return compared(mismatch)
    except MissingRequirement:
        raise
    except EnvsError as error:
        lane.drop_world()
        return Comparison(sameness=Sameness.NOT_COMPARED, event="the world", expected="an episode", actual=str(error))
    return Comparison(sameness=Sameness.SAME)


def compared(mismatch: JournalMismatch) -> Comparison:
    """A difference in words."""
    bodies = (mismatch.recorded, mismatch.actual)
    expected, actual = (tell(mismatch.kind, body) for body in bodies)
    if expected == actual:  # they differ in what the words leave out
        expected, actual = map(str, bodies)
    renamed = expected != actual and without_numbers(expected) == without_numbers(actual)
    return Comparison(
        sameness=Sameness.RENAMED if renamed else Sameness.DIFFERENT,
        event=f"{mismatch.kind} {mismatch.number + 1}",
        expected=expected.strip(),
        actual=actual.strip(),
    )


def without_numbers(text: str) -> str:
    """The text with the numbers of its object ids replaced by the order in which each id first appears."""
    seen: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"{match[1]}_#{seen.setdefault(match[0], len(seen))}"

    return OBJECT_ID.sub(number, text)
