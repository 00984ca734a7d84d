"""The models of a run, opened when a role first asks; one of them answers from the record of a run."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.config import RECORDINGS, Config
from planbook.errors import BadArgument
from planbook.planner import (
    DEFAULT_ROLE,
    METHODS,
    USUAL_TIMEOUTS,
    Message,
    Model,
    NotRecorded,
    OnText,
    RecordedMessage,
    RecordedModel,
    RecordedReplies,
    RecordedReply,
    Reply,
    Roles,
    Sampling,
    Stopped,
    Timeouts,
    UnknownModel,
    explain_missing,
    journal_place,
    load_model,
    method,
    never_stopped,
    no_model,
    pass_on,
    request_key,
    usage_of_cut,
)
from planbook.runs import Fork, Run, is_run, last_path
from planbook.sandbox import nearest_names
from planbook.store import Event, without_restart

ROLES = ("builder", "consolidator", "formulator")
"""The roles that learn; all others play."""


def roles_of(run: Run, stopped: Callable[[], bool], config: Config | None = None) -> Roles:
    """Return the roles of a run, metered by its budget; a waiting model checks ``stopped``.

    ``config`` replaces the run's own configuration of models.
    """
    lock, models = threading.Lock(), dict[str, Model]()
    config = config or run.config
    before = _replies_before(run.forked) if run.forked else {}

    def is_over() -> bool:
        run.meter.check_time()
        return stopped()

    def load(role: str) -> Model:
        spec = config.models.get(role) or config.models.get(DEFAULT_ROLE)
        if spec is None:
            return no_model(role)
        with lock:
            if spec not in models:
                model = open_model(spec, is_over, run.file.timeouts, strict=config.strict_recordings)
                models[spec] = RepeatedModel(before, model) if run.forked else model
            return models[spec]

    return Roles(load, config.sampling, meter=run.meter, seed=config.seed)


def open_model(
    spec: str, stopped: Stopped = never_stopped, timeouts: Timeouts = USUAL_TIMEOUTS, *, strict: bool = False
) -> Model:
    """Open a model by its name; a shipped recording is named without its folder.

    A run can serve as a recording. A ``strict`` recording answers only prompts in the recorded wording. Raises
    ModelError, BadRun.
    """
    kind, _, name = spec.partition(":")
    if kind == "recorded" and is_run(Path(name)):
        return RunAnswers(name, strict=strict)
    shipped = RECORDINGS / f"{name}.jsonl"
    try:
        named = f"{kind}:{shipped}" if kind == "recorded" and shipped.is_file() else spec
        model = load_model(named, stopped=stopped, timeouts=timeouts)
    except UnknownModel as error:
        message = f"{error}. {_list_shipped(name)}" if kind == "recorded" and "+" not in name else str(error)
        raise UnknownModel(message) from error
    if kind != "object":
        model.name = spec
    if isinstance(model, RecordedModel):
        model.strict = strict
    return model


def _list_shipped(name: str) -> str:
    """Return a sentence that lists the shipped recordings with similar names, or all of them if there are none."""
    shipped = sorted(file.stem for file in RECORDINGS.glob("*.jsonl"))
    near = nearest_names(Path(name).stem, shipped, limit=5)
    return f"Shipped recordings{' with similar names' if near else ''}: {', '.join(near or shipped)}"


def check_roles(config: Config, more: tuple[str, ...] = ()) -> None:
    """Check that every role that will be asked, ``more`` included, has a model. Raises BadArgument, ModelError."""
    strategy = method(config.planner)
    options = strategy.options.model_validate(config.planner_options)
    from_options = set() if config.copies else {*strategy.named(options, config.environment.name)}
    roles = {*(() if config.copies else strategy.roles), *more, *from_options}
    allowed = {DEFAULT_ROLE, *ROLES, *strategy.roles, *from_options}
    if not {*config.models, *config.sampling} <= allowed:
        allowed |= {role for other in METHODS.values() for role in other.roles}
    if unknown := sorted({*config.models, *config.sampling} - allowed):
        raise BadArgument(f"there is no role {unknown[0]!r}; the roles are {', '.join(sorted(allowed))}")
    without_model = {role for role in roles if not (config.models.get(role) or config.models.get(DEFAULT_ROLE))}
    if missing := sorted(without_model - _never_asked(config, without_model - {*more})):
        raise BadArgument(
            f"{config.title} asks a model ({', '.join(missing)}): name one with --model, for example "
            "--model openai:NAME (with OPENAI_API_KEY, and OPENAI_BASE_URL for another server), or recorded:FILE"
        )
    for role in roles - without_model:
        open_model(config.models.get(role) or config.models[DEFAULT_ROLE])


def _never_asked(config: Config, roles: Collection[str]) -> set[str]:
    """Return the roles that the method does not ask in this run. Opens an environment, as goals may decide that."""
    strategy = method(config.planner)
    if strategy.sometimes.keys().isdisjoint(roles):
        return set()
    options = strategy.options.model_validate(config.planner_options)
    with closing(config.environment(config.environment_options)) as environment:
        return {role for role in roles if not strategy.asks(role, options, environment)}


class RunAnswers:
    """A model that answers each request with the reply recorded for it in a run. Threads may share it.

    Equal requests may have different replies, so the reply at the same place of the same episode comes first, then the
    first reply anywhere. If an episode was started over, its last attempt counts.
    """

    def __init__(self, folder: str, *, strict: bool = False) -> None:
        """Read the replies of a run of episodes. Raises BadRun."""
        self.folder, self.name, self.strict = Path(folder), f"recorded:{folder}", strict
        self._by_place: dict[tuple[str, str], Reply] = {}
        self._replies: dict[str, Reply] = {}
        self._entries = RecordedReplies()
        with closing(Run.open(self.folder)) as run:
            for event in run.store.events(kind="ask"):
                self._add(event.scope, event.n, event.body)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply. Raises NotRecorded, which names the nearest recorded request."""
        match = self._entries.find(messages, sampling, strict=self.strict)
        if match is None:
            message = explain_missing(self.folder, messages, sampling, self._entries, strict=self.strict)
            raise NotRecorded(f"{message}. The run differs from the recorded one here; name a --model that can answer")
        key = match.entry.key
        reply = self._by_place.get((without_restart(journal_place()), key)) or self._replies[key]
        return _replayed(reply, on_text, reworded=match.reworded)

    def _add(self, scope: str, number: int, body: Any) -> None:
        messages = [Message.model_validate(message) for message in body["messages"]]
        sampling, reply = Sampling.model_validate(body["sampling"]), Reply.model_validate(body["reply"])
        key = request_key(messages, sampling)
        self._by_place[without_restart(f"{scope}/{number}"), key] = reply
        self._replies.setdefault(key, reply)
        self._entries.add(
            RecordedReply(
                key=key,
                label=f"{body['role']}: {body['template']}",
                given=body.get("given"),
                model=reply.model,
                sampling=sampling,
                messages=tuple(map(RecordedMessage.of, messages)),
                text="",
            )
        )


