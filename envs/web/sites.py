"""Sites that planbook runs itself on loopback, for tasks that change what a server stores: Trac 1.6.

The Trac project is Tidemark, the made-up software project in ``trac_project``.
"""

import atexit
import os
import select
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from planbook.envs.errors import BadSelection, EnvironmentBroken, MissingRequirement
from planbook.envs.resources import folder_digest, install_command, package_folder, texts_digest
from planbook.envs.types import Requirement

FIELDS = "type component severity priority owner reporter cc version milestone status resolution summary keywords"
"""Fields of a ticket, besides its description."""
PREFERENCES = ("name", "email", "tz", "language", "dateinfo", "default_format")
TABLES = {
    "milestone": ("due", "completed", "description"),
    "component": ("owner", "description"),
    "version": ("time", "description"),
    "report": ("title", "description", "query"),
}
"""Tables with one row for each thing, named by the first column, and their other columns."""


def state_of(database: Path) -> dict[str, str]:
    """Return place to value: ``ticket/12/status``, ``ticket/12/comment/3``, ``wiki/Roadmap``, ``milestone/0.5/due`` ...

    Empty values are left out; times are given as days.
    """
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10) as connection:
        connection.execute("BEGIN")
        found = {place: value for read in _READERS for place, value in read(connection) if value}
    connection.close()
    return found


