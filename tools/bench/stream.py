"""Plans that run while the model is still writing them (streaming), compared with waiting for the whole reply.

Streaming makes the first action happen earlier, and saves tokens if the plan fails before the reply ends. A local
server streams the replies of shipped recordings at 30 tokens per second. To make a plan fail, a failing line is
inserted before the statement in its middle.
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
from planbook.workers import Execution, check_roles, play_episodes
from tools.bench import Row
from tools.bench.paced_server import RecordedReply, ReplyFunction, SentReply, serve_paced
from tools.bench.prompts import recorded_requests

TOKENS_PER_SECOND = 30.0
RUNS: Mapping[str, tuple[str, dict[str, str]]] = {
    "adapt-alfworld": ("adapt", {"env": "alfworld", "split": "generated:3"}),
    "adapt-shopping": ("adapt", {"env": "shopping", "split": "test:3"}),
    "adapt-textcraft": ("adapt", {"env": "textcraft", "split": "test:6"}),
    "code-as-policies-minecraft": ("code-as-policies", {"env": "minecraft", "split": "table21:4"}),
    "react-textcraft": ("react", {"env": "textcraft", "split": "test:2"}),
}
"""Maps each recording to the planner and the settings of the recorded run."""
FAILING_LINE = 'assert False, "this step failed"'
FALLBACK_REPLY = RecordedReply("I give up.", 3)
MODEL = {"models": ("openai:paced",)}


class Timings(NamedTuple):
    """The times of several episodes, one item for each, and the tokens of their replies.

    Times are in seconds from an episode's first request to its first action, and to the end of its first plan.
    """

    first_action: list[float]
    plan_end: list[float]
    sent: list[SentReply]

    def add(self, other: "Timings") -> None:
        """Add the times and replies of another run."""
        self.first_action.extend(other.first_action)
        self.plan_end.extend(other.plan_end)
        self.sent.extend(other.sent)

    @property
    def saved_tokens(self) -> int:
        """The number of tokens that were not sent."""
        return sum(reply.all_tokens - reply.sent_tokens for reply in self.sent)


def rows(names: Sequence[str] = tuple(RUNS), rate: float = TOKENS_PER_SECOND) -> list[Row]:
    """Return the figures of all runs whose environments are installed."""
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
    source = f"{len(waited.first_action)} recorded replies at {rate:g} tokens a second"
    all_tokens, failing_tokens = (sum(reply.all_tokens for reply in timings.sent) for timings in (streamed, failed))
    return [
        Row("stream: first action, median, the whole reply awaited", median(waited.first_action), "s", None, source),
        _speedup("stream: first action, median, streamed", median(waited.first_action), median(streamed.first_action)),
        Row("stream: plan carried out, median, the whole reply awaited", median(waited.plan_end), "s"),
        _speedup("stream: plan carried out, median, streamed", median(waited.plan_end), median(streamed.plan_end)),
        Row("stream: tokens not sent, of plans that succeed", streamed.saved_tokens, "", None, f"of {all_tokens:,}"),
        Row(
            "stream: tokens not sent, of plans that fail in the middle",
            100 * failed.saved_tokens / failing_tokens,
            "%",
            None,
            f"{failed.saved_tokens:,} of {failing_tokens:,} in {len(failed.sent)} replies",
        ),
    ]


def _speedup(name: str, waited: float, streamed: float) -> Row:
    return Row(name, streamed, "s", waited / streamed, "the whole reply awaited")


def _play(name: str, rate: float, *, stream: bool, fails: bool) -> Timings:
    planner, settings = RUNS[name]
    config = Settings.of(**MODEL, **settings).config(planner).model_copy(update={"stream": stream})
    tasks = config.environment.select(config.selection)
    with serve_paced(_answer(name, fails=fails), rate) as sent:
        check_roles(config)  # imports the SDK, which must not be timed
        times = _play_and_time(config, len(tasks))
    plans = [reply for reply in sent if reply.all_tokens > FALLBACK_REPLY.tokens]
    return Timings([episode.first_action for episode in times], [episode.plan_end for episode in times], plans)


def _answer(name: str, *, fails: bool) -> ReplyFunction:
    """Return a function that gives the recorded replies, and FALLBACK_REPLY where there is none.

    No reply is recorded after a plan that is made to fail.
    """
    replies: dict[tuple[str, ...], RecordedReply] = {}
    for request in recorded_requests(name):
        reply = request["reply"]
        text = _with_failing_line(reply["text"]) if fails else reply["text"]
        contents = tuple(message["content"] for message in request["messages"])
        replies[contents] = RecordedReply(text, reply["usage"]["completion"])
    return lambda contents: replies.get(tuple(contents), FALLBACK_REPLY)


def _with_failing_line(text: str) -> str:
    """Return the reply with a failing line before the statement in the middle of its plan."""
    reply = read_reply(text)
    statements = statements_of(reply.code.split("\n"))
    last_line = statements[len(statements) // 2 - 1].last_line if len(statements) > 1 else 0
    lines = text.split("\n")
    index = reply.reply_line(last_line) if last_line else reply.places[0][1] - 1
    return "\n".join([*lines[:index], FAILING_LINE, *lines[index:]])


class EpisodeTimes(NamedTuple):
    """Seconds from an episode's first request to its first action, and to the end of its first plan."""

    first_action: float
    plan_end: float


def _play_and_time(config: Config, episodes: int) -> list[EpisodeTimes]:
    """Play all episodes in parallel, and return the times of each one's first plan, according to its events."""
    events: defaultdict[int, list[tuple[float, EventKind]]] = defaultdict(list)

    def watch(kind: EventKind, body: Body) -> None:
        events[threading.get_ident()].append((time.monotonic(), kind))

    with tempfile.TemporaryDirectory() as folder:
        tasks = config.environment.select(config.selection)
        with closing(Run.create(Path(folder) / "run", config, tasks)) as run:
            execution = Execution(jobs=episodes if config.environment.parallel else 1)
            play_episodes(run, memory_of(config), lambda entry, ending: None, execution=execution, on_event=watch)
    return [times for thread_events in events.values() for times in _episode_times(thread_events)]


def _episode_times(events: Sequence[tuple[float, EventKind]]) -> list[EpisodeTimes]:
    """Return the times of the episodes that a thread played, except those without an action.

    An episode begins with a task event.
    """
    begins = [n for n, (_, kind) in enumerate(events) if kind == "task"]
    episodes = []
    for begin, end in zip(begins, [*begins[1:], len(events)], strict=True):
        episode_events = events[begin:end]
        reply = next(n for n, (_, kind) in enumerate(episode_events) if kind in ("piece", "ask"))
        acts = [at for at, kind in episode_events if kind == "act"]
        cells = [at for at, kind in episode_events if kind == "cell"]
        if acts and cells:
            requested = episode_events[reply - 1][0]
            episodes.append(EpisodeTimes(acts[0] - requested, cells[0] - requested))
    return episodes
