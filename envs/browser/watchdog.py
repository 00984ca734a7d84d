"""End a browser whose owner is gone, even after ``kill -9``. Runs as its own process: ``watchdog.py PROFILE_FOLDER``.

The owner holds the other end of this process's standard input. When that closes, for any reason, every process
with the profile's folder on its command line is killed, and the folder is removed. Each browser has its own folder, so
no other process is killed.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

ROUNDS = 100
PAUSE = 0.1  # seconds between two rounds


def processes_naming(text: bytes) -> list[int]:
    """Return the processes whose arguments contain the text, except this one."""
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
    """Kill the processes that use the profile, and remove it; repeat this, since dying processes may still write."""
    for _ in range(ROUNDS):
        processes = processes_naming(os.fsencode(profile))
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        shutil.rmtree(profile, ignore_errors=True)
        if not processes and not Path(profile).exists():
            return
        time.sleep(PAUSE)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_all(sys.argv[1])
