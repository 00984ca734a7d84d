"""What a dry run asks of a world: one protocol, which the sandbox owns and others implement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self


@dataclass(frozen=True, slots=True)
class Impossible:
    """Why an action cannot succeed, and the plan lines that made it so; no lines: it was so from the start."""

    action: str
    why: str
    since: tuple[int, ...] = ()


class Knowledge(Protocol):
    """What is known of a world at one point of a plan. It never changes; two that know the same are equal."""

    def act(
        self, path: str, args: Sequence[object], kwargs: Mapping[str, object], line: int
    ) -> tuple[Self, Impossible | None]:
        """What is known after a call of a given function in that line; and if it cannot succeed, why.

        An argument may be UNKNOWN. A call whose arguments do not fit changes nothing that is known.
        """

    def either(self, other: Self) -> Self:
        """What is known where one of the two holds."""

    def forgotten(self) -> Self:
        """What is still known when anything may have been done."""

    def attribute(self, path: str) -> object:
        """The value of a given attribute, or UNKNOWN."""
