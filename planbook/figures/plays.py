"""The episodes of a run as figures need them: spans, claims, and the last action, read from the store."""

import re
from collections import defaultdict
from typing import Any

from planbook.planner import Ending, EventKind
from planbook.planner.spans import OLD_KINDS, Claim, Spans
from planbook.planner.strategies import Played, left_out_of_figures
from planbook.run import Entry
from planbook.store import RESTART, Event, Store

OF_EPISODE = re.compile(rf"(task/\d+)(?:{RESTART}(\d+))?/round/.+")
"""A scope inside the play of an episode, and how often it had been started over by then."""
KINDS: tuple[EventKind, ...] = ("span", "act", "rewind", *OLD_KINDS)


class Play:
    """One play of an episode."""

    def __init__(self) -> None:
        self.spans = Spans(left_out_of_figures())
        self.last_act: Any = None
        """The last action with its observation, as recorded."""
        self._taken = 0
        self.claim: Claim | None = None
        """What the method holds of the whole task, where nothing was done after that."""

    def take(self, event: Event) -> None:
        """Take the next event."""
        body: Any = event.body
        self.spans.take(event, self._taken)
        self._taken += 1
        if event.kind == "act":
            self.last_act, self.claim = body, None
        elif event.kind == "rewind":
            self.claim = None
        elif event.kind == "span" and body.get("name") == Claim.span:
            self.claim = Claim.model_validate(body["data"])


class Plays:
    """Those of a run, by the path of the episode. Of one that was started over, the last play counts."""

    def __init__(self, env: str = "") -> None:
        self.env = env if env.partition(":")[0].endswith(".py") else ""
        """The environment of the user's own that was played, by its file; empty for others, which tasks name."""
        self._last: dict[str, int] = {}
        self._plays: defaultdict[tuple[str, int], Play] = defaultdict(Play)

    def take(self, event: Event) -> None:
        """Keep what figures need of an event; they come in the order in which they were written."""
        if event.kind in KINDS and (inside := OF_EPISODE.fullmatch(event.scope)):
            path, again = inside[1], int(inside[2] or 0)
            self._last[path] = max(again, self._last.get(path, 0))
            self._plays[path, again].take(event)

    def play(self, path: str) -> Play:
        """All of it, of an episode."""
        return self._plays.get((path, self._last.get(path, 0)), Play())

    def played(self, entry: Entry, ending: Ending) -> Played:
        """The episode as the figures of methods need it."""
        return Played(entry.task.type, ending, list(self.play(entry.path).spans.recorded()))


def plays_in(store: Store, env: str = "") -> Plays:
    """All that a run's episodes have recorded so far, in the environment of that name."""
    found = Plays(env)
    for event in store.events(kind=KINDS):
        found.take(event)
    return found
