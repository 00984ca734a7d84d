"""Replaying a recorded run: the same strategy on the same recording, and where it first comes out differently."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from planbook.config import Config
from planbook.envs import EnvsError, MissingRequirement
from planbook.episodes.lanes import Hosting, Lane, side_by_side
from planbook.episodes.onward import Onward, RecordedReplies
from planbook.episodes.renaming import is_renaming
from planbook.episodes.runner import play_entry
from planbook.episodes.telling import tell
from planbook.outcomes import UNPLAYED, outcome_of, why
from planbook.planner import Body, Ending, EventKind, JournalMismatch, Roles
from planbook.planner.errors import ModelError
from planbook.planner.roles import no_model
from planbook.run import Entry, Run, last_path, recorded_endings

Recorded = Mapping[tuple[str, str, int], Body]


class Sameness(StrEnum):
    """How a replayed episode compares with its recording."""

    SAME = "same"
    RENAMED = "renamed ids"
    """The whole episode differs only in ids that the environment declares, each renamed to one other throughout."""
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"
    """The recording has no ending, or was BROKEN."""


class Comparison(BaseModel):
    """One replayed episode. ``event`` names the first difference: which record, and its number in the round.

    ``then`` and ``now`` say how the episode ended, where that differs in whether it was solved; the recorded replies
    answer its questions after the first difference. Where they do not suffice, ``now`` alone says that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sameness: Sameness
    event: str = ""
    expected: str = ""
    actual: str = ""
    then: str = ""
    now: str = ""

    def __str__(self) -> str:
        changed = f"\n  the verdict changed: {self.then}, now {self.now}" if self.then else ""
        ends = changed or (f"\n  the verdict now is {self.now}" if self.now else "")
        return f"{self.sameness}, at {self.event}\n  expected: {self.expected}\n  actual:   {self.actual}{ends}"


class Recording:
    """A journal that only answers: an event that it does not hold is a difference.

    Spans are not compared: they tell what a method makes of all that is.
    """

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """The body of a recorded event, or None."""
        return None if kind == "span" else self._recorded.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Something happens that was not recorded."""
        if kind == "span":
            return
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
        return _judged(run, entry, path, lane, recorded, compared(mismatch))
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
    return Comparison(
        sameness=Sameness.DIFFERENT,
        event=f"{mismatch.kind} {mismatch.number + 1}",
        expected=expected.strip(),
        actual=actual.strip(),
    )


def _judged(run: Run, entry: Entry, path: str, lane: Lane, recorded: Recorded, found: Comparison) -> Comparison:
    """The comparison, with what only the whole episode tells: play it to its end with the recorded replies."""
    before, onward = lane.roles, Onward(recorded)
    lane.drop_world()
    lane.roles = Roles(lambda role: RecordedReplies(recorded), run.config.sampling)
    try:
        ending = play_entry(run.config, entry, path, lane, onward)
    except MissingRequirement:
        raise
    except (EnvsError, ModelError) as error:
        return found.model_copy(update={"now": f"not known: {error}"})
    finally:
        lane.roles = before
        lane.drop_world()
    changed: dict[str, Any] = {}
    then = Ending.model_validate(recorded[path, "outcome", 0])
    if then.outcome.solved != ending.outcome.solved:
        changed = {which: f"{outcome_of(end)}{why(end)}" for which, end in (("then", then), ("now", ending))}
    elif is_renaming(recorded, onward.events, run.config.world.object_ids):
        changed = {"sameness": Sameness.RENAMED}
    return found.model_copy(update=changed)
