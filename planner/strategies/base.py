"""The base of planning methods: ``Method``, its options and figures, ``play``, and helpers that several methods share.

External methods come from a Python file, or are registered by other packages.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from statistics import mean
from traceback import walk_tb
from typing import Any, ClassVar, NamedTuple, Protocol, Self, get_type_hints

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from planbook.envs import CannotLoad, Environment, MissingRequirement, load_module
from planbook.planner.episode import Episode
from planbook.planner.errors import (
    EpisodeBroken,
    EpisodeOver,
    ModelError,
    NoPlan,
    RoundOver,
    UnknownStrategy,
    UnusableReply,
    environment_fault,
)
from planbook.planner.models.types import Message
from planbook.planner.prompts import Prompt
from planbook.planner.roles import FIRST_SAMPLE, Sample, as_text
from planbook.planner.scope import Scope
from planbook.planner.spans import AnyPayload, Payload, RecordedSpan
from planbook.planner.types import Ending
from planbook.sandbox import SandboxClosed, WorkerFailed


class Played(NamedTuple):
    """One episode of a run, for figures."""

    kind: str
    """Type of the task."""
    ending: Ending
    spans: Sequence[RecordedSpan]

    def held(self, payload: type[AnyPayload]) -> list[AnyPayload]:
        """Return the payloads of this type from the spans that have ended.

        Spans of another method may have the same name. They are left out if their data do not fit.
        """
        payloads: list[AnyPayload] = []
        for span in self.spans:
            if span.name == payload.span and span.end is not None:
                with suppress(ValidationError):
                    payloads.append(payload.model_validate(span.data))
        return payloads


class Grid(NamedTuple):
    """A small table of figures, with names in the first column."""

    title: str
    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Figures(BaseModel):
    """Base of the figures that a method counts over a run. ``--json`` shows the fields under ``key``."""

    key: ClassVar[str]

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over the episodes of a run. Return None if there is nothing to count."""
        raise NotImplementedError

    def tell(self) -> Iterable[str | Grid]:
        """Return the figures as sentences and tables."""
        raise NotImplementedError


def mean_of(counts: Iterable[int]) -> float | None:
    """Return the mean, rounded to two digits; None without counts."""
    listed = list(counts)
    return round(mean(listed), 2) if listed else None


def format_figure(figure: float | None) -> str:
    """Return a figure as text, with the two digits that ``mean_of`` keeps; a dash for None."""
    return "-" if figure is None else f"{figure:.2f}"


class Strategy(Protocol):
    """A function that plays one episode. It returns when it gives up; the verbs raise EpisodeOver to unwind it.

    Its return value is not used.
    """

    def __call__(self, episode: Episode, options: Any, /) -> object:
        """Play until the task is given up. ``options`` is of the method's own class."""


def play(episode: Episode, strategy: Strategy, options: BaseModel) -> Ending:
    """Let a method play an episode. The ending is in the journal when this returns.

    A failure of the environment or the engine is an ending, too (BROKEN). Errors that leave the episode without an
    ending are raised: EpisodeStopped, BudgetEnded, JournalMismatch, JournalFailed, and those of a missing or failed
    resource (MissingRequirement, SandboxClosed, WorkerFailed, ModelError).
    """
    try:
        with suppress(EpisodeOver):
            episode.begin()
            strategy(episode, options)
        ending = episode.ending()
    except (MissingRequirement, SandboxClosed, WorkerFailed, ModelError):
        raise
    except EpisodeBroken as broken:
        ending = episode.broken(str(broken))
    except (Exception, SystemExit) as error:
        ending = episode.broken(_fault_of(error, strategy, episode.environment))
    finally:
        episode.close()
    episode.write_ending(ending)
    return ending


def _fault_of(error: Exception | SystemExit, strategy: Strategy, environment: Environment) -> str:
    """Return the message for an error, which is the environment's if it was raised in one of its methods."""
    trace = error.__traceback__
    while trace and not _is_method_of(environment, trace.tb_frame.f_locals):
        trace = trace.tb_next
    if trace:
        return environment_fault(error.with_traceback(trace))
    place = _place_of(error, strategy)
    return f"the planner raised {type(error).__name__}: {error}{place and f' ({place})'}"


