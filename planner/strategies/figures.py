"""The figures of a method: statistics over a whole run, shown in reports."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from statistics import mean
from typing import ClassVar, NamedTuple, Self

from pydantic import BaseModel, ValidationError

from planbook.planner.journal import AnyPayload, RecordedSpan
from planbook.planner.types import Ending


class PlayedEpisode(NamedTuple):
    """An episode of a run, with its recorded spans, as ``Figures.count`` takes it."""

    kind: str
    """The type of the task."""
    ending: Ending
    spans: Sequence[RecordedSpan]

    def payloads(self, payload_type: type[AnyPayload]) -> list[AnyPayload]:
        """Return the payloads of all spans of this type that have ended.

        Spans whose data do not fit the type are ignored, since another method may use the same name for its spans.
        """
        payloads: list[AnyPayload] = []
        for span in self.spans:
            if span.name == payload_type.span and span.end is not None:
                with suppress(ValidationError):
                    payloads.append(payload_type.model_validate(span.data))
        return payloads


class Grid(NamedTuple):
    """A small table of figures. The first column holds the names of the rows."""

    title: str
    name: str
    """Header of the first column."""
    columns: Sequence[str]
    """Headers of the other columns."""
    rows: Sequence[Sequence[str]]


class Figures(BaseModel):
    """Base class for the statistics of a method over a run. The option ``--json`` prints the fields under ``key``."""

    key: ClassVar[str]

    @classmethod
    def count(cls, episodes: Sequence[PlayedEpisode]) -> Self | None:
        """Compute the figures of a run from its episodes. Return None if there is nothing to count."""
        raise NotImplementedError

    def describe(self) -> Iterable[str | Grid]:
        """Return the figures as sentences and tables."""
        raise NotImplementedError


def mean_of(counts: Iterable[int]) -> float | None:
    """Return the mean, rounded to two decimal places, or None if there are no counts."""
    numbers = list(counts)
    return round(mean(numbers), 2) if numbers else None


def format_figure(figure: float | None) -> str:
    """Return a figure as text with two decimal places, or a dash for None."""
    return "-" if figure is None else f"{figure:.2f}"
