"""Addresses: which ones may be opened, their short names for the agent, and how two addresses are compared."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from pydantic import JsonValue

SCHEMES = ("http", "https")
BLANK = "about:blank"
LOCAL_SCHEMES = ("about", "blob", "data")
"""Schemes that a page may use for its frames and pictures, since they cause no requests to a server."""
PORTS = {"http": 80, "https": 443}
PRIVATE_HOSTS = (*(f"{digit}*" for digit in range(10)), "[*", "localhost*", "*.local*", "*.internal*")
PRIVATE = tuple(f"*://{host}" for host in PRIVATE_HOSTS)
"""URL patterns for the browser that match at least every address of this machine and its network.

They also match some public addresses, so ``is_private`` has to decide about each request that they catch.
"""
DEAD_PROXY = "http://127.0.0.1:1"
"""The address of a proxy that does not exist. Requests that must not be sent are directed to it."""


def host_of(url: str) -> tuple[str, str]:
    """Return the host, and the host with its port. Both are empty if the address is malformed or has no host."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return "", ""
    return host, host and f"{host}:{port}"


def is_private(host: str) -> bool:
    """Return True if the host is this machine or belongs to its private network."""
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
    """The rule for which addresses may be opened.

    Hosts that match a pattern are allowed and, if ``public``, every host on the internet. A pattern with a port
    (``127.0.0.1:8000``) allows only that port.
    """

    patterns: Sequence[str]
    public: bool = False

    def refusal(self, url: str) -> str:
        """Return the reason why the address may not be opened, or "" if it may."""
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
        if self._matches(host, with_port) or (self.public and not is_private(host)):
            return ""
        return f"{with_port[:100]} may not be visited here; allowed: {self}"

    def allows_request(self, url: str) -> bool:
        """Return True if a page may request the address."""
        return url.partition(":")[0] in LOCAL_SCHEMES or not self.refusal(url)

    def request_patterns(self) -> Sequence[str]:
        """Return URL patterns for the browser: requests that must be checked, in addition to those for documents."""
        return PRIVATE if self.public else ()

    def proxy(self) -> Mapping[str, JsonValue]:
        """Return proxy settings that block all hosts that are not allowed, or {} if the policy is ``public``."""
        direct = ";".join(["<-loopback>", *(pattern.removesuffix(":*") for pattern in self.patterns)])
        return {} if self.public else {"proxyServer": DEAD_PROXY, "proxyBypassList": direct}

    def _matches(self, host: str, with_port: str) -> bool:
        return any(fnmatchcase(with_port if ":" in pattern else host, pattern.lower()) for pattern in self.patterns)

    def __str__(self) -> str:
        hosts = ", ".join(self.patterns)
        return (f"the internet and {hosts}" if hosts else "the internet") if self.public else hosts or "nothing"


@dataclass(frozen=True)
class SiteNames:
    """Short names of sites: ``http://trac/wiki`` stands for a page of a server that we run on a local port.

    The agent must not see the port, since it differs between runs.
    """

    sites: Mapping[str, str] = field(default_factory=dict)
    """Maps a name to a base address, without a trailing slash."""

    def shorten(self, text: str) -> str:
        """Return the text with every site's address replaced by its name."""
        for name, base in self.sites.items():
            text = text.replace(base, f"http://{name}")
        return text

    def shorten_values(self, description: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a copy of the dict in which strings have the names of sites in place of their addresses."""
        return {key: self.shorten(value) if isinstance(value, str) else value for key, value in description.items()}

    def resolve(self, url: str, base: str) -> str:
        """Return the real address for a short one, or for a path such as ``/wiki`` on the site of ``base``.

        Other addresses are returned unchanged.
        """
        if url.startswith("/"):
            return urljoin(base, url)
        for name, base in self.sites.items():
            short = f"http://{name}"
            if url == short or url.startswith((f"{short}/", f"{short}?", f"{short}#")):
                return base + url[len(short) :]
        return url


class Address(NamedTuple):
    """An address in a form for comparison.

    Fragment, final slash and default port are removed, and the query is decoded and sorted.
    """

    host: str
    path: str
    query: tuple[tuple[str, str], ...]


def address(url: str) -> Address:
    """Return the address in a form for comparison, in which http and https are the same."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:  # a malformed address is equal only to itself
        return Address("", url.strip(), ())
    if port is not None and port != PORTS.get(parts.scheme):
        host += f":{port}"
    path = unquote(parts.path).rstrip("/")
    return Address(host, path, tuple(sorted(parse_qsl(parts.query, keep_blank_values=True))))


def equal(url: str, any_of: Sequence[str]) -> bool:
    """Return True if the address is equal to one of ``any_of``."""
    return address(url) in set(map(address, any_of))


def including(url: str, any_of: Sequence[str]) -> bool:
    """Return True if the address is the same page as one of ``any_of``, with all its parameters and values."""
    return any(_includes(address(url), expected) for expected in map(address, any_of))


def within(url: str, any_of: Sequence[str]) -> bool:
    """Return True if the address passes WebArena's check "GOLD in PRED".

    Host and path of one of ``any_of`` must occur in the address. For each parameter in their queries, the address must
    have a value that one of them has.
    """
    reached, expected = address(url), list(map(address, any_of))
    parameters = {pair for gold in expected for pair in gold.query}
    return any(gold.host + gold.path in reached.host + reached.path for gold in expected) and all(
        any(pair in reached.query for pair in parameters if pair[0] == name) for name, _ in parameters
    )


def _includes(reached: Address, expected: Address) -> bool:
    return reached[:2] == expected[:2] and all(
        reached.query.count(pair) >= expected.query.count(pair) for pair in expected.query
    )


MATCHES: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    compare.__name__: compare for compare in (equal, including, within)
}
"""Maps a value of ``UrlCheck.how`` to the function that compares the final address with the expected ones."""