def _is_method_of(environment: Environment, variables: Mapping[str, Any]) -> bool:
    return variables.get("self") is environment or variables.get("cls") is type(environment)


def _place_of(error: BaseException, strategy: Strategy) -> str:
    """Return the innermost line of the method's own file in the traceback; empty if there is none."""
    file = getattr(getattr(strategy, "__code__", None), "co_filename", None)
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return f"{Path(file).name}:{lines[-1]}" if file and lines else ""


def _no_roles(options: Any, environment: str) -> Collection[str]:
    return ()


IsAsked = Callable[[Any, Environment], bool]
"""Takes the method's options and the environment. Returns True if a role is asked."""


class Options(BaseModel):
    """Base of a method's options; a method without options uses it unchanged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    default_actions: ClassVar[int | None] = None
    """Default number of actions in an episode; None takes the environment's."""
    default_sampling: ClassVar[Mapping[str, JsonValue]] = {}
    """Default sampling, if it differs from the general default."""

    def wanted(self, demonstrations: Sequence[str]) -> Sequence[str]:
        """Return the demonstrations that these options ask for."""
        return demonstrations

    def in_force(self, environment: str) -> dict[str, JsonValue]:
        """Return the values of all options by name. Those of unset options follow from the environment."""
        return self.model_dump(mode="json")

    def texts(self, environment: str) -> Mapping[str, str]:
        """Return further sources of prompts by description, such as a graph or code that makes prompts."""
        return {}


@dataclass(frozen=True)
class Method:
    """A strategy with its options, summary, roles, templates and figures.

    ``demonstrations`` names the demonstrations that it shows to models (``Recall.demonstrations``); ``stand_ins`` are
    those shown only if another is missing. ``sometimes`` maps each role that is asked only in some cases to a
    function that returns True in those cases.
    """

    play: Strategy
    options: type[Options]
    summary: str
    roles: tuple[str, ...] = ()
    demonstrations: tuple[str, ...] = ()
    sometimes: Mapping[str, IsAsked] = field(default_factory=dict)
    stand_ins: tuple[str, ...] = ()
    named: Callable[[Any, str], Collection[str]] = _no_roles
    """Returns further roles that the options name, for an environment."""
    spans: tuple[type[Payload], ...] = ()
    """Payloads of the spans that it records."""
    figures: tuple[type[Figures], ...] = ()
    """Figures that it counts over a run."""
    streams: bool = False
    """True if it asks for plans by ``Episode.stream``, so that they can run while the model writes them."""
    templates: Mapping[str, Path] = field(default_factory=dict)
    """Its prompt files, by path in their folder (``Prompts.files``). A run records their digests."""

    def asks(self, role: str, options: BaseModel, environment: Environment) -> bool:
        """Return True if the role is asked, under these options in this environment, which need not have begun."""
        return role in self.roles and (role not in self.sometimes or self.sometimes[role](options, environment))


def ask_and_run(
    episode: Episode,
    role: str,
    first: Prompt,
    again: Prompt,
    left: Callable[[], int],
    *,
    history: Sequence[Message],
    sample: Sample = FIRST_SAMPLE,
    actions: Callable[[], int | None] = lambda: None,
    **variables: object,
) -> None:
    """Ask for a plan, run it, send the feedback, and run the next plan, while ``left`` returns more than 0 replies.

    ``variables`` are those of the ``first`` prompt. ``actions`` returns the number of actions that the next plan may
    take; None if only the episode limits them.
    """
    feedback, history = episode.stream(role, first, history=history, sample=sample, actions=actions(), **variables)
    while (more := left()) > 0:
        variables = {"feedback": feedback.text, "left": more - 1}
        feedback, history = episode.stream(role, again, history=history, sample=sample, actions=actions(), **variables)


def ask_or_empty(scope: Scope, role: str, prompt: Prompt, **variables: Any) -> str:
    """Return a role's reply, or an empty text if none is usable."""
    try:
        return scope.ask(role, prompt, read=as_text, **variables).value
    except UnusableReply:
        return ""


def model_task(episode: Episode) -> Mapping[str, JsonValue]:
    """Return the changes to ``task`` for plan code that a model writes: only the params that models may know."""
    return {"params": dict(episode.environment.told_params(episode.task))}


