"""Targets for attacks on the machine (files, a process, servers), and checks for the effects of an attack on them."""

import os
import resource
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Self

from pydantic import JsonValue

from planbook.sandbox import CellResult, Limits, Sandbox, Session
from tests.sandbox.attack_tables import CANARY, Attack

HIDDEN = "the victim's environment"
"""A text in the memory of the victim, another process of the host's user."""
ROOMY = Limits(wall_seconds=20, memory_mb=256)
PLANTED = "planted.py"
MOUNTS = Path("/proc/self/mountinfo")
NICENESS, MAX_FILES = 5, 200
VICTIM_PRIORITY = os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
"""The nice value of the victim: ``NICENESS`` more than that of the tests."""


class Machine:
    """A private folder, a folder that every user may write to, servers, and a victim process."""

    def __init__(self) -> None:
        self.folder, self.shared = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
        self.shared.chmod(0o1777)
        (self.folder / "secret").write_text(CANARY)
        (self.folder / PLANTED).write_text("")
        self._files = self._listed()
        self._victim = _start_victim()
        self._servers = [
            socket.create_server(("127.0.0.1", 0)),
            _bound_socket(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            _bound_socket(socket.AF_UNIX, socket.SOCK_DGRAM, f"\0planbook-test-{os.getpid()}"),
        ]
        for server in self._servers:
            server.setblocking(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._end_victim()
        for server in self._servers:
            server.close()
        rmtree(self.folder)
        rmtree(self.shared)

    def run(self, attack: Attack, sandbox: Sandbox) -> tuple[CellResult, set[str]]:
        """Run an attack in a session of its own. Return its result and the kinds of its effects."""
        with sandbox.session({}, values=self.values(), limits=ROOMY) as session:
            result = attack.run_in(session)
            effects = self._effects(result, session)
        if effects:
            self._restore()
        return result, effects

    def values(self) -> dict[str, JsonValue]:
        """Return the values that attacks can use. NEW and OPEN are paths of files that do not exist."""
        tcp, udp, _ = self._servers
        return {
            "SECRET": str(self.folder / "secret"),
            "NEW": str(self.folder / "new"),
            "OPEN": str(self.shared / "new"),
            "FOLDER": str(self.folder),
            "HOST": os.getpid(),
            "VICTIM": self._victim.pid,
            "TCP": tcp.getsockname()[1],
            "UDP": udp.getsockname()[1],
        }

    def _effects(self, result: CellResult, session: Session) -> set[str]:
        shown = f"{result.output} {result.value} {result.faults}"
        found = {kind for kind, look in EFFECT_CHECKS.items() if look(self)}
        found |= {kind for kind, words in REVEALING_OUTPUT.items() if any(word in shown for word in words)}
        if _has_started_processes(session):
            found.add("processes started")
        return found

    def _listed(self) -> list[tuple[str, int, bytes]]:
        files = [file for folder in (self.folder, self.shared) for file in sorted(folder.iterdir())]
        return [(file.name, file.lstat().st_mode, _content(file)) for file in files]

    def _received(self) -> bool:
        tcp, *datagrams = self._servers
        return any([_receives(tcp.accept), *(_receives(partial(server.recv, 99)) for server in datagrams)])

    def _is_killed(self) -> bool:
        if self._victim.poll() is None and _status_number(self._victim.pid, "ShdPnd", 16) & 1 << (signal.SIGKILL - 1):
            self._victim.wait()
        return self._victim.returncode is not None

    def _is_changed(self) -> bool:
        if self._victim.returncode is not None:
            return False
        limits = resource.prlimit(self._victim.pid, resource.RLIMIT_NOFILE)
        nice = os.getpriority(os.PRIO_PROCESS, self._victim.pid)
        is_traced = _status_number(self._victim.pid, "TracerPid") != 0
        return is_traced or (nice, limits) != (VICTIM_PRIORITY, (MAX_FILES, MAX_FILES))

    def _has_more_mounts(self) -> bool:
        return f" {self.shared} " in MOUNTS.read_text(encoding="utf-8") or _shared_memory_id() is not None

    def _restore(self) -> None:
        if f" {self.shared} " in MOUNTS.read_text(encoding="utf-8"):
            subprocess.run(["umount", self.shared], check=True)
        if (segment := _shared_memory_id()) is not None:
            subprocess.run(["ipcrm", "-m", segment], check=True)
        for folder in (self.folder, self.shared):
            for file in folder.iterdir():
                rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()
        (self.folder / "secret").write_text(CANARY)
        (self.folder / PLANTED).write_text("")
        self._end_victim()
        self._victim = _start_victim()

    def _end_victim(self) -> None:
        self._victim.kill()
        self._victim.wait()


EFFECT_CHECKS: Mapping[str, Callable[[Machine], bool]] = {
    "files changed": lambda machine: machine._files != machine._listed(),
    "network": Machine._received,
    "signals to others": Machine._is_killed,
    "others' limits and priority": Machine._is_changed,
    "mounts and shared memory": Machine._has_more_mounts,
}
REVEALING_OUTPUT = {
    "files read": (CANARY[:10], PLANTED, "root:"),
    "others' memory": (HIDDEN,),
    "others seen": ("saw-others",),
    "executable memory": ("may-run",),
}
"""Maps kinds of effects that leave no trace to words that successful attacks print."""
EFFECT_KINDS = (*EFFECT_CHECKS, *REVEALING_OUTPUT, "processes started")
LASTING_PROCESSES = {"sleep", "stays"}
"""Names of the processes that attacks start and that do not end by themselves."""
SEGMENT = 0x40000000
"""Added to the host's process id, this is the key of the System V shared memory segment that attacks create."""


def _start_victim() -> "subprocess.Popen[bytes]":
    """Start another process of the host's user."""
    without_rights = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all"]
    limited = ["prlimit", f"--nofile={MAX_FILES}:{MAX_FILES}", "nice", "-n", str(NICENESS), "sleep", "600"]
    process = subprocess.Popen([*without_rights, *limited], env={**os.environ, "HIDDEN": HIDDEN})
    while Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8").strip() != "sleep":
        os.sched_yield()
    return process


def _bound_socket(family: int, kind: int, address: object) -> socket.socket:
    made = socket.socket(family, kind)
    made.bind(address)  # type: ignore[arg-type]
    return made


def _content(file: Path) -> bytes:
    return file.read_bytes() if file.is_file() and not file.is_symlink() else b""


def _receives(receive: Callable[[], object]) -> bool:
    with suppress(BlockingIOError):
        receive()
        return True
    return False


def _status_number(process: int, name: str, base: int = 10) -> int:
    """Return a number from the status of a process."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.partition(f"{name}:")[2].split()[0], base)


def _shared_memory_id() -> str | None:
    """Return the id of the shared memory segment that an attack created, or None if there is none."""
    rows = Path("/proc/sysvipc/shm").read_text(encoding="utf-8").splitlines()[1:]
    return next((row.split()[1] for row in rows if int(row.split()[0]) == SEGMENT + os.getpid()), None)


def _has_started_processes(session: Session) -> bool:
    """Return whether the worker has started processes that keep running. Kills its processes."""
    if session._worker is None:
        return False  # the worker has crashed; a pid namespace ends its processes with it
    worker, found = session._worker._pid, False
    with suppress(FileNotFoundError, ProcessLookupError):
        for child in Path(f"/proc/{worker}/task/{worker}/children").read_text(encoding="utf-8").split():
            found = found or _keeps_running(int(child))
            os.kill(int(child), signal.SIGKILL)
    return found


def _keeps_running(process: int) -> bool:
    """Wait until a process sleeps or ends. Return whether it sleeps and its name is in ``LASTING_PROCESSES``."""
    with suppress(FileNotFoundError, ProcessLookupError):
        while True:
            name, _, state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(") ")
            if (named := name.partition("(")[2]) not in LASTING_PROCESSES or state[0] in "SZ":
                return named in LASTING_PROCESSES and state[0] == "S"
            time.sleep(0.001)
    return False
