"""When planbook has ended, even by ``kill -9``, end the processes that it started.

This file also runs as a program, ``watchdog.py MARKER``. The marker is a string by which the program recognizes the
processes to end: only they have it on their command lines or in their environment variables. An example is the path of
a browser's profile. The program's standard input is a pipe from planbook. When a byte arrives, or the pipe closes for
whatever reason, the program kills every process that has the marker. If the marker is the path of a folder, the program
also removes the folder.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

MAX_ATTEMPTS = 100
PAUSE_SECONDS = 0.1  # between two attempts


class Watchdog:
    """A running watchdog program for the processes with a marker. Create it before these processes are started."""

    def __init__(self, marker: str) -> None:
        command = [sys.executable, "-I", "-S", __file__, marker]
        # Do not inherit a marker with which planbook itself was started: that marker's watchdog would kill this one.
        env = {name: value for name, value in os.environ.items() if name.startswith("LD_")}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, env=env)

    def end_processes(self) -> None:
        """Make the watchdog end all processes with the marker, and wait until the watchdog itself has ended."""
        if self._process.poll() is None:
            self._process.communicate(b"\n", timeout=30)  # a byte, since a fork of planbook may keep the pipe open


def find_processes(marker: bytes) -> list[int]:
    """Return the ids of all other processes that have the marker in their arguments or environment variables.

    Environment variables are visible only for processes of the same user. Without ``/proc``, the list is empty.
    """
    matching = []
    others = (entry for entry in Path("/proc").glob("[0-9]*") if int(entry.name) != os.getpid())
    for entry in others:
        try:
            if any(marker in (entry / name).read_bytes() for name in ("cmdline", "environ")):
                matching.append(int(entry.name))
        except OSError:
            continue
    return matching


def end_all(marker: str) -> None:
    """Kill the processes with a marker. If the marker is the path of a folder, remove the folder.

    Both steps are repeated until no process and no folder is left, since dying processes may still write files.
    """
    for _ in range(MAX_ATTEMPTS):
        processes = find_processes(os.fsencode(marker))
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):  # Chromium's sandbox may run a process as root
                continue
        shutil.rmtree(marker, ignore_errors=True)
        if not processes and not Path(marker).exists():
            return
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    sys.stdin.buffer.read(1)
    end_all(sys.argv[1])
