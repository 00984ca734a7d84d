"""Starting Trac's servers, resetting them, and ending them with this process."""

import atexit
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from planbook.envs.checksums import of_folder, of_texts
from planbook.envs.errors import MissingRequirement, WorldBroken
from planbook.envs.packages import folder_of, install
from planbook.envs.types import Requirement
from planbook.envs.web.sites.trac.state import state_of

HERE = Path(__file__).parent
DATABASE = Path("db", "trac.db")
PATIENCE = 60
"""Seconds until a silent server is taken for dead. This is for a stalled machine: it answers within a second."""


def remedy() -> str:
    """Return the command that installs Trac."""
    return install("browser", only=("setuptools", "trac"))


def requirements() -> Sequence[Requirement]:
    """The package; it is found without importing it."""
    return (Requirement("trac", "Trac (Python package)" if folder_of("trac") else None, remedy()),)


def checksum() -> str:
    """The digest of what every episode begins with: the project, and Trac itself. Raises MissingRequirement."""
    if (package := folder_of("trac")) is None:
        raise MissingRequirement(f"the site trac needs Trac: {remedy()}")
    return of_texts([of_folder(HERE / "project"), of_folder(package)])


class TracSite:
    """One server with an environment of its own. ``close`` only gives it back; ``end`` stops it."""

    def __init__(self, seed: Path, folder: Path) -> None:
        """``seed`` is the environment to begin with, ``folder`` one that does not exist yet."""
        self.seed, self.folder = seed, folder
        self._seeded = state_of(seed / DATABASE)
        shutil.copytree(seed, folder)
        self._start()

    def _start(self) -> None:
        self.server = _run("server.py", self.folder, self.seed / DATABASE)
        self.url = f"http://127.0.0.1:{self._answer()}"

    def reset(self) -> None:
        """Bring back the seeded state; the server does it between two requests. One that is gone is started anew."""
        if self.server.poll() is not None:
            self._start()
        assert self.server.stdin is not None
        self.server.stdin.write("reset\n")
        self.server.stdin.flush()
        self._answer()

    def changes(self) -> Mapping[str, str | None]:
        """Places whose value is no longer the seeded one, see ``state_of``."""
        now = state_of(self.folder / DATABASE)
        places = sorted(self._seeded.keys() | now.keys())
        return {place: now.get(place) for place in places if now.get(place) != self._seeded.get(place)}

    def close(self) -> None:
        """Give it back."""
        _give(self)

    def end(self) -> None:
        """Stop the server: it ends when its input does."""
        for pipe in (self.server.stdin, self.server.stdout):
            if pipe is not None:
                pipe.close()
        self.server.wait(timeout=PATIENCE)

    def _answer(self) -> str:
        """The server's next line. Raises WorldBroken if there is none."""
        assert self.server.stdout is not None
        ready, _, _ = select.select([self.server.stdout], [], [], PATIENCE)
        answer = self.server.stdout.readline().strip() if ready else ""
        if not answer:
            self.server.kill()
            log = (self.folder / "log" / "server.log").read_text(encoding="utf-8", errors="replace").strip()
            said = log.splitlines()[-1] if log else "it said nothing"
            raise WorldBroken(f"Trac's server in {self.folder} does not answer: {said}")
        return answer


def _run(script: str, *arguments: Path) -> "subprocess.Popen[str]":
    """A script beside this file in a process of its own, which sees no folder of ours in its import path."""
    log = arguments[0] / "log" / "server.log" if script == "server.py" else Path(os.devnull)
    with log.open("w", encoding="utf-8") as errors:
        return subprocess.Popen(
            [sys.executable, "-P", "-s", str(HERE / script), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", "")},
            start_new_session=True,
        )


class _Pool:
    """This process's servers: all that were started, and those that nobody uses."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.folder = Path(tempfile.mkdtemp(prefix="planbook-trac-"))
        self.started: list[TracSite] = []
        self.free: list[TracSite] = []
        self.seed = self.folder / "seed"
        _build(self.seed)


_pool: _Pool | None = None
_sharing = threading.Lock()


def take() -> TracSite:
    """A server nobody else uses, reset. Raises MissingRequirement, WorldBroken."""
    global _pool
    if requirements()[0].found is None:
        raise MissingRequirement(f"the site trac needs Trac: {remedy()}")
    with _sharing:
        if _pool is None or _pool.owner != os.getpid():
            _pool = _Pool()
        pool = _pool
        if pool.free:
            site = pool.free.pop()
        else:
            site = TracSite(pool.seed, pool.folder / f"site-{len(pool.started)}")
            pool.started.append(site)
    site.reset()
    return site


def _give(site: TracSite) -> None:
    with _sharing:
        if _pool is not None and site in _pool.started and site not in _pool.free:
            _pool.free.append(site)


def _build(folder: Path) -> None:
    """Make the environment that every server begins with, in a process of its own."""
    process = _run("seed.py", folder)
    output, _ = process.communicate(timeout=120)
    if process.returncode:
        raise WorldBroken(f"Trac's environment could not be made in {folder}: {output.strip()[-500:]}")


@atexit.register
def end_all() -> None:
    """End this process's servers and remove their folders."""
    global _pool
    with _sharing:
        if _pool is not None and _pool.owner == os.getpid():
            for site in _pool.started:
                site.end()
            shutil.rmtree(_pool.folder, ignore_errors=True)
        _pool = None