def _tickets(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    fields = (*FIELDS.split(), "description")
    for number, *values in connection.execute(f"SELECT id, {', '.join(fields)} FROM ticket"):
        yield from ((f"ticket/{number}/{field}", value or "") for field, value in zip(fields, values, strict=True))
    for number, name, value in connection.execute("SELECT ticket, name, value FROM ticket_custom"):
        yield f"ticket/{number}/{name}", value or ""


def _comments(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    comments = "SELECT ticket, oldvalue, newvalue FROM ticket_change WHERE field = 'comment'"
    for ticket, number, text in connection.execute(comments):
        yield f"ticket/{ticket}/comment/{number.rpartition('.')[2]}", text or ""


def _pages(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield the newest version of each page."""
    for name, text, _ in connection.execute("SELECT name, text, max(version) FROM wiki GROUP BY name"):
        yield f"wiki/{name}", text


def _choices(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield the choices of priority, resolution and type, with their position in the list."""
    yield from connection.execute("SELECT 'choice/' || type || '/' || name, value FROM enum")


def _things(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    for table, columns in TABLES.items():
        key = "id" if table == "report" else "name"
        for name, *values in connection.execute(f"SELECT {key}, {', '.join(columns)} FROM {table}"):
            yield f"{table}/{name}", "there"
            for column, value in zip(columns, values, strict=True):
                yield f"{table}/{name}/{column}", _plain(value)


def _preferences(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield the preferences that users set themselves; Trac also stores what they last searched for."""
    preferences = "SELECT sid, name, value FROM session_attribute WHERE authenticated = 1"
    for user, name, value in connection.execute(preferences):
        if name in PREFERENCES:
            yield f"preference/{user}/{name}", value or ""


def _attachments(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    for kind, of, name in connection.execute("SELECT type, id, filename FROM attachment"):
        yield f"attachment/{kind}/{of}/{name}", "there"


def _plain(value: str | int | None) -> str:
    """Return a value as text; times, which Trac stores in microseconds, as days."""
    if isinstance(value, int):
        return datetime.fromtimestamp(value // 1_000_000, UTC).date().isoformat() if value else ""
    return value or ""


_READERS = (_tickets, _comments, _pages, _choices, _things, _preferences, _attachments)


PROJECT = Path(__file__).with_name("trac_project")
DATABASE = Path("db", "trac.db")
PATIENCE = 60
"""Seconds until a silent server is considered dead. This is for a stalled machine: it answers within a second."""


def remedy() -> str:
    """Return the command that installs Trac."""
    return install_command("browser", only=("setuptools", "trac"))


def trac_requirements() -> Sequence[Requirement]:
    """Return the Trac package as a requirement, without importing it."""
    return (Requirement("trac", "Trac (Python package)" if package_folder("trac") else None, remedy()),)


def trac_checksum() -> str:
    """Return the digest of the project and of Trac itself. Raises MissingRequirement."""
    if (package := package_folder("trac")) is None:
        raise MissingRequirement(f"the site trac needs Trac: {remedy()}")
    return texts_digest([folder_digest(PROJECT), folder_digest(package)])


class TracSite:
    """One server with its own Trac environment. ``close`` returns it to the pool; ``end`` stops it."""

    def __init__(self, seed: Path, folder: Path) -> None:
        """``seed`` is the Trac environment to copy, ``folder`` a folder that does not exist yet."""
        self.seed, self.folder = seed, folder
        self._seeded = state_of(seed / DATABASE)
        shutil.copytree(seed, folder)
        self._start()

    def _start(self) -> None:
        self.server = _run("trac_server.py", self.folder, self.seed / DATABASE)
        self.url = f"http://127.0.0.1:{self._answer()}"

    def reset(self) -> None:
        """Restore the seeded state between two requests. A server that is gone is started again."""
        if self.server.poll() is not None:
            self._start()
        assert self.server.stdin is not None
        self.server.stdin.write("reset\n")
        self.server.stdin.flush()
        self._answer()

    def changes(self) -> Mapping[str, str | None]:
        """Return the places whose value is no longer the seeded one, see ``state_of``."""
        now = state_of(self.folder / DATABASE)
        places = sorted(self._seeded.keys() | now.keys())
        return {place: now.get(place) for place in places if now.get(place) != self._seeded.get(place)}

    def close(self) -> None:
        """Return it to the pool."""
        _give(self)

    def end(self) -> None:
        """Stop the server, which ends when its input does."""
        for pipe in (self.server.stdin, self.server.stdout):
            if pipe is not None:
                pipe.close()
        self.server.wait(timeout=PATIENCE)

    def _answer(self) -> str:
        """Return the server's next line. Raises EnvironmentBroken if there is none."""
        assert self.server.stdout is not None
        ready, _, _ = select.select([self.server.stdout], [], [], PATIENCE)
        answer = self.server.stdout.readline().strip() if ready else ""
        if not answer:
            self.server.kill()
            log = (self.folder / "log" / "server.log").read_text(encoding="utf-8", errors="replace").strip()
            said = log.splitlines()[-1] if log else "it said nothing"
            raise EnvironmentBroken(f"Trac's server in {self.folder} does not answer: {said}")
        return answer


def _run(script: str, *arguments: Path) -> "subprocess.Popen[str]":
    """Run a script beside this file as a process, with none of our folders in its import path."""
    log = arguments[0] / "log" / "server.log" if script == "trac_server.py" else Path(os.devnull)
    with log.open("w", encoding="utf-8") as errors:
        return subprocess.Popen(
            [sys.executable, "-P", "-s", str(Path(__file__).with_name(script)), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", "")},
            start_new_session=True,
        )


class _TracPool:
    """This process's servers: all started ones, and the free ones."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.folder = Path(tempfile.mkdtemp(prefix="planbook-trac-"))
        self.started: list[TracSite] = []
        self.free: list[TracSite] = []
        self.seed = self.folder / "seed"
        _build(self.seed)


_trac_pool: _TracPool | None = None
_sharing = threading.Lock()


def take_trac() -> TracSite:
    """Return a free server, reset. Raises MissingRequirement, EnvironmentBroken."""
    global _trac_pool
    if trac_requirements()[0].found is None:
        raise MissingRequirement(f"the site trac needs Trac: {remedy()}")
    with _sharing:
        if _trac_pool is None or _trac_pool.owner != os.getpid():
            _trac_pool = _TracPool()
        pool = _trac_pool
        if pool.free:
            site = pool.free.pop()
        else:
            site = TracSite(pool.seed, pool.folder / f"site-{len(pool.started)}")
            pool.started.append(site)
    site.reset()
    return site


def _give(site: TracSite) -> None:
    with _sharing:
        if _trac_pool is not None and site in _trac_pool.started and site not in _trac_pool.free:
            _trac_pool.free.append(site)


def _build(folder: Path) -> None:
    """Make the Trac environment that every server begins with, in a separate process."""
    process = _run("trac_seed.py", folder)
    output, _ = process.communicate(timeout=120)
    if process.returncode:
        raise EnvironmentBroken(f"Trac's environment could not be made in {folder}: {output.strip()[-500:]}")


@atexit.register
def end_all() -> None:
    """End this process's servers and remove their folders."""
    global _trac_pool
    with _sharing:
        if _trac_pool is not None and _trac_pool.owner == os.getpid():
            for site in _trac_pool.started:
                site.end()
            shutil.rmtree(_trac_pool.folder, ignore_errors=True)
        _trac_pool = None


class LocalSite(Protocol):
    """A running site. It belongs to one environment at a time, and ends with this process."""

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""

    def reset(self) -> None:
        """Restore its initial content. Raises EnvironmentBroken if the server is gone."""

    def changes(self) -> Mapping[str, str | None]:
        """Return what differs from the initial content: places and their values now, None for what is gone."""

    def close(self) -> None:
        """Release it for reuse. Closing twice is harmless."""


SITES: Mapping[str, Callable[[], LocalSite]] = {"trac": take_trac}
CHECKSUMS: Mapping[str, Callable[[], str]] = {"trac": trac_checksum}


def site_of(name: str) -> LocalSite:
    """Return a running site, started at first use. Raises MissingRequirement, EnvironmentBroken, BadSelection."""
    if name not in SITES:
        raise BadSelection(f"there is no site {name!r}; there are {', '.join(SITES)}")
    return SITES[name]()


def requirements() -> Sequence[Requirement]:
    """Return what the sites need beyond planbook's own Python packages."""
    return trac_requirements()


def checksum(name: str) -> str:
    """Return the digest of a site's initial content. Raises MissingRequirement, KeyError."""
    return CHECKSUMS[name]()
