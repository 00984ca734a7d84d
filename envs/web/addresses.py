"""Addresses: the policy on which may be opened, their short names for the agent, and the comparison of pages."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from pydantic import JsonValue

SCHEMES = ("http", "https")
BLANK = "about:blank"
INNER = ("about", "blob", "data")
"""Schemes that a page may use for its frames and pictures: they cause no requests."""
PORTS = {"http": 80, "https": 443}
PRIVATE_HOSTS = (*(f"{digit}*" for digit in range(10)), "[*", "localhost*", "*.local*", "*.internal*")
PRIVATE = tuple(f"*://{host}" for host in PRIVATE_HOSTS)
"""Browser patterns that match every address of this machine and its network, and others: ``is_private`` decides."""
NOWHERE = "http://127.0.0.1:1"
"""A proxy that does not exist, for requests that must not be sent."""


def host_of(url: str) -> tuple[str, str]:
    """Return the host, and the host with its port. Both are empty if the address has none or is malformed."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return "", ""
    return host, host and f"{host}:{port}"


def is_private(host: str) -> bool:
    """Return True for this machine and hosts in its private network."""
    host = host.rstrip(".")
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return not address.is_global


@dataclass(frozen=True)
class AddressPolicy:
    """Allows hosts that match a pattern and, if ``public``, every host on the internet.

    A pattern with a port (``127.0.0.1:8000``) allows only that port.
    """

    patterns: Sequence[str]
    public: bool = False

    def why_not(self, url: str) -> str:
        """Return why the address may not be opened; empty if it may."""
        if url == BLANK:
            return ""
        scheme, colon, _ = url.partition(":")
        if not colon:
            return "an address begins with http://, https://, or / for the same site"
        if scheme.lower() not in SCHEMES:
            return f"{scheme[:20]!r} addresses cannot be opened, only http and https"
        host, with_port = host_of(url)
        if not host:
            return "the address is not well-formed"
        if self._fits(host, with_port) or (self.public and not is_private(host)):
            return ""
        return f"{with_port[:100]} may not be visited here; allowed: {self}"

    def allows_request(self, url: str) -> bool:
        """Return True if a page may request the address."""
        return url.partition(":")[0] in INNER or not self.why_not(url)

    def watched(self) -> Sequence[str]:
        """Return browser patterns of requests that must be checked in addition to documents."""
        return PRIVATE if self.public else ()

    def proxy(self) -> Mapping[str, JsonValue]:
        """Return proxy settings that block all other hosts; {} if the policy is ``public``."""
        direct = ";".join(["<-loopback>", *(pattern.removesuffix(":*") for pattern in self.patterns)])
        return {} if self.public else {"proxyServer": NOWHERE, "proxyBypassList": direct}

    def _fits(self, host: str, with_port: str) -> bool:
        return any(fnmatchcase(with_port if ":" in pattern else host, pattern.lower()) for pattern in self.patterns)

    def __str__(self) -> str:
        hosts = ", ".join(self.patterns)
        return (f"the internet and {hosts}" if hosts else "the internet") if self.public else hosts or "nothing"


@dataclass(frozen=True)
class Names:
    """Short names of sites: ``http://trac/wiki`` stands for a page of a server that we run on a local port.

    The agent must not see the port, since it differs between runs.
    """

    sites: Mapping[str, str] = field(default_factory=dict)
    """Maps a name to a base address, without a trailing slash."""

    def short(self, text: str) -> str:
        """Return the text with every site's address replaced by its name."""
        for name, base in self.sites.items():
            text = text.replace(base, f"http://{name}")
        return text

    def shorten_values(self, description: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the dict with the sites' names in place of their addresses in its strings."""
        return {key: self.short(value) if isinstance(value, str) else value for key, value in description.items()}

    def address(self, url: str, base: str) -> str:
        """Return the real address of a short one, or of a path on the site of ``base``."""
        return urljoin(base, url) if url.startswith("/") else self.real(url)

    def real(self, url: str) -> str:
        """Return the real address of a short one."""
        for name, base in self.sites.items():
            short = f"http://{name}"
            if url == short or url.startswith((f"{short}/", f"{short}?", f"{short}#")):
                return base + url[len(short) :]
        return url


class Address(NamedTuple):
    """An address without insignificant parts: fragment, final slash, default port, order and encoding of the query."""

    host: str
    path: str
    query: tuple[tuple[str, str], ...]


def address(url: str) -> Address:
    """Return the parts of an address that distinguish pages; http and https are not distinguished."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:  # malformed: equal only to itself
        return Address("", url.strip(), ())
    if port is not None and port != PORTS.get(parts.scheme):
        host += f":{port}"
    path = unquote(parts.path).rstrip("/")
    return Address(host, path, tuple(sorted(parse_qsl(parts.query, keep_blank_values=True))))


def equal(url: str, any_of: Sequence[str]) -> bool:
    """Return True if the address is one of these."""
    return address(url) in set(map(address, any_of))


def including(url: str, any_of: Sequence[str]) -> bool:
    """Return True if the address is the same page as one of these, and its query has at least that one's parameters."""
    return any(_includes(address(url), wanted) for wanted in map(address, any_of))


def within(url: str, any_of: Sequence[str]) -> bool:
    """Return True if the address passes WebArena's check "GOLD in PRED" for all alternatives taken together."""
    reached, wanted = address(url), list(map(address, any_of))
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
