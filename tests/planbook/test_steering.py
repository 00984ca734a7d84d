import threading
import time

import pytest

from planbook.planner import EpisodeStopped
from planbook.workers import Steering


def test_it_lets_everything_pass_until_told_otherwise() -> None:
    steering = Steering()
    steering.guard()
    assert not (steering.stopped)
    assert not (steering.paused)


def test_a_pause_holds_back_until_it_is_ended() -> None:
    steering, passed = Steering(), threading.Event()
    steering.pause()

    def pass_by() -> None:
        steering.guard()
        passed.set()

    threading.Thread(target=pass_by, daemon=True).start()
    time.sleep(0.05)
    assert steering.paused
    assert not passed.is_set()
    steering.go_on()
    assert passed.wait(5)


def test_a_stop_ends_a_pause_and_stays() -> None:
    steering = Steering()
    steering.pause()
    steering.stop()
    steering.go_on()
    assert steering.stopped
    assert not steering.paused
    with pytest.raises(EpisodeStopped):
        steering.guard()
