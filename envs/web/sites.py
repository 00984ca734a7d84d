"""The sites of an episode: which addresses may be visited, the sites' short names, and our own site.

Our own site is an issue tracker for tasks that change data on a server. Trac 1.6 serves it on this machine. It contains
Tidemark, a fictional software project whose data is in the file ``trac_project.sql``.

Trac calls a folder with a project's database and settings an *environment*. Every server creates its own.
"""

import ipaddress
import os
import select
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from pydantic import JsonValue

from planbook.envs.errors import EnvironmentBroken
from planbook.envs.requirements import RequiredPackage, file_digest, folder_digest, texts_digest
from planbook.envs.types import Requirement

SCHEMES = ("http", "https")
BLANK = "about:blank"
LOCAL_SCHEMES = ("about", "blob", "data")
"""URL schemes that a page may always use for its frames and pictures, since they cause no requests to a server."""
DEFAULT_PORTS = {"http": 80, "https": 443}
PRIVATE_HOSTS = (*(f"{digit}*" for digit in range(10)), "[*", "localhost*", "*.local*", "*.internal*")
PRIVATE_PATTERNS = tuple(f"*://{host}" for host in PRIVATE_HOSTS)
"""URL patterns that make the browser pause every request to this machine or its network.

The patterns also match some public addresses, so ``is_private`` has to decide on each paused request.
"""
DEAD_PROXY = "http://127.0.0.1:1"
"""The address of a proxy that does not exist. Forbidden requests are directed there to make them fail."""