def countdown(number: int) -> Callable[[], int]:
    """Return a function that returns the number, then one less at each call, down to 0."""
    return iter(range(number, -1, -1)).__next__


def in_rounds(episode: Episode, max_rounds: int, play: Callable[[int], None]) -> None:
    """Play a task in up to ``max_rounds`` rounds, until it is solved. The best round counts."""
    for number in range(max_rounds):
        if number:
            episode.new_round()
        with suppress(RoundOver, NoPlan):
            play(number)
        if episode.verdict().solved:
            return


ENTRY_POINT_GROUP = "planbook.planners"


@cache
def registered_methods() -> Mapping[str, EntryPoint]:
    """Return the methods that other packages register, by name; none is imported."""
    return {point.name: point for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)}


def load_registered(point: EntryPoint) -> Method:
    """Return a registered method. Raises UnknownStrategy."""
    try:
        member = point.load()
    except Exception as error:
        message = f"the planner {point.name!r} cannot be imported: {type(error).__name__}: {error}"
        raise UnknownStrategy(message) from error
    return _as_method(member, f"the planner {point.name!r} ({point.value})")


def load_from_file(spec: str) -> Method:
    """Return the method of ``FILE.py:NAME``, or the only one of ``FILE.py``. Raises UnknownStrategy."""
    file, _, name = spec.partition(":")
    try:
        members = vars(load_module(Path(file).resolve()))
    except CannotLoad as error:
        raise UnknownStrategy(str(error)) from error
    methods = [key for key, member in members.items() if isinstance(member, Method)] or _functions(members)
    if not name and len(methods) == 1:
        name = methods[0]
    if not name:
        choices = f": name {' or '.join(f'{file}:{method}' for method in methods)}" if methods else ""
        advice = choices or "; name a function: FILE.py:NAME"
        raise UnknownStrategy(f"{file} has {len(methods) or 'no'} methods{advice}")
    if name not in members:
        raise UnknownStrategy(f"{file} has no {name!r}; it has {', '.join(_callables(members)) or 'no function'}")
    return _as_method(members[name], f"{name} in {file}")


def _functions(members: Mapping[str, Any]) -> list[str]:
    """Return the public functions that a file defines with two parameters, as methods have."""
    return [
        name
        for name, member in members.items()
        if inspect.isfunction(member)
        and name[0] != "_"
        and member.__module__ == members.get("__name__")
        and len(inspect.signature(member).parameters) == 2
    ]


def _callables(members: Mapping[str, Any]) -> list[str]:
    return [name for name, member in members.items() if inspect.isfunction(member) or isinstance(member, Method)]


def _as_method(member: Any, where: str) -> Method:
    """Return a method, or a function as a method, after checking it. Raises UnknownStrategy."""
    method = member if isinstance(member, Method) else _from_function(member, where)
    if not callable(method.play):
        raise UnknownStrategy(f"{where}: the `play` of a Method must be a function (episode, options)")
    kinds = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction
    if any(is_kind(method.play) for is_kind in kinds):
        raise UnknownStrategy(f"{where} is a coroutine or generator; a method is a plain function (episode, options)")
    try:
        inspect.signature(method.play).bind(None, None)
    except TypeError as error:
        raise UnknownStrategy(f"{where} must take two arguments, (episode, options): {error}") from error
    if not (isinstance(method.options, type) and issubclass(method.options, Options)):
        raise UnknownStrategy(f"{where}: its options must be a class derived from planner.Options")
    return method


def _from_function(member: Any, where: str) -> Method:
    if isinstance(member, type) or not callable(member):
        raise UnknownStrategy(
            f"{where} is of type {type(member).__name__}; name a function (episode, options), or a Method"
        )
    summary = (inspect.getdoc(member) or "").partition("\n")[0]
    return Method(member, _options_of(member), summary)


def _options_of(play: Callable[..., Any]) -> type[Options]:
    """Return the class of options in the function's annotations; ``Options`` if there is none."""
    try:
        hints = get_type_hints(play)
    except (NameError, TypeError):
        return Options
    return next((hint for hint in hints.values() if isinstance(hint, type) and issubclass(hint, Options)), Options)