def _replayed(reply: Reply, on_text: OnText | None, *, reworded: bool = False) -> Reply:
    """Return a recorded reply as a new one that took no time and cost nothing."""
    text, finish = pass_on(reply.text, on_text)
    return reply.model_copy(
        update={
            "text": text,
            "usage": usage_of_cut(reply.usage, reply.text, text),
            "finish": finish if finish == "cut" else reply.finish,
            "seconds": 0.0,
            "replayed": True,
            "reworded": reworded,
        }
    )


class RepeatedModel:
    """A model that repeats the replies of an episode by their places (``replies_by_place``), whatever the prompts are.

    At any other place it asks the ``following`` model, if there is one.
    """

    def __init__(self, replies: Mapping[str, Reply], following: Model | None = None) -> None:
        self.name = following.name if following else "recorded"
        self._replies, self._following = replies, following

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply, or ask the following model. Raises NotRecorded if there is none."""
        _task, _index, place = without_restart(journal_place()).split("/", 2)
        if reply := self._replies.get(place):
            return _replayed(reply, on_text)
        if self._following is None:
            raise NotRecorded("the planner makes more model calls than were recorded")
        return self._following.complete(messages, sampling, on_text)


def replies_by_place(path: str, events: Iterable[Event]) -> dict[str, Reply]:
    """Return the replies among the events of an episode, by their places below its scope."""
    asks: Iterable[Any] = (event for event in events if event.kind == "ask")
    return {f"{ask.scope}/{ask.n}".removeprefix(f"{path}/"): Reply.model_validate(ask.body["reply"]) for ask in asks}


def _replies_before(fork: Fork) -> dict[str, Reply]:
    """Return the replies given in an episode before its action ``fork.at``. Raises BadRun."""
    events, actions = list[Event](), 0
    with closing(Run.open(Path(fork.run))) as run:
        path = last_path(run, run.entries()[fork.episode])
        for event in run.store.events(path):
            actions += event.kind == "act"
            if actions >= fork.at:
                break
            events.append(event)
    return replies_by_place(path, events)
