"""The base of planning methods: ``Method``, its options, its figures, and helpers that several methods share."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook.envs import Environment
from planbook.planner.episode import Episode
from planbook.planner.errors import NoPlan, RoundOver, UnusableReply
from planbook.planner.models.types import Message
from planbook.planner.prompts import Prompt
from planbook.planner.roles import FIRST_SAMPLE, Sample, as_text
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload, RecordedSpan
from planbook.planner.types import Ending

Held = TypeVar("Held", bound=Payload)


class Played(NamedTuple):
    """One episode of a run, as figures need it."""

    kind: str
    """Type of the task."""
    ending: Ending
    spans: Sequence[RecordedSpan]

    def held(self, payload: type[Held]) -> list[Held]:
        """Return what the spans of a payload's name held in the end; open ones are left out."""
        ended = (span for span in self.spans if span.name == payload.span and span.end is not None)
        return [payload.model_validate(span.data) for span in ended]


class Grid(NamedTuple):
    """A small table of figures: names in the first column, figures in the others."""

    title: str
    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Figures(BaseModel):
    """Base of what a method counts over a run. ``--json`` shows the fields under ``key``."""

    key: ClassVar[str]

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over the episodes of a run; None if there is nothing of the kind."""
        raise NotImplementedError

    def tell(self) -> Iterable[str | Grid]:
        """Say them in words, a sentence or a table at a time."""
        raise NotImplementedError


def mean_of(counts: Iterable[int]) -> float | None:
    """Return the mean, to two places; None of nothing."""
    listed = list(counts)
    return round(mean(listed), 2) if listed else None


def told(figure: float | None, digits: int = 1) -> str:
    """Return a figure to so many places; a dash for none."""
    return "-" if figure is None else f"{figure:.{digits}f}"


class Strategy(Protocol):
    """A function that plays one episode. It returns when it gives up; the verbs raise EpisodeOver to unwind it."""

    def __call__(self, episode: Episode, options: Any, /) -> None:
        """Play until the task is given up. ``options`` are of the method's own class."""


def _nobody(options: BaseModel, world: str) -> Collection[str]:
    return ()


Asked = Callable[[BaseModel, Environment], bool]
"""Return whether a role is asked, given the method's options and the environment."""


class Options(BaseModel):
    """Base of a method's options; a method without options uses it as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usual_actions: ClassVar[int | None] = None
    """Default number of actions in an episode; None takes the environment's."""
    usual_sampling: ClassVar[Mapping[str, JsonValue]] = {}
    """Default sampling, if the method needs another than the general default."""

    def wanted(self, demonstrations: Sequence[str]) -> Sequence[str]:
        """Return the demonstrations that these options ask for."""
        return demonstrations

    def in_force(self, world: str) -> dict[str, JsonValue]:
        """Return all options by name, with the values that follow from the environment of that name."""
        return self.model_dump(mode="json")

    def texts(self, world: str) -> Mapping[str, str]:
        """Return what else prompts are made from, by what it is, such as a graph or code that makes prompts."""
        return {}


@dataclass(frozen=True)
class Method:
    """A strategy with everything the rest of the code may ask about it: options, summary, roles, templates, figures.

    ``demonstrations`` names what it shows models of the environment (``Recall.demonstrations``); ``stand_ins`` are
    those shown only if another is missing. ``sometimes`` maps roles that are not always asked to a function that tells
    when they are.
    """

    play: Strategy
    options: type[Options]
    summary: str
    roles: tuple[str, ...] = ()
    demonstrations: tuple[str, ...] = ()
    sometimes: Mapping[str, Asked] = field(default_factory=dict)
    stand_ins: tuple[str, ...] = ()
    named: Callable[[BaseModel, str], Collection[str]] = _nobody
    """Further roles that the options name, for an environment."""
    spans: tuple[type[Payload], ...] = ()
    """Payloads of the spans that it records."""
    figures: tuple[type[Figures], ...] = ()
    """Figures that it counts over a run."""
    streams: bool = False
    """True if it asks for plans by ``Episode.stream``, so that they can run while being written."""
    templates: Mapping[str, Path] = field(default_factory=dict)
    """Patterns of its prompt files (``Prompts.files``). A run records the digests of these files."""

    def asks(self, role: str, options: BaseModel, world: Environment) -> bool:
        """Return whether the role is asked, under these options in this environment, which need not have begun."""
        return role in self.roles and (role not in self.sometimes or self.sometimes[role](options, world))


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
    **told: object,
) -> None:
    """Ask for a plan, run it, feed back what came of it, and run the next, while any replies are ``left``.

    What is ``told`` is what the first prompt says. The ``sample`` is that of every reply. ``actions`` says how many the
    next plan may take; None is as many as the episode has left.
    """
    feedback, history = episode.stream(role, first, history=history, sample=sample, actions=actions(), **told)
    while (more := left()) > 0:
        told = {"feedback": feedback.text, "left": more - 1}
        feedback, history = episode.stream(role, again, history=history, sample=sample, actions=actions(), **told)


def said_or_nothing(scope: Scope, role: str, prompt: Prompt, **told: Any) -> str:
    """Return a role's reply, or an empty text if none is usable."""
    try:
        return scope.ask(role, prompt, read=as_text, **told).value
    except UnusableReply:
        return ""


def told_task(episode: Episode) -> Mapping[str, JsonValue]:
    """Return the ``task`` that plan code of a model sees, with only the params that models may know."""
    return {"params": dict(episode.world.told_params(episode.task))}


def countdown(number: int) -> Callable[[], int]:
    """Gives the number, then one less each time, down to 0."""
    return iter(range(number, -1, -1)).__next__


def in_rounds(episode: Episode, most: int, play: Callable[[int], None]) -> None:
    """Play a task from the beginning up to a number of times, until it is solved. The best round counts."""
    for number in range(most):
        if number:
            episode.new_round()
        with suppress(RoundOver, NoPlan):
            play(number)
        if episode.verdict().solved:
            return
