"""End a browser when its owner, the process that started it, is gone, even after ``kill -9``.

This file runs as a process: ``watchdog.py PROFILE_FOLDER``. The owner holds the other end of its standard input. When
that closes, for whatever reason, the watchdog kills every process that has the folder on its command line, and removes
the folder. Each browser has its own folder, so no other process is killed.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

MAX_ATTEMPTS = 100
PAUSE_SECONDS = 0.1  # between two attempts


def processes_naming(text: bytes) -> list[int]:
    """Return the ids of the processes whose arguments contain the text, except that of this process."""
    matching = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            arguments = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if text in arguments:
            matching.append(int(entry.name))
    return matching


def end_all(profile: str) -> None:
    """Kill the processes that use the profile, and remove its folder.

    This is repeated until nothing is left, since dying processes may still write files.
    """
    for _ in range(MAX_ATTEMPTS):
        processes = processes_naming(os.fsencode(profile))
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        shutil.rmtree(profile, ignore_errors=True)
        if not processes and not Path(profile).exists():
            return
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_all(sys.argv[1])
