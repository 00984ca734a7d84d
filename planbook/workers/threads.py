"""Run work in threads of this process, until it is done or Ctrl-C stops it."""

import logging
import queue
import threading
from collections.abc import Callable

from planbook.planner import EpisodeStopped, JournalFailed
from planbook.sandbox import running_call

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.2
STOPPING = "Stopping at the next action or model call. Press Ctrl-C again to stop immediately."
Message = BaseException | bool
"""A message from a thread: the error that ended it, False if there is something to report, or True at its end."""


def in_threads(
    count: int,
    work: Callable[[Callable[[], None]], None],
    stop: Callable[[], None],
    poll: Callable[[], None] = lambda: None,
) -> bool:
    """Run ``work`` in ``count`` threads. Returns False if it was stopped.

    ``work`` gets a function that it calls when there is something to report. ``poll`` is called in this thread after
    each such call, and regularly. ``stop`` is called after Ctrl-C or an error; it must make the work end soon. If a
    thread raises an error, the error is raised here after all threads have ended. A second Ctrl-C raises
    KeyboardInterrupt immediately, although threads may still be at work.
    """
    messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threads = [threading.Thread(target=_run, args=(work, messages), daemon=True) for _ in range(count)]
    finished = False
    try:
        for thread in threads:
            thread.start()
        finished = _watch(count, messages, poll)
    except KeyboardInterrupt:
        LOG.warning(STOPPING)
        for call in filter(None, map(running_call, threads)):
            LOG.warning("Still running: %s.", call)
    finally:
        if not finished:
            stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    poll()
    return finished


def _run(work: Callable[[Callable[[], None]], None], messages: "queue.SimpleQueue[Message]") -> None:
    """Call ``work`` in a thread, and send the error that it raises."""
    try:
        work(lambda: messages.put(False))
        messages.put(True)
    except JournalFailed as failed:
        messages.put(failed.__cause__ or failed)
    except BaseException as error:
        messages.put(error)


def _watch(count: int, messages: "queue.SimpleQueue[Message]", poll: Callable[[], None]) -> bool:
    """Wait until all threads have ended. Returns False if one was stopped; raises the error of a thread."""
    while count:
        try:
            message = messages.get(timeout=POLL_SECONDS)
        except queue.Empty:
            message = False
        if isinstance(message, EpisodeStopped):
            return False
        if isinstance(message, BaseException):
            raise message
        count -= message
        poll()
    return True
