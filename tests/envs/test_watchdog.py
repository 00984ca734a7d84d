"""The watchdog ends exactly the processes with its marker, whatever else happens to planbook's processes."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import planbook
from planbook.envs.watchdog import Watchdog, end_all

PROGRAM = Path(planbook.__file__).parent / "envs" / "watchdog.py"
SLEEP = (sys.executable, "-c", "import time; time.sleep(60)")


def test_the_watchdog_ends_only_processes_that_name_the_profile(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    named = subprocess.Popen([*SLEEP, str(profile)])
    spared = subprocess.Popen([*SLEEP, str(tmp_path / "other")])
    end_all(str(profile))
    assert named.wait(timeout=10) == -signal.SIGKILL
    assert spared.poll() is None
    assert not profile.exists()
    spared.kill()
    spared.wait()


def test_processes_are_ended_although_a_fork_of_planbook_keeps_the_pipe_open() -> None:
    watchdog = Watchdog("planbook-test-of-a-fork")
    assert watchdog._process.stdin
    copy = os.dup(watchdog._process.stdin.fileno())  # a fork has such a copy
    marked = subprocess.Popen(SLEEP, env={"MARKER": "planbook-test-of-a-fork"})
    watchdog.end_processes()
    watchdog.end_processes()
    os.close(copy)
    assert marked.wait(timeout=10) == -signal.SIGKILL


def test_a_watchdog_lives_on_if_planbook_itself_has_a_marker_and_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It still has to end its processes: an MCP server may be a planbook that started a server of its own."""
    monkeypatch.setenv("MARKER", "planbook-test-of-an-outer-one")
    inner, marked = Watchdog("planbook-test-of-an-inner-one"), subprocess.Popen(SLEEP)
    end_all("planbook-test-of-an-outer-one")
    assert marked.wait(timeout=10) == -signal.SIGKILL
    assert inner._process.poll() is None
    inner.end_processes()


def test_without_proc_the_watchdog_still_removes_the_folder(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    hidden = "mount -t tmpfs none /proc && exec "  # an empty folder, since a mount point cannot be removed
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*command, f"{hidden} true"], capture_output=True).returncode:
        pytest.skip("this host does not let users mount file systems")
    program = shlex.join([sys.executable, "-I", "-S", str(PROGRAM), str(profile)])
    ended = subprocess.run([*command, hidden + program], input="", capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not profile.exists()
