"""Plans that run while the model writes them: when the first action is taken, and the tokens that a failure saves.

The replies are those of recordings that ship; a local server streams them at 30 tokens a second. For failures a line
that fails is put into each reply, before the statement in the middle of its plan.
"""

import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

from planbook.config import Config
from planbook.envs import MissingRequirement
from planbook.knowledge import memory_of
from planbook.planner import Body, EventKind
from planbook.runs import Run
from planbook.sandbox import read_reply, statements_of
from planbook.settings import Settings
from planbook.workers import Hosting, check_roles, play_episodes
from tools.bench import Row
from tools.bench.paced_server import Answer, Recorded, Sent, paced
from tools.bench.prompts import recorded_requests

TOKENS_A_SECOND = 30.0
RUNS: Mapping[str, tuple[str, dict[str, str]]] = {
    "adapt-alfworld": ("adapt", {"env": "alfworld", "split": "generated:3"}),
    "adapt-shopping": ("adapt", {"env": "shopping", "split": "test:3"}),
    "adapt-textcraft": ("adapt", {"env": "textcraft", "split": "test:6"}),
    "code-as-policies-minecraft": ("code-as-policies", {"env": "minecraft", "split": "table21:4"}),
    "react-textcraft": ("react", {"env": "textcraft", "split": "test:2"}),
}
"""Recordings, and the runs whose questions they answer: the planner, and what selects the tasks."""
FAILS = 'assert False, "this step failed"'
GIVEN_UP = Recorded("I give up.", 3)
MODEL = {"models": ("openai:paced",)}


class Timings(NamedTuple):
    """Of each episode the seconds to its first action and to its end, from its first question on; what was sent."""

    first: list[float]
    whole: list[float]
    sent: list[Sent]

    def add(self, other: "Timings") -> None:
        """Take in what was measured in another run."""
        self.first.extend(other.first)
        self.whole.extend(other.whole)
        self.sent.extend(other.sent)

    @property
    def saved(self) -> int:
        """Tokens that were not sent."""
        return sum(each.whole - each.tokens for each in self.sent)


def rows(names: Sequence[str] = tuple(RUNS), rate: float = TOKENS_A_SECOND) -> list[Row]:
    """Figures over all the runs whose environments are installed."""
    waited, streamed, failed = Timings([], [], []), Timings([], [], []), Timings([], [], [])
    missing: list[Row] = []
    for name in names:
        try:
            for found, stream, fails in ((waited, False, False), (streamed, True, False), (failed, True, True)):
                found.add(_play(name, rate, stream=stream, fails=fails))
        except MissingRequirement as error:
            missing.append(Row(f"stream: {name} was not played: {error}", None, ""))
    return [*_figures(waited, streamed, failed, rate), *missing]


def _figures(waited: Timings, streamed: Timings, failed: Timings, rate: float) -> list[Row]:
    source = f"{len(waited.first)} recorded replies at {rate:g} tokens a second"
    all_tokens, to_fail = (sum(each.whole for each in found.sent) for found in (streamed, failed))
    return [
        Row("stream: first action, median, the whole reply awaited", median(waited.first), "s", None, source),
        _beside("stream: first action, median, streamed", median(waited.first), median(streamed.first)),
        Row("stream: plan carried out, median, the whole reply awaited", median(waited.whole), "s"),
        _beside("stream: plan carried out, median, streamed", median(waited.whole), median(streamed.whole)),
        Row("stream: tokens not sent, of plans that succeed", streamed.saved, "", None, f"of {all_tokens:,}"),
        Row(
            "stream: tokens not sent, of plans that fail in the middle",
            100 * failed.saved / to_fail,
            "%",
            None,
            f"{failed.saved:,} of {to_fail:,} in {len(failed.sent)} replies",
        ),
    ]


def _beside(name: str, waited: float, streamed: float) -> Row:
    return Row(name, streamed, "s", waited / streamed, "the whole reply awaited")


def _play(name: str, rate: float, *, stream: bool, fails: bool) -> Timings:
    planner, chosen = RUNS[name]
    config = Settings.of(**MODEL, **chosen).config(planner).model_copy(update={"stream": stream})
    tasks = config.environment.select(config.selection)
    with paced(_answer(name, fails=fails), rate) as sent:
        check_roles(config)  # the SDK is imported beforehand
        times = _timed(config, len(tasks))
    plans = [each for each in sent if each.whole > GIVEN_UP.tokens]
    return Timings([each.first for each in times], [each.whole for each in times], plans)


def _answer(name: str, *, fails: bool) -> Answer:
    """The recorded reply to a conversation; of one that was never held, since a plan failed, that it is given up."""
    replies: dict[tuple[str, ...], Recorded] = {}
    for each in recorded_requests(name):
        reply = each["reply"]
        text = _failing(reply["text"]) if fails else reply["text"]
        asked = tuple(message["content"] for message in each["messages"])
        replies[asked] = Recorded(text, reply["usage"]["completion"])
    return lambda contents: replies.get(tuple(contents), GIVEN_UP)


def _failing(text: str) -> str:
    """The reply with a line that fails before the statement in the middle of its plan."""
    reply = read_reply(text)
    found = statements_of(reply.code.split("\n"))
    before = found[len(found) // 2 - 1].last_line if len(found) > 1 else 0
    lines = text.split("\n")
    place = reply.reply_line(before) if before else reply.blocks[0].line - 1
    return "\n".join([*lines[:place], FAILS, *lines[place:]])


class Times(NamedTuple):
    """Seconds from an episode's first question on."""

    first: float
    whole: float


def _timed(config: Config, episodes: int) -> list[Times]:
    """Play all episodes side by side, and time each by its events; the first plan alone counts."""
    events: defaultdict[int, list[tuple[float, EventKind]]] = defaultdict(list)

    def watch(kind: EventKind, body: Body) -> None:
        events[threading.get_ident()].append((time.monotonic(), kind))

    with tempfile.TemporaryDirectory() as folder:
        tasks = config.environment.select(config.selection)
        with closing(Run.create(Path(folder) / "run", config, tasks)) as run:
            hosting = Hosting(jobs=episodes if config.environment.parallel else 1)
            play_episodes(run, memory_of(config), lambda entry, ending: None, hosting=hosting, watch=watch)
    return [times for played in events.values() for times in _of_thread(played)]


def _of_thread(events: Sequence[tuple[float, EventKind]]) -> list[Times]:
    """Of each episode that took an action; one begins with its task."""
    begins = [place for place, (_, kind) in enumerate(events) if kind == "task"]
    found = []
    for begin, end in zip(begins, [*begins[1:], len(events)], strict=True):
        own = events[begin:end]
        said = next(place for place, (_, kind) in enumerate(own) if kind in ("heard", "ask"))
        acted = [at for at, kind in own if kind == "act"]
        ran = [at for at, kind in own if kind == "cell"]
        if acted and ran:
            found.append(Times(acted[0] - own[said - 1][0], ran[0] - own[said - 1][0]))
    return found
