"""The shared browser is used by all threads, is replaced when it dies, and ends with the process that started it."""

import contextlib
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from planbook.envs import chromium
from planbook.envs.errors import EnvironmentBroken
from planbook.envs.miniwob import Miniwob
from planbook.envs.watchdog import find_processes
from tests.browser import act, kill_browser, need_browser, start
from tests.command import ROOT
from tests.executing import wait_until

OWNER = """
import sys
from planbook.envs.types import Selection
from planbook.envs import chromium
from planbook.envs.miniwob import Miniwob
environment = Miniwob()
environment.reset(Miniwob.tasks(Selection(ids=("click-test/1",)))[0])
print(chromium.shared_browser().profile, flush=True)
sys.stdin.read()
"""


def wait_until_gone(profile: str) -> None:
    """Wait until no process uses the profile any more and its folder has been removed."""
    wait_until(lambda: not find_processes(profile.encode()) and not Path(profile).exists())


@pytest.mark.browser
@pytest.mark.parametrize("ending", ["killed", pytest.param("finished", marks=pytest.mark.deep)])
def test_the_browser_ends_with_its_owner(ending: str) -> None:
    need_browser()
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert owner.stdin is not None
    assert owner.stdout is not None
    profile = owner.stdout.readline().strip()
    assert len(find_processes(profile.encode())) >= 2  # Chromium and its driver
    if ending == "killed":
        owner.send_signal(signal.SIGKILL)
    else:
        owner.stdin.close()
    owner.wait(timeout=30)
    wait_until_gone(profile)


@pytest.mark.browser
def test_a_dead_browser_breaks_the_episode_and_is_replaced() -> None:
    need_browser()
    environment = Miniwob()
    start(environment, "click-test/1")
    first = chromium.shared_browser()
    kill_browser()
    for _ in range(2):
        with pytest.raises(EnvironmentBroken, match=r"disconnected|is gone"):
            act(environment, "click_xpath", "//button")
    start(environment, "click-test/1")
    assert act(environment, "click_xpath", "//button").terminated
    assert chromium.shared_browser() is not first
    wait_until_gone(first.profile)
    environment.close()


@pytest.mark.browser
def test_a_crashed_tab_breaks_only_its_own_episode() -> None:
    need_browser()
    crashing, other = Miniwob(), Miniwob()
    start(crashing, "click-test/1")
    start(other, "click-test/2")
    browser = chromium.shared_browser()
    crash(crashing)
    with pytest.raises(EnvironmentBroken):
        act(crashing, "click_xpath", "//button")
    assert act(other, "click_xpath", "//button").terminated
    start(crashing, "click-test/1")
    assert act(crashing, "click_xpath", "//button").terminated
    crash(crashing)
    start(crashing, "click-test/1")  # a crash between two episodes breaks neither
    assert act(crashing, "click_xpath", "//button").terminated
    assert chromium.shared_browser() is browser
    assert {"chromium", "selenium", "miniwob"} <= set(other.versions())
    crashing.close()
    other.close()
    other.close()


def crash(environment: Miniwob) -> None:
    """End the process behind the environment's page."""
    tab = environment._tab
    assert tab is not None
    with contextlib.suppress(EnvironmentBroken):
        tab._connection.call("Page.crash")


@pytest.mark.browser
def test_threads_share_the_browser() -> None:
    need_browser()
    solved: list[bool] = []

    def play(seed: int) -> None:
        environment = Miniwob()
        for number in range(seed, seed + 5):
            start(environment, f"click-test/{number}")
            act(environment, "click_xpath", "//button")
            solved.append(environment.verdict().solved)
        environment.close()

    threads = [threading.Thread(target=play, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert solved == [True] * 20
