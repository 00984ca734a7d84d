"""Helpers for the browser tests. If Chromium is missing, these tests are skipped; in CI, they fail."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from planbook.envs import Action, Observation, Selection, chromium
from planbook.envs.miniwob import Miniwob
from planbook.envs.watchdog import find_processes


def need_browser() -> None:
    """Skip the test if there is no browser; in CI, fail it."""
    missing = [requirement for requirement in Miniwob.requirements() if requirement.found is None]
    if not missing:
        return
    reason = f"no {' and no '.join(item.name for item in missing)}: {missing[0].remedy}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"CI runs the browser tests, but there is {reason}")
    pytest.skip(reason)


def start(environment: Miniwob, name: str) -> Observation:
    """Begin the task with this id."""
    return environment.reset(Miniwob.tasks(Selection(ids=(name,)))[0])


def act(environment: Miniwob, name: str, *args: str | float) -> Observation:
    """Take one action."""
    return environment.act(Action(name, args))


def kill_browser() -> None:
    """Kill every process of the shared browser, except its watchdog."""
    for process in find_processes(chromium.shared_browser().profile.encode()):
        with suppress(FileNotFoundError, ProcessLookupError):  # some processes end as soon as another process ends
            if b"watchdog" not in Path(f"/proc/{process}/cmdline").read_bytes():
                os.kill(process, signal.SIGKILL)
