"""What is another than when a run was begun."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from planbook.run.manifest import MadeOf

VERSIONS = "versions"
TOLD_AS = {
    "data": "data",
    "prompts": "prompt",
    "knowledge": "knowledge",
    "models": "model",
    "prices": "prices",
}
"""How a part of what a run is made of is called before the name of one of its items."""
MUST_STAY = ("data", "prompts", "knowledge")
"""Parts that decide what is played: with others, what is played next is not comparable with what was played."""
CHANGED, GONE, NEW = "changed", "gone", "new"


class Change(NamedTuple):
    """One item of a part: a version or a digest, then and now; None is none."""

    part: str
    name: str
    then: str | None
    now: str | None

    def __str__(self) -> str:
        if self.part == VERSIONS:
            return f"{self.name} {self.then}, now {self.now}"
        how = GONE if self.now is None else NEW if self.then is None else CHANGED
        return f"{TOLD_AS[self.part]} {self.name}: {how}"


def changed_versions(then: Mapping[str, str], now: Mapping[str, str]) -> list[Change]:
    """What is installed in another version; a run of an older planbook does not say all of them."""
    return [Change(VERSIONS, name, was, now.get(name)) for name, was in then.items() if now.get(name) != was]


def changes(then: MadeOf | None, now: MadeOf) -> list[Change]:
    """What is another. A run of an older planbook says nothing of it."""
    return [change for part in TOLD_AS for change in _of_part(part, then, now)] if then else []


def _of_part(part: str, then: MadeOf | None, now: MadeOf) -> Iterator[Change]:
    was: dict[str, str] = getattr(then, part)
    there: dict[str, str] = getattr(now, part)
    for name in {**was, **there}:
        if was.get(name) != there.get(name):
            yield Change(part, name, was.get(name), there.get(name))


def decisive(found: list[Change]) -> list[Change]:
    """Those that decide what is played."""
    return [change for change in found if change.part in MUST_STAY]
