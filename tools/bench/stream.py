"""Plans that run while the model writes them: the time of the first action, and the tokens that a failure saves.

A local server streams the replies of shipped recordings at 30 tokens per second. For the failures, each reply gets a
failing line before the statement in the middle of its plan.
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

TOKENS_PER_SECOND = 30.0
RUNS: Mapping[str, tuple[str, dict[str, str]]] = {
    "adapt-alfworld": ("adapt", {"env": "alfworld", "split": "generated:3"}),
    "adapt-shopping": ("adapt", {"env": "shopping", "split": "test:3"}),
    "adapt-textcraft": ("adapt", {"env": "textcraft", "split": "test:6"}),
    "code-as-policies-minecraft": ("code-as-policies", {"env": "minecraft", "split": "table21:4"}),
    "react-textcraft": ("react", {"env": "textcraft", "split": "test:2"}),
}
"""By recording, the run that it answers: the planner, and the selection of tasks."""
FAILS = 'assert False, "this step failed"'
GIVEN_UP = Recorded("I give up.", 3)
MODEL = {"models": ("openai:paced",)}


class Timings(NamedTuple):
    """Seconds from each episode's first request to its first action and its first plan's end, and the tokens sent."""

    first: list[float]
    whole: list[float]
    sent: list[Sent]

    def add(self, other: "Timings") -> None:
        """Add the figures of another run."""
        self.first.extend(other.first)
        self.whole.extend(other.whole)
        self.sent.extend(other.sent)

    @property
    def saved(self) -> int:
        """The number of tokens that were not sent."""
        return sum(each.whole - each.tokens for each in self.sent)


def rows(names: Sequence[str] = tuple(RUNS), rate: float = TOKENS_PER_SECOND) -> list[Row]:
    """Return the figures over all runs whose environments are installed."""
    waited, streamed, failed = Timings([], [], []), Timings([], [], []), Timings([], [], [])
    missing: list[Row] = []
    for name in names:
        try:
            for timings, stream, fails in ((waited, False, False), (streamed, True, False), (failed, True, True)):
                timings.add(_play(name, rate, stream=stream, fails=fails))
        except MissingRequirement as error:
            missing.append(Row(f"stream: {name} was not played: {error}", None, ""))
    return [*_figures(waited, streamed, failed, rate), *missing]


def _figures(waited: Timings, streamed: Timings, failed: Timings, rate: float) -> list[Row]:
    source = f"{len(waited.first)} recorded replies at {rate:g} tokens a second"
    all_tokens, to_fail = (sum(each.whole for each in timings.sent) for timings in (streamed, failed))
    return [
        Row("stream: first action, median, the whole reply awaited", median(waited.first), "s", None, source),
        _compared("stream: first action, median, streamed", median(waited.first), median(streamed.first)),
        Row("stream: plan carried out, median, the whole reply awaited", median(waited.whole), "s"),
        _compared("stream: plan carried out, median, streamed", median(waited.whole), median(streamed.whole)),
        Row("stream: tokens not sent, of plans that succeed", streamed.saved, "", None, f"of {all_tokens:,}"),
        Row(
            "stream: tokens not sent, of plans that fail in the middle",
            100 * failed.saved / to_fail,
            "%",
            None,
            f"{failed.saved:,} of {to_fail:,} in {len(failed.sent)} replies",
        ),
    ]


def _compared(name: str, waited: float, streamed: float) -> Row:
    return Row(name, streamed, "s", waited / streamed, "the whole reply awaited")


def _play(name: str, rate: float, *, stream: bool, fails: bool) -> Timings:
    planner, chosen = RUNS[name]
    config = Settings.of(**MODEL, **chosen).config(planner).model_copy(update={"stream": stream})
    tasks = config.environment.select(config.selection)
    with paced(_answer(name, fails=fails), rate) as sent:
        check_roles(config)  # imports the SDK beforehand
        times = _play_and_time(config, len(tasks))
    plans = [each for each in sent if each.whole > GIVEN_UP.tokens]
    return Timings([each.first for each in times], [each.whole for each in times], plans)


def _answer(name: str, *, fails: bool) -> Answer:
    """Return a function that gives the recorded replies; after a failed plan, for which there are none, it gives up."""
    replies: dict[tuple[str, ...], Recorded] = {}
    for request in recorded_requests(name):
        reply = request["reply"]
        text = _failing(reply["text"]) if fails else reply["text"]
        contents = tuple(message["content"] for message in request["messages"])
        replies[contents] = Recorded(text, reply["usage"]["completion"])
    return lambda contents: replies.get(tuple(contents), GIVEN_UP)


def _failing(text: str) -> str:
    """Return the reply with a failing line before the statement in the middle of its plan."""
    reply = read_reply(text)
    statements = statements_of(reply.code.split("\n"))
    before = statements[len(statements) // 2 - 1].last_line if len(statements) > 1 else 0
    lines = text.split("\n")
    at = reply.reply_line(before) if before else reply.places[0][1] - 1
    return "\n".join([*lines[:at], FAILS, *lines[at:]])


class Times(NamedTuple):
    """Seconds from an episode's first request to its first action, and to the end of its first plan."""

    first: float
    whole: float


def _play_and_time(config: Config, episodes: int) -> list[Times]:
    """Play all episodes in parallel, and time the first plan of each by its events."""
    events: defaultdict[int, list[tuple[float, EventKind]]] = defaultdict(list)

    def watch(kind: EventKind, body: Body) -> None:
        events[threading.get_ident()].append((time.monotonic(), kind))

    with tempfile.TemporaryDirectory() as folder:
        tasks = config.environment.select(config.selection)
        with closing(Run.create(Path(folder) / "run", config, tasks)) as run:
            hosting = Hosting(jobs=episodes if config.environment.parallel else 1)
            play_episodes(run, memory_of(config), lambda entry, ending: None, hosting=hosting, watch=watch)
    return [times for of_thread in events.values() for times in _episode_times(of_thread)]


def _episode_times(events: Sequence[tuple[float, EventKind]]) -> list[Times]:
    """Return the times of a thread's episodes, without those that took no action. A task event begins an episode."""
    begins = [n for n, (_, kind) in enumerate(events) if kind == "task"]
    episodes = []
    for begin, end in zip(begins, [*begins[1:], len(events)], strict=True):
        own = events[begin:end]
        reply = next(n for n, (_, kind) in enumerate(own) if kind in ("heard", "ask"))
        acts = [at for at, kind in own if kind == "act"]
        cells = [at for at, kind in own if kind == "cell"]
        if acts and cells:
            episodes.append(Times(acts[0] - own[reply - 1][0], cells[0] - own[reply - 1][0]))
    return episodes