def host_of(url: str) -> tuple[str, str]:
    """Return the host of an address, and the host with its port. Both are "" if the address has no valid host."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return "", ""
    return host, host and f"{host}:{port}"


def is_private(host: str) -> bool:
    """Return True if the host is this machine or in its private network."""
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
    """The policy that says which addresses may be opened.

    Hosts that match one of ``patterns`` are allowed. A pattern with a port (``127.0.0.1:8000``) allows only that port.
    If ``allows_internet`` is true, every host on the internet is allowed, too.
    """

    patterns: Sequence[str]
    allows_internet: bool = False

    def refusal(self, url: str) -> str:
        """Return the reason why the address may not be opened, or "" if it may be opened."""
        if url == BLANK:
            return ""
        scheme, colon, _ = url.partition(":")
        if not colon:
            return "an address must begin with http://, https://, or / for the same site"
        if scheme.lower() not in SCHEMES:
            return f"{scheme[:20]!r} addresses cannot be opened, only http and https"
        host, host_and_port = host_of(url)
        if not host:
            return "the address is not well-formed"
        if self._matches(host, host_and_port) or (self.allows_internet and not is_private(host)):
            return ""
        return f"{host_and_port[:100]} may not be visited here; allowed: {self}"

    def allows_request(self, url: str) -> bool:
        """Return True if a page may request the address."""
        return url.partition(":")[0] in LOCAL_SCHEMES or not self.refusal(url)

    def request_patterns(self) -> Sequence[str]:
        """Return URL patterns of requests to check. Requests for documents are always checked."""
        return PRIVATE_PATTERNS if self.allows_internet else ()

    def proxy_settings(self) -> Mapping[str, JsonValue]:
        """Return proxy settings that block all forbidden hosts, or {} if the whole internet is allowed."""
        bypass_list = ";".join(["<-loopback>", *(pattern.removesuffix(":*") for pattern in self.patterns)])
        return {} if self.allows_internet else {"proxyServer": DEAD_PROXY, "proxyBypassList": bypass_list}

    def _matches(self, host: str, host_and_port: str) -> bool:
        return any(fnmatchcase(host_and_port if ":" in pattern else host, pattern.lower()) for pattern in self.patterns)

    def __str__(self) -> str:
        hosts = ", ".join(self.patterns)
        internet = f"the internet and {hosts}" if hosts else "the internet"
        return internet if self.allows_internet else hosts or "nothing"


@dataclass(frozen=True)
class SiteNames:
    """Short names of sites, as in ``http://trac/wiki``, for servers that we run on a local port.

    The agent sees only short names, since the port differs between runs.
    """

    sites: Mapping[str, str] = field(default_factory=dict)
    """Maps the short name of a site to its real address, without a slash at the end."""

    def shorten(self, text: str) -> str:
        """Return the text with the host and port of each site replaced by the site's short name."""
        for name, address in self.sites.items():
            text = text.replace(address.removeprefix("http://"), name)
        return text

    def shorten_values(self, description: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a copy of the dict with ``shorten`` applied to every string."""
        return {key: self.shorten(value) if isinstance(value, str) else value for key, value in description.items()}

    def resolve(self, url: str, base: str) -> str:
        """Return the real address for an address with a short name, or for a path such as ``/wiki``.

        A path is on the site of the address ``base``. Other addresses are unchanged.
        """
        if url.startswith("/"):
            return urljoin(base, url)
        for name, site in self.sites.items():
            short = f"http://{name}"
            if url == short or url.startswith((f"{short}/", f"{short}?", f"{short}#")):
                return site + url[len(short) :]
        return url


TICKET_FIELDS = (*"type component severity priority owner reporter cc version milestone status".split(),
          "resolution", "summary", "keywords", "description")  # fmt: skip
"""The fields of a ticket."""
TABLES = {
    "milestone": ("name", "due", "completed", "description"),
    "component": ("name", "owner", "description"),
    "version": ("name", "time", "description"),
    "report": ("id", "title", "description", "query"),
}
"""Maps the name of a table to its columns. The first column identifies a row."""
STATE_QUERIES = (
    *(f"'ticket/' || id || '/{field}', {field} FROM ticket" for field in TICKET_FIELDS),
    "'ticket/' || ticket || '/' || name, value FROM ticket_custom",
    "'ticket/' || ticket || '/comment/' || substr(oldvalue, instr(oldvalue, '.') + 1), newvalue FROM ticket_change "
    "WHERE field = 'comment'",
    "'wiki/' || name, text FROM (SELECT name, text, max(version) FROM wiki GROUP BY name)",
    "'choice/' || type || '/' || name, value FROM enum",
    *(f"'{table}/' || {key}, 'there' FROM {table}" for table, (key, *_) in TABLES.items()),
    *(f"'{table}/' || {key} || '/{column}', {column} FROM {table}" for table, (key, *rest) in TABLES.items()
      for column in rest),
    "'preference/' || sid || '/' || name, value FROM session_attribute WHERE authenticated = 1 AND name IN "
    "('name', 'email', 'tz', 'language', 'dateinfo', 'default_format')",
    "'attachment/' || type || '/' || id || '/' || filename, 'there' FROM attachment",
)  # fmt: skip
"""SQL queries, without the word SELECT, for pairs of a key, such as ``ticket/12/status``, and a value.

From ``session_attribute``, they read only users' preferences, since Trac also stores users' last searches there.
"""


def read_state(database: Path) -> dict[str, str]:
    """Return the content of a site as a dict of strings.

    Each key names one value, for example ``ticket/12/status``, ``ticket/12/comment/3``, ``wiki/Map`` or
    ``milestone/1.0/due``. Empty values are left out. Times are given as dates.
    """
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10) as connection:
        connection.execute("BEGIN")
        rows = [row for query in STATE_QUERIES for row in connection.execute(f"SELECT {query}")]
    connection.close()
    return {key: _to_text(value) for key, value in rows if value}


def _to_text(value: str | int) -> str:
    """Return a value of the database as text. A number is a time in microseconds, which becomes a date."""
    return datetime.fromtimestamp(value // 1_000_000, UTC).date().isoformat() if isinstance(value, int) else value


CONTENT_FILE, SETTINGS_FILE, PROGRAM_FILE = (
    Path(__file__).with_name(name) for name in ("trac_project.sql", "trac_project.ini", "trac_process.py")
)
DATABASE, SEEDED_DATABASE = Path("site", "db", "trac.db"), Path("seeded.db")
"""Paths in a server's folder: the database that it serves, and a copy with the original content."""
TIMEOUT = 180
"""Seconds to wait for a server's answer. A server usually answers within seconds, but the machine may be busy."""

PACKAGE = RequiredPackage("trac", "browser", prefixes=("setuptools", "trac"))


def requirements() -> Sequence[Requirement]:
    """Return the Trac package as a requirement."""
    return (PACKAGE.requirement("trac"),)


def checksum() -> str:
    """Return the digest of the project and of Trac itself. Raises MissingRequirement if Trac is not installed."""
    return texts_digest([file_digest(CONTENT_FILE), file_digest(SETTINGS_FILE), folder_digest(PACKAGE.folder())])


class TracSite:
    """A server with its own Trac environment.

    The server removes its folder and exits when its standard input closes, at the latest when this process ends.
    """

    def __init__(self) -> None:
        """Start a server. Raises MissingRequirement if Trac is missing, or EnvironmentBroken if it does not start."""
        PACKAGE.folder()
        self._start()

    def _start(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="planbook-trac-"))
        with (self.folder / "server.log").open("w", encoding="utf-8") as log:
            self.server = subprocess.Popen(
                [sys.executable, "-P", "-s", str(PROGRAM_FILE), str(self.folder)],  # -P -s: no imports from our folders
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", "")},
                start_new_session=True,
            )
        self.url = f"http://127.0.0.1:{self._read_answer()}"
        self._seeded = read_state(self.folder / SEEDED_DATABASE)

    def reset(self) -> None:
        """Restore the original content of the site. If the server is not running, start a new one first."""
        if self.server.poll() is not None:
            self.close()
            self._start()
        assert self.server.stdin is not None
        with suppress(BrokenPipeError):  # the server has just died, which _read_answer reports
            self.server.stdin.write("reset\n")
            self.server.stdin.flush()
        self._read_answer()

    def changes(self) -> Mapping[str, str | None]:
        """Return the values that differ from the original content, keyed as in ``read_state``.

        A removed value is given as None.
        """
        current = read_state(self.folder / DATABASE)
        keys = sorted(self._seeded.keys() | current.keys())
        return {key: current.get(key) for key in keys if current.get(key) != self._seeded.get(key)}

    def close(self) -> None:
        """End the server, and remove its folder."""
        with suppress(BrokenPipeError), self.server:
            self.server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read_answer(self) -> str:
        """Return the server's next line of output. Raises EnvironmentBroken if there is none in time."""
        assert self.server.stdout is not None
        ready, _, _ = select.select([self.server.stdout], [], [], TIMEOUT)
        answer = self.server.stdout.readline().strip() if ready else ""
        if not answer:
            log = (self.folder / "server.log").read_text(encoding="utf-8", errors="replace").strip()
            self.close()
            last_line = log.splitlines()[-1] if log else "its log is empty"
            raise EnvironmentBroken(f"Trac's server does not answer: {last_line}")
        return answer
