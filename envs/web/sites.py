"""Our own site for tasks that change data on a server: the issue tracker Trac 1.6, served on this machine.

Its content is Tidemark, a fictional software project in the folder ``trac_project``. A *Trac environment* is Trac's
word for a folder with a project's database and settings. Every server has its own copy of one environment, the seed.
"""

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
from itertools import count
from pathlib import Path
from typing import IO

from planbook.envs.errors import EnvironmentBroken
from planbook.envs.resources import PackageData, folder_digest, texts_digest
from planbook.envs.types import Requirement

TICKET_FIELDS = (*"type component severity priority owner reporter cc version milestone status".split(),
          "resolution", "summary", "keywords", "description")  # fmt: skip
"""The fields of a ticket."""
TABLES = {
    "milestone": ("name", "due", "completed", "description"),
    "component": ("name", "owner", "description"),
    "version": ("name", "time", "description"),
    "report": ("id", "title", "description", "query"),
}
"""Maps a table to its columns. The first one identifies a row."""
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
"""Queries that return pairs of a key such as ``ticket/12/status`` and a value; see ``read_state``.

Only those preferences are read that users set themselves, since Trac also stores their last searches.
"""


def read_state(database: Path) -> dict[str, str]:
    """Return the content of a site as a dict of texts.

    A key names one value: ``ticket/12/status``, ``ticket/12/comment/3``, ``wiki/Map``, ``milestone/1.0/due``. Empty
    values are left out. Times are given as dates.
    """
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10) as connection:
        connection.execute("BEGIN")
        rows = [row for query in STATE_QUERIES for row in connection.execute(f"SELECT {query}")]
    connection.close()
    return {key: _to_text(value) for key, value in rows if value}


def _to_text(value: str | int) -> str:
    """Return a value as text. A number is a time in microseconds, which becomes a date."""
    return datetime.fromtimestamp(value // 1_000_000, UTC).date().isoformat() if isinstance(value, int) else value


PROJECT = Path(__file__).with_name("trac_project")
DATABASE = Path("db", "trac.db")
TIMEOUT = 60
"""Seconds until a silent server counts as dead. It usually answers within a second, but a machine may stall."""


PACKAGE = PackageData("trac", "browser", prefixes=("setuptools", "trac"))


def requirements() -> Sequence[Requirement]:
    """Return the Trac package as a requirement."""
    return (PACKAGE.requirement("trac"),)


def checksum() -> str:
    """Return the digest of the project and of Trac itself. Raises MissingRequirement."""
    return texts_digest([folder_digest(PROJECT), folder_digest(PACKAGE.folder())])


class TracSite:
    """A server with its own Trac environment. ``close`` returns it to the pool.

    It stops by itself when its standard input closes: when this process ends.
    """

    def __init__(self, seed: Path, folder: Path) -> None:
        """Copy the Trac environment ``seed`` into ``folder``, and start a server for it."""
        self.seed, self.folder = seed, folder
        self._seeded = read_state(seed / DATABASE)
        shutil.rmtree(folder, ignore_errors=True)  # an earlier start may have failed
        shutil.copytree(seed, folder)
        self._start()

    def _start(self) -> None:
        with (self.folder / "log" / "server.log").open("w", encoding="utf-8") as log:
            self.server = _run("trac_server.py", self.folder, self.seed / DATABASE, errors=log)
        self.url = f"http://127.0.0.1:{self._read_answer()}"

    def reset(self) -> None:
        """Restore the original content. If the server has ended, start it again."""
        if self.server.poll() is not None:
            self._start()
        assert self.server.stdin is not None
        self.server.stdin.write("reset\n")
        self.server.stdin.flush()
        self._read_answer()

    def changes(self) -> Mapping[str, str | None]:
        """Return the values that differ from the original content. None stands for a value that was removed.

        The keys are those of ``read_state``.
        """
        current = read_state(self.folder / DATABASE)
        keys = sorted(self._seeded.keys() | current.keys())
        return {key: current.get(key) for key in keys if current.get(key) != self._seeded.get(key)}

    def close(self) -> None:
        """Return the server to the pool."""
        with _pool_lock:
            if _trac_pool and self.folder.parent == _trac_pool.folder and self not in _trac_pool.free:
                _trac_pool.free.append(self)

    def _read_answer(self) -> str:
        """Return the next line that the server prints. Raises EnvironmentBroken if there is none."""
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
    """Start a script of this folder in a new process, without our folders in its import path."""
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
    """The servers of this process."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.folder = Path(tempfile.mkdtemp(prefix="planbook-trac-"))
        self.numbers = count()
        self.free: list[TracSite] = []
        """The servers that no episode uses."""
        self.seed = self.folder / "seed"
        _build(self.seed)


_trac_pool: _TracPool | None = None
_pool_lock = threading.Lock()


def take_trac() -> TracSite:
    """Return a free or new server with the original content.

    Raises MissingRequirement if Trac is not installed, or EnvironmentBroken if the server does not start.
    """
    global _trac_pool
    PACKAGE.folder()
    with _pool_lock:
        if _trac_pool is None or _trac_pool.owner != os.getpid():
            _trac_pool = _TracPool()
        pool = _trac_pool
        site = pool.free.pop() if pool.free else TracSite(pool.seed, pool.folder / f"site-{next(pool.numbers)}")
    site.reset()
    return site


def _build(folder: Path) -> None:
    """Create the Trac environment that every server copies. This is done in a separate process."""
    process = _run("trac_seed.py", folder)
    output, _ = process.communicate(timeout=120)
    if process.returncode:
        last_line = output.strip().rpartition("\n")[2]
        raise EnvironmentBroken(f"Trac's environment could not be created in {folder}: {last_line}")
