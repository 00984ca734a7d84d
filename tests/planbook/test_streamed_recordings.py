"""Recorded replies of a strong model, streamed: the same steps as without, wherever each reply is cut.

Every place and every recording with PLANBOOK_CUTS=1; else some of both.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.config import RECORDINGS, Config
from planbook.envs.alfworld import tasks
from planbook.knowledge import memory_of
from planbook.planner import METHODS, Memory, MemoryJournal, play
from planbook.planner.models import Message, RecordedModel, Reply, Sampling
from planbook.planner.models.types import OnText
from planbook.planner.roles import Roles
from planbook.runs import Entry, Run
from planbook.sandbox import Sandbox
from planbook.workers import EpisodeWorker
from tests.flows import command_of, here
from tests.planbook.recorded_episodes import EPISODES
from tests.planner.pieces import Cut, at, timeless, whole

ALL = bool(os.environ.get("PLANBOOK_CUTS"))
SOME = ("adapt-textcraft-stepwise", "progprompt-minecraft", "react-textcraft")
STREAMED = [
    name
    for name in EPISODES
    if METHODS[command_of(name)[command_of(name).index("--planner") + 1]].streams
    and (ALL or name in SOME)
    and ("alfworld" not in name or "generated" in command_of(name) or (tasks.data_root() / tasks.DATA_FOLDER).is_dir())
]
PLACES = 4


class Told(RecordedModel):
    """A recording that tells its replies in chosen pieces."""

    def __init__(self, path: Path, cut: Cut) -> None:
        super().__init__(path)
        self._cut = cut

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        reply = super().complete(messages, sampling)
        sent = 0
        for piece in self._cut(reply.text) if on_text is not None else ():
            sent += len(piece)
            if on_text is not None and not on_text(piece):
                return reply.model_copy(update={"text": reply.text[:sent], "finish": "cut"})
        return reply


class Player:
    """Plays an episode of a recorded run again, told in pieces."""

    def __init__(self, name: str, config: Config, memory: Memory, sandbox: Sandbox) -> None:
        self._path, self._config, self._memory, self._sandbox = RECORDINGS / f"{name}.jsonl", config, memory, sandbox

    def _opened(self, cut: Cut, *, stream: bool) -> EpisodeWorker:
        model = Told(self._path, cut)
        roles = Roles(lambda role: model, self._config.sampling)
        return EpisodeWorker(self._config.model_copy(update={"stream": stream}), self._sandbox, roles=roles)

    def play(self, entry: Entry, cut: Cut, *, stream: bool = True) -> MemoryJournal:
        journal, worker = MemoryJournal(), self._opened(cut, stream=stream)
        try:
            play(*worker.episode(entry, entry.path, journal, self._memory))
        finally:
            worker.drop_environment()
        return journal


@pytest.fixture(params=STREAMED)
def recorded(request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path: Path) -> Iterator[tuple[Player, list[Entry]]]:
    """A player of a recording's run, and its episodes."""
    name = request.param
    played = here(*command_of(name), "--model", f"recorded:{name}", "--out", tmp_path / "run", "--json")
    assert played.returncode == 0, played.printed
    with closing(Run.open(tmp_path / "run")) as run:
        yield Player(name, run.config, memory_of(run.config), sandbox), run.entries()


def events_of(journal: MemoryJournal) -> list[Any]:
    """What happened, but for the code that a step left over: a streamed reply ends there."""
    return [
        (kind, body if kind != "cell" else {**body, "code": ""})
        for (_, kind, _), body in journal.events.items()
        if kind not in ("heard", "ask")
    ]


def replies(journal: MemoryJournal) -> list[str]:
    return [
        str(Reply.model_validate(body["reply"]).text) for (_, kind, _), body in journal.events.items() if kind == "ask"
    ]


def prompts(journal: MemoryJournal) -> list[Any]:
    return [body["messages"] for (_, kind, _), body in journal.events.items() if kind == "ask"]


def test_a_recorded_episode_goes_the_same_way_wherever_its_replies_are_cut(
    recorded: tuple[Player, list[Entry]],
) -> None:
    player, entries = recorded
    for entry in entries if ALL else entries[:1]:
        waited, streamed = player.play(entry, whole, stream=False), player.play(entry, whole)
        assert events_of(streamed) == events_of(waited)
        assert prompts(streamed) == prompts(waited)
        expected = timeless(streamed)
        assert timeless(player.play(entry, list)) == expected
        longest = max(len(text) for text in replies(waited))
        for place in range(1, longest, 1 if ALL else longest // PLACES):
            assert timeless(player.play(entry, at(place))) == expected, (entry.path, place)
