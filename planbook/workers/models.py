"""Open the language models of a run, and repeat the replies that were recorded in a run.

Each role, such as ``planner``, has a model, which is opened for the role's first call. The *place* of a call is its
scope (a path within the run) and its number there.
"""

import threading
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from planbook.config import RECORDINGS, Config
from planbook.errors import BadArgument
from planbook.planner import (
    DEFAULT_ROLE,
    DEFAULT_TIMEOUTS,
    METHODS,
    IsStopped,
    Message,
    Model,
    NotRecorded,
    OnText,
    RecordedReplies,
    RecordedReply,
    Reply,
    Roles,
    Sampling,
    Timeouts,
    UnknownModel,
    current_question,
    explain_missing,
    method,
    never_stopped,
    no_model,
    replayed_reply,
    request_key,
)
from planbook.runs import Fork, Run, is_run, last_scope
from planbook.store import Events, without_restart
from planbook.workers.control import Switches

LEARNING_ROLES = ("builder", "consolidator", "formulator")
"""The roles of models that write rules and manuals. All other roles are for playing episodes."""


def roles_of(run: Run, switches: Switches, config: Config | None = None) -> Roles:
    """Return the roles of a run. Their model calls count towards the run's budget.

    The switches can stop and pause a model call, even while it waits for a reply. ``config`` names the models; by
    default, it is the run's own configuration. In a forked run, the replies that the original episode got before the
    fork are repeated first. Raises BadRun if the run of the original episode cannot be read.
    """
    lock, models = threading.Lock(), dict[str, Model]()
    config = config or run.config
    repeat_first: Callable[[Model], Model] | None = None
    if run.forked:
        repeat_first = partial(ReplyRepeater, replies_before(run.forked))

    def must_stop() -> bool:
        run.meter.check_time()
        return switches.cuts_calls_after_pause()

    def load(role: str) -> Model:
        spec = config.models.get(role) or config.models.get(DEFAULT_ROLE)
        if spec is None:
            return no_model(role)
        with lock:
            if spec not in models:
                model = open_model(spec, must_stop, run.file.timeouts, strict=config.strict_recordings)
                models[spec] = repeat_first(model) if repeat_first else model
            return models[spec]

    return Roles(load, config.sampling, guard=switches.guard, meter=run.meter, seed=config.seed)


def open_model(
    spec: str, stopped: IsStopped = never_stopped, timeouts: Timeouts = DEFAULT_TIMEOUTS, *, strict: bool = False
) -> Model:
    """Open the model that is specified by ``spec``, such as openai:NAME or recorded:NAME.

    In recorded:NAME, NAME is a shipped recording, or the path of a file or of a run's folder. With ``strict``, a
    recording answers a prompt only if its wording has not changed. Raises ModelError if the model cannot be opened, or
    BadRun if the run in the folder cannot be read.
    """
    from planbook.planner import RecordedModel, load_model

    kind, _, name = spec.partition(":")
    if kind == "recorded" and is_run(Path(name)):
        return RecordedRunModel(name, strict=strict)
    shipped = RECORDINGS / f"{name}.jsonl"
    try:
        full_name = f"{kind}:{shipped}" if kind == "recorded" and shipped.is_file() else spec
        model = load_model(full_name, stopped=stopped, timeouts=timeouts)
    except UnknownModel as error:
        if kind != "recorded" or "+" in name:
            raise
        names = ", ".join(sorted(file.stem for file in RECORDINGS.glob("*.jsonl")))
        raise UnknownModel(f"{error}. Shipped recordings: {names}") from error
    if kind != "object":
        model.name = spec
    if isinstance(model, RecordedModel):
        model.strict = strict
    return model


def check_roles(config: Config, extra_roles: tuple[str, ...] = ()) -> None:
    """Check that there is a model for every role that the run uses, and that each of these models can be opened.

    ``extra_roles`` are roles that the run uses in addition to those of the planning method. Raises BadArgument, BadRun,
    ModelError or UnknownEnvironment if a check fails.
    """
    planning_method = method(config.planner)
    options = planning_method.options.model_validate(config.planner_options)
    playing_roles, from_options = set[str](), set[str]()
    if not config.copies_episodes:
        playing_roles.update(planning_method.roles)
        from_options.update(planning_method.roles_from_options(options, config.environment.name))
    roles = {*playing_roles, *extra_roles, *from_options}
    allowed = {DEFAULT_ROLE, *LEARNING_ROLES, *planning_method.roles, *from_options}
    if not {*config.models, *config.sampling} <= allowed:
        allowed |= {role for candidate in METHODS.values() for role in candidate.roles}
    if unknown := sorted({*config.models, *config.sampling} - allowed):
        raise BadArgument(f"there is no role {unknown[0]!r}; the roles are {', '.join(sorted(allowed))}")
    models = {role: config.models.get(role) or config.models.get(DEFAULT_ROLE) for role in sorted(roles)}
    without_model = {role for role, model in models.items() if not model}
    if missing := sorted(without_model - _never_asked(config, without_model - {*extra_roles})):
        raise BadArgument(
            f"{config.title} asks a model ({', '.join(missing)}): name one with --model, for example "
            "--model openai:NAME (with OPENAI_API_KEY, and OPENAI_BASE_URL for another server), or recorded:FILE"
        )
    for model in dict.fromkeys(filter(None, models.values())):
        open_model(model)


