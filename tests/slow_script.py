"""The scripted model of the toy environment, as slow as a remote model, so that a run lasts for a while."""

import time
from collections.abc import Sequence

from planbook.planner import Message, Sampling
from tests.toy_script import answer as at_once

ANSWER_SECONDS, SLOW_ANSWER_SECONDS = 0.25, 1.0
"""Seconds for an answer."""


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply after a while."""
    time.sleep(ANSWER_SECONDS)
    return at_once(messages, sampling)


def slowly(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply after a longer while, so that a watcher has time to look."""
    time.sleep(SLOW_ANSWER_SECONDS)
    return at_once(messages, sampling)
