"""Sites that we run ourselves, on loopback, for tasks that change what a server stores."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from planbook.envs.errors import BadSelection
from planbook.envs.types import Requirement
from planbook.envs.web.sites import trac


class Site(Protocol):
    """A running site. It belongs to one world instance at a time, and ends with this process."""

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""

    def reset(self) -> None:
        """Bring back what it stored in the beginning. Raises WorldBroken where the server is gone."""

    def changes(self) -> Mapping[str, str | None]:
        """What it stores otherwise than in the beginning: places and their values now, None for what is gone."""

    def close(self) -> None:
        """Give it back, for the next who asks; closing twice is harmless."""


SITES: Mapping[str, Callable[[], Site]] = {"trac": trac.take}
CHECKSUMS: Mapping[str, Callable[[], str]] = {"trac": trac.checksum}


def site_of(name: str) -> Site:
    """A running site of one's own, started at first use. Raises MissingRequirement, WorldBroken, BadSelection."""
    if name not in SITES:
        raise BadSelection(f"there is no site {name!r}; there are {', '.join(SITES)}")
    return SITES[name]()


def requirements() -> Sequence[Requirement]:
    """What the sites need beyond the Python packages that planbook itself needs."""
    return trac.requirements()


def checksum(name: str) -> str:
    """The digest of what a site of ours begins with. Raises MissingRequirement, KeyError."""
    return CHECKSUMS[name]()
