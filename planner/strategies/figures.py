"""What a method counts of its own over a run, from the spans that it recorded."""

from collections.abc import Iterable, Sequence
from statistics import mean
from typing import ClassVar, NamedTuple, Self, TypeVar

from pydantic import BaseModel

from planbook.planner.spans import Payload, RecordedSpan
from planbook.planner.types import Ending

Held = TypeVar("Held", bound=Payload)


class Played(NamedTuple):
    """An episode of a run, as figures need it."""

    kind: str
    """The type of its task."""
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
    """Base of what a method counts over a run; the fields are what ``--json`` has under its ``key``."""

    key: ClassVar[str]

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over the episodes of a run; None where there is nothing of the kind."""
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
