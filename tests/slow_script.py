"""The scripted model of the toy environment, as slow as a remote model, so that a run lasts for a while."""

import time
from collections.abc import Sequence

from planbook.planner import Message, Sampling
from tests.toy_script import answer as answer_without_delay

ANSWER_SECONDS, SLOW_ANSWER_SECONDS = 0.25, 1.0
"""Seconds that an answer of ``answer`` and of ``slowly`` takes."""


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply after a short time."""
    time.sleep(ANSWER_SECONDS)
    return answer_without_delay(messages, sampling)


def slowly(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply after a longer time, so that a test can watch the run."""
    time.sleep(SLOW_ANSWER_SECONDS)
    return answer_without_delay(messages, sampling)