def _never_asked(config: Config, roles: Set[str]) -> set[str]:
    """Return those of the ``roles`` that the planning method does not use in this run.

    If the method uses a role only in certain environments, this function opens the environment.
    """
    planning_method = method(config.planner)
    uncertain = planning_method.conditional_roles.keys() & roles
    if not uncertain:
        return set()
    options = planning_method.options.model_validate(config.planner_options)
    with closing(config.environment(config.environment_options)) as environment:
        return {role for role in uncertain if not planning_method.asks(role, options, environment)}


# Models that repeat recorded replies


class RecordedRunModel:
    """A model that answers each request with the reply that an equal request got in a run. Threads may share it.

    If the run has several replies to equal requests, the reply at the same place is used or, if there is none, the
    first one in the run. If an episode has several attempts, the replies of the last attempt are used.
    """

    def __init__(self, folder: str, *, strict: bool = False) -> None:
        """Read the replies recorded in the folder of a run. Raises BadRun if the run cannot be read."""
        self.folder, self.name, self.strict = Path(folder), f"recorded:{folder}", strict
        self._by_place: dict[tuple[str, str], Reply] = {}
        self._replies: dict[str, Reply] = {}
        self._entries = RecordedReplies()
        with closing(Run.open(self.folder)) as run:
            for event in run.store.events(kind="ask"):
                self._add(event.scope, event.n, event.body)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply. Raises NotRecorded if there is none."""
        match = self._entries.find(messages, sampling, strict=self.strict)
        if match is None:
            message = explain_missing(self.folder, messages, sampling, self._entries, strict=self.strict)
            raise NotRecorded(f"{message}. The run differs from the recorded one here; name a --model that can answer")
        key = match.entry.key
        reply = self._by_place.get((without_restart(current_question().place), key)) or self._replies[key]
        return replayed_reply(reply, on_text, reworded=match.reworded)

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
                messages=(),
                text="",
            )
        )


class ReplyRepeater:
    """A model that repeats the reply recorded at the place of each call, whatever the prompt is.

    ``replies`` is the result of ``replies_by_place``. A call at a place without a recorded reply is passed on to the
    model ``fallback``, if it is given.
    """

    def __init__(self, replies: Mapping[str, Reply], fallback: Model | None = None) -> None:
        self.name = fallback.name if fallback else "recorded"
        self._replies, self._fallback = replies, fallback

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply, or else the fallback's reply. Raises NotRecorded if there is neither."""
        _task, _index, place = without_restart(current_question().place).split("/", 2)
        if reply := self._replies.get(place):
            return replayed_reply(reply, on_text)
        if self._fallback is None:
            raise NotRecorded("the planner makes more model calls than were recorded")
        return self._fallback.complete(messages, sampling, on_text)


def replies_by_place(path: str, events: Events) -> dict[str, Reply]:
    """Return a dict that maps the places of an episode's model calls to the replies.

    The places are relative to the scope of the episode, ``path``.
    """
    return {
        f"{scope}/{number}".removeprefix(f"{path}/"): Reply.model_validate(body["reply"])
        for (scope, kind, number), body in events.items()
        if kind == "ask"
    }


def replies_before(fork: Fork) -> dict[str, Reply]:
    """Return a dict that maps places to the replies that a fork repeats: those before action number ``fork.at``.

    Raises BadRun if the original run cannot be read.
    """
    events, actions = dict[Any, Any](), 0
    with closing(Run.open(Path(fork.run))) as run:
        path = last_scope(run, run.entries()[fork.episode])
        for event in run.store.events(path):
            actions += event.kind == "act"
            if actions >= fork.at:
                break
            events[event.scope, event.kind, event.n] = event.body
    return replies_by_place(path, events)
