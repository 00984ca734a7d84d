"""When two addresses mean the same page."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """An address without what makes no difference: fragment, slash at the end, default port, order, encoding."""

    host: str
    path: str
    query: tuple[tuple[str, str], ...]


def address(url: str) -> Address:
    """The parts of an address that tell pages apart; http and https of one host are one page."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:  # no address, then: a text that is only equal to itself
        return Address("", url.strip(), ())
    if port is not None and port != PORTS.get(parts.scheme):
        host += f":{port}"
    path = unquote(parts.path).rstrip("/")
    return Address(host, path, tuple(sorted(parse_qsl(parts.query, keep_blank_values=True))))


def equal(url: str, any_of: Sequence[str]) -> bool:
    """Whether the address is one of these."""
    return address(url) in {address(each) for each in any_of}


def including(url: str, any_of: Sequence[str]) -> bool:
    """Whether it is the page of one of these, with at least its query."""
    return any(_includes(address(url), address(each)) for each in any_of)


def within(url: str, any_of: Sequence[str]) -> bool:
    """WebArena's "GOLD in PRED", over all alternatives together."""
    reached, wanted = address(url), [address(each) for each in any_of]
    names = {name for each in wanted for name, _ in each.query}
    return any(each.host + each.path in reached.host + reached.path for each in wanted) and all(
        any(pair[0] == name and pair in reached.query for each in wanted for pair in each.query) for name in names
    )


def _includes(reached: Address, wanted: Address) -> bool:
    return reached[:2] == wanted[:2] and all(
        reached.query.count(pair) >= wanted.query.count(pair) for pair in wanted.query
    )


MATCHES: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    "equal": equal,
    "including": including,
    "within": within,
}
