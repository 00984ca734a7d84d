"""The site that planbook itself runs on loopback, Trac 1.6, for tasks that change data on a server.

The Trac project is Tidemark, a fictional software project in ``trac_project``.
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
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from planbook.envs.errors import EnvironmentBroken
from planbook.envs.resources import PackageData, folder_digest, texts_digest
from planbook.envs.types import Requirement

TICKET = (*"type component severity priority owner reporter cc version milestone status".split(),
          "resolution", "summary", "keywords", "description")  # fmt: skip
"""Fields of a ticket."""
THINGS = {
    "milestone": ("name", "due", "completed", "description"),
    "component": ("name", "owner", "description"),
    "version": ("name", "time", "description"),
    "report": ("id", "title", "description", "query"),
}
"""Tables with one row for each thing: first the column that identifies it, then its other columns."""
STATE = (
    *(f"'ticket/' || id || '/{field}', {field} FROM ticket" for field in TICKET),
    "'ticket/' || ticket || '/' || name, value FROM ticket_custom",
    "'ticket/' || ticket || '/comment/' || substr(oldvalue, instr(oldvalue, '.') + 1), newvalue FROM ticket_change "
    "WHERE field = 'comment'",
    "'wiki/' || name, text FROM (SELECT name, text, max(version) FROM wiki GROUP BY name)",
    "'choice/' || type || '/' || name, value FROM enum",
    *(f"'{table}/' || {key}, 'there' FROM {table}" for table, (key, *_) in THINGS.items()),
    *(f"'{table}/' || {key} || '/{column}', {column} FROM {table}" for table, (key, *rest) in THINGS.items()
      for column in rest),
    "'preference/' || sid || '/' || name, value FROM session_attribute WHERE authenticated = 1 AND name IN "
    "('name', 'email', 'tz', 'language', 'dateinfo', 'default_format')",
    "'attachment/' || type || '/' || id || '/' || filename, 'there' FROM attachment",
)  # fmt: skip
"""Queries for places and values. Only preferences that users set count; Trac also stores their last searches."""


def state_of(database: Path) -> dict[str, str]:
    """Return the values by place: ``ticket/12/status``, ``ticket/12/comment/3``, ``wiki/Map``, ``milestone/1.0/due``.

    Empty values are left out; times are dates.
    """
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10) as connection:
        connection.execute("BEGIN")
        rows = [row for query in STATE for row in connection.execute(f"SELECT {query}")]
    connection.close()
    return {place: _to_text(value) for place, value in rows if value}


def _to_text(value: str | int) -> str:
    """Return a value as text; times, which Trac stores in microseconds, as dates."""
    return datetime.fromtimestamp(value // 1_000_000, UTC).date().isoformat() if isinstance(value, int) else value


PROJECT = Path(__file__).with_name("trac_project")
DATABASE = Path("db", "trac.db")
TIMEOUT = 60
"""Seconds until a silent server counts as dead. It usually answers within a second; this is for stalled machines."""


PACKAGE = PackageData("trac", "browser", only=("setuptools", "trac"))


def requirements() -> Sequence[Requirement]:
    """Return the Trac package as a requirement."""
    return (PACKAGE.requirement("trac"),)


def checksum() -> str:
    """Return the digest of the project and of Trac itself. Raises MissingRequirement."""
    return texts_digest([folder_digest(PROJECT), folder_digest(PACKAGE.folder())])


class TracSite:
    """One server with its own Trac environment. ``close`` returns it to the pool; ``end`` stops it."""

    def __init__(self, seed: Path, folder: Path) -> None:
        """``seed`` is the Trac environment to copy into ``folder``."""
        self.seed, self.folder = seed, folder
        self._seeded = state_of(seed / DATABASE)
        shutil.rmtree(folder, ignore_errors=True)  # an earlier start may have failed
        shutil.copytree(seed, folder)
        self._start()

    def _start(self) -> None:
        with (self.folder / "log" / "server.log").open("w", encoding="utf-8") as log:
            self.server = _run("trac_server.py", self.folder, self.seed / DATABASE, errors=log)
        self.url = f"http://127.0.0.1:{self._answer()}"

    def reset(self) -> None:
        """Restore the seeded state, between two requests. A server that is gone is started again."""
        if self.server.poll() is not None:
            self._start()
        assert self.server.stdin is not None
        self.server.stdin.write("reset\n")
        self.server.stdin.flush()
        self._answer()

    def changes(self) -> Mapping[str, str | None]:
        """Return the current values of the places that changed (``state_of``); None if a place is gone."""
        now = state_of(self.folder / DATABASE)
        places = sorted(self._seeded.keys() | now.keys())
        return {place: now.get(place) for place in places if now.get(place) != self._seeded.get(place)}

    def close(self) -> None:
        """Return the server to the pool."""
        with _sharing:
            if _trac_pool is not None and self in _trac_pool.started and self not in _trac_pool.free:
                _trac_pool.free.append(self)

    def end(self) -> None:
        """Stop the server by closing its standard input."""
        for pipe in (self.server.stdin, self.server.stdout):
            if pipe is not None:
                pipe.close()
        self.server.wait(timeout=TIMEOUT)

    def _answer(self) -> str:
        """Return the server's next line. Raises EnvironmentBroken if there is none."""
        assert self.server.stdout is not None
        ready, _, _ = select.select([self.server.stdout], [], [], TIMEOUT)
        answer = self.server.stdout.readline().strip() if ready else ""
        if not answer:
            self.server.kill()
            self.server.wait()
            log = (self.folder / "log" / "server.log").read_text(encoding="utf-8", errors="replace").strip()
            last_line = log.splitlines()[-1] if log else "its log is empty"
            raise EnvironmentBroken(f"Trac's server in {self.folder} does not answer: {last_line}")
        return answer


def _run(script: str, *arguments: Path, errors: IO[str] | int = subprocess.STDOUT) -> "subprocess.Popen[str]":
    """Return the process of a script from this folder, started without our folders in its import path."""
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
    """This process's servers: all that were started, and those that are free."""

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
    """Return a free or new server, reset. Raises MissingRequirement, EnvironmentBroken."""
    global _trac_pool
    PACKAGE.folder()
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


def _build(folder: Path) -> None:
    """Create the Trac environment that every server copies, in a separate process."""
    process = _run("trac_seed.py", folder)
    output, _ = process.communicate(timeout=120)
    if process.returncode:
        last_line = output.strip().rpartition("\n")[2]
        raise EnvironmentBroken(f"Trac's environment could not be created in {folder}: {last_line}")


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
