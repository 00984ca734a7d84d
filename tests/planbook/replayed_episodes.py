"""Recorded episodes that are played in this process, one after the other, and not by the command line."""

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from planbook.config import Config
from planbook.knowledge import memory_of
from planbook.learning.tasks import tasks_of
from planbook.planner import Ending, Message, Model, OnText, Reply, Roles, Sampling, play
from planbook.planner.journal import Body, EventKind, MemoryJournal
from planbook.runs import EpisodeEntry, Run
from planbook.sandbox import Sandbox
from planbook.workers import EpisodeWorker, open_model
from tests.flows import command_of, invoke
from tests.planbook.recorded_episodes import EPISODES

Event = tuple[str, EventKind, int, Body]
LONG = ("agentkit-crafter", "chain-of-thought-graph-crafter")
"""Recordings that take seconds and have hundreds of events."""
COVERED_ELSEWHERE = (
    "adapt-alfworld adapt-shopping adapt-textcraft deps-minecraft react-textcraft zero-shot-minecraft".split()
)
"""Recordings whose method and environment also occur in a longer recording."""
DEFAULT = [name for name in EPISODES if name not in (*LONG, *COVERED_ELSEWHERE)]
"""Recordings that tests play unless they are told to play all."""


class HostDied(BaseException):
    """Raised in place of the end of a host process. Everything in the memory of the host is lost."""


def config_of(name: str) -> Config:
    """Return the configuration of a recording, read from a run without calls."""
    with TemporaryDirectory() as folder:
        invoke(*command_of(name), "--model", f"recorded:{name}", "--budget", "calls=0", "--out", Path(folder) / "run")
        with closing(Run.open(Path(folder) / "run")) as run:
            return run.config


class MortalJournal(MemoryJournal):
    """A journal whose host dies after ``event_limit`` new events. With ``loses_last``, the last event is not stored."""

    def __init__(self, events: Sequence[Event] = (), *, event_limit: int = -1, loses_last: bool = False) -> None:
        super().__init__()
        self.events |= {(scope, kind, number): body for scope, kind, number, body in events}
        self._left, self._loses_last = event_limit, loses_last

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Store a copy of an event, as a file would."""
        self._left -= 1
        if self._left == 0 and self._loses_last:
            raise HostDied
        super().put(scope, kind, number, json.loads(json.dumps(body)))
        if self._left == 0:
            raise HostDied

    def rows(self) -> list[Event]:
        """Return all events, in order."""
        return [(*key, body) for key, body in self.events.items()]


class CountedModel:
    """A model that passes on all calls and adds the prompt of each to ``paid``, since a real call would cost money."""

    def __init__(self, model: Model, paid: list[str]) -> None:
        self.name, self._model, self._paid = model.name, model, paid

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the model's reply."""
        self._paid.append(json.dumps([message.model_dump() for message in messages]))
        return self._model.complete(messages, sampling, on_text)


class Life(NamedTuple):
    """The events of a host, and the prompts that it paid for, until it died or finished its episode."""

    events: list[Event]
    paid: list[str]
    ending: Ending | None


class RecordedEpisodes:
    """The episodes of a recording."""

    def __init__(self, name: str) -> None:
        self.config = config_of(name)
        self._model, self._memory = open_model(f"recorded:{name}"), memory_of(self.config)
        self.entries = [EpisodeEntry(index=index, task=task) for index, task in enumerate(tasks_of(self.config))]

    def play_episode(self, sandbox: Sandbox, entry: EpisodeEntry, journal: MortalJournal) -> Life:
        """Play an episode in a new environment, from its beginning or from the events in the journal."""
        paid = list[str]()
        model = CountedModel(self._model, paid)
        roles = Roles(lambda role: model, self.config.sampling, seed=self.config.seed)
        worker, ending = EpisodeWorker(self.config, sandbox, roles=roles), None
        with suppress(HostDied):
            ending = play(*worker.play_arguments(entry, entry.path, journal, self._memory))
        worker.drop_environment()
        return Life(journal.rows(), paid, ending)


@cache
def load_recording(name: str) -> RecordedEpisodes:
    """Return the episodes of a recording, which is read only once."""
    return RecordedEpisodes(name)
