"""Threads that are watched from the main one: Ctrl-C stops them, and what one raises ends them all."""

import logging
import os
import queue
import threading
from collections.abc import Callable, Sequence

from planbook.errors import INTERRUPTED
from planbook.planner import EpisodeStopped, JournalFailed
from planbook.workers.steering import Steering

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 0.2
STOPPING = "Stopping: what is under way ends at its next action or model call; Ctrl-C again ends it at once."
Message = BaseException | bool
"""What a thread puts: an error that ended it, False for news, True once it is over."""


def in_threads(
    count: int,
    work: Callable[[Callable[[], None]], None],
    steering: Steering,
    look: Callable[[], None] = lambda: None,
) -> bool:
    """Run ``work`` in so many threads at once, each given a function by which it says that there are news.

    ``look`` is called in this thread for news, and now and then. Returns False if Ctrl-C or ``steering`` stopped the
    work. What a thread raises is raised here, once all have ended.
    """
    messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threads = [threading.Thread(target=_run, args=(work, messages), daemon=True) for _ in range(count)]
    finished = False
    try:
        for thread in threads:
            thread.start()
        finished = _watch(count, messages, look)
    except KeyboardInterrupt:
        LOG.warning(STOPPING)
    finally:
        if not finished:
            steering.stop()
        wait_for(threads)
    look()
    return finished


def _run(work: Callable[[Callable[[], None]], None], messages: "queue.SimpleQueue[Message]") -> None:
    """Work in a thread, which has no other way to raise than to send."""
    try:
        work(lambda: messages.put(False))
        messages.put(True)
    except JournalFailed as failed:
        messages.put(failed.__cause__ or failed)
    except BaseException as error:
        messages.put(error)


def _watch(count: int, messages: "queue.SimpleQueue[Message]", look: Callable[[], None]) -> bool:
    """Wait for so many threads to end. Returns False if one was stopped; raises what one raised."""
    while count:
        try:
            message = messages.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            message = False
        if isinstance(message, EpisodeStopped):
            return False
        if isinstance(message, BaseException):
            raise message
        count -= message
        look()
    return True


def wait_for(threads: Sequence[threading.Thread]) -> None:
    """Let the episodes under way come to their next action; a second Ctrl-C does not wait for them.

    The process then ends at once, as if it were killed: what they would write after their sandbox is gone must not be
    taken for endings.
    """
    try:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
