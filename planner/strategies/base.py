"""What a planning method is: a plain function over the verbs of an episode. And what most of them do with these."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook.envs import Environment
from planbook.planner.episode import Episode
from planbook.planner.errors import NoPlan, RoundOver, UnusableReply
from planbook.planner.models.types import Message
from planbook.planner.prompts import Prompt
from planbook.planner.roles import FIRST_SAMPLE, Sample, as_text
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload
from planbook.planner.strategies.figures import Figures


class Strategy(Protocol):
    """Plays one episode. Returning means that nothing more is tried; EpisodeOver, raised by the verbs, unwinds it."""

    def __call__(self, episode: Episode, options: Any, /) -> None:
        """Play until the task is given up. The ``options`` are of the method's own class."""


def _nobody(options: BaseModel, world: str) -> Collection[str]:
    return ()


Asked = Callable[[BaseModel, Environment], bool]
"""Whether a role is asked, by the method's options and the world."""


class Options(BaseModel):
    """The options of a method; this one has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usual_actions: ClassVar[int | None] = None
    """How many actions an episode has unless a run says otherwise; None is the world's number."""
    usual_sampling: ClassVar[Mapping[str, JsonValue]] = {}
    """How replies are drawn unless a run says otherwise, where that is not as everywhere."""

    def wanted(self, demonstrations: Sequence[str]) -> Sequence[str]:
        """Those of a method's demonstrations that these options ask for."""
        return demonstrations

    def in_force(self, world: str) -> dict[str, JsonValue]:
        """Return all options by name, with the values that follow from the environment of that name."""
        return self.model_dump(mode="json")

    def texts(self, world: str) -> Mapping[str, str]:
        """Return what else prompts are made from, by what it is, such as a graph or code that makes prompts."""
        return {}


@dataclass(frozen=True)
class Method:
    """A strategy with the model of its options, the line that the command line shows, and the roles that it asks.

    ``demonstrations`` names what it wants shown of the world (``Recall.demonstrations``); ``stand_ins`` are those of
    them that are shown only where another is missing. ``sometimes`` says of roles that are not always asked whether the
    options and the world are such that they are.
    """

    play: Strategy
    options: type[Options]
    summary: str
    roles: tuple[str, ...] = ()
    demonstrations: tuple[str, ...] = ()
    sometimes: Mapping[str, Asked] = field(default_factory=dict)
    stand_ins: tuple[str, ...] = ()
    named: Callable[[BaseModel, str], Collection[str]] = _nobody
    """The roles that the options name beside, for the world of that name."""
    spans: tuple[type[Payload], ...] = ()
    """What it records of its own structure."""
    figures: tuple[type[Figures], ...] = ()
    """What it counts of that over a run."""
    streams: bool = False
    """Whether it asks for plans by ``Episode.stream``, so that they can run while they are written."""
    templates: Mapping[str, Path] = field(default_factory=dict)
    """The files of its prompts by name (``Prompts.files``): a run records their digests."""

    def asks(self, role: str, options: BaseModel, world: Environment) -> bool:
        """Whether the role is asked, under these options on this world; the world need not have begun."""
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
    """What a role has to say; empty if it has nothing that can be used."""
    try:
        return scope.ask(role, prompt, read=as_text, **told).value
    except UnusableReply:
        return ""


def told_task(episode: Episode) -> Mapping[str, JsonValue]:
    """What plan code that a model writes sees in ``task``: of its params, those that may be told."""
    return {"params": dict(episode.world.told_params(episode.task))}


def countdown(number: int) -> Callable[[], int]:
    """Gives the number, then one less each time, down to 0."""
    return iter(range(number, -1, -1)).__next__


def in_rounds(episode: Episode, most: int, play: Callable[[int], None]) -> None:
    """Play a task from the beginning up to so many times, until it is solved; the best round counts."""
    for number in range(most):
        if number:
            episode.new_round()
        with suppress(RoundOver, NoPlan):
            play(number)
        if episode.verdict().solved:
            return
