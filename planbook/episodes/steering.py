"""Stopping, pausing and going on with a run while it is played, whoever asks for it."""

import threading

from planbook.planner import EpisodeStopped


class Steering:
    """Told by any thread; looked at by every episode before each action and each model call."""

    def __init__(self) -> None:
        self._stop, self._go = threading.Event(), threading.Event()
        self._go.set()

    @property
    def stopped(self) -> bool:
        """Whether the run is to end; there is no way back."""
        return self._stop.is_set()

    @property
    def paused(self) -> bool:
        """Whether nothing further is to be done for now."""
        return not self._go.is_set() and not self.stopped

    def stops(self) -> bool:
        """Wait while paused; then whether the run is to end. For a model that waits before it asks its server again."""
        self._go.wait()
        return self.stopped

    def stop(self) -> None:
        """No further episode begins; those under way end at their next action."""
        self._stop.set()
        self._go.set()

    def pause(self) -> None:
        """Episodes wait before their next action or model call."""
        self._go.clear()

    def go_on(self) -> None:
        """End a pause."""
        self._go.set()

    def guard(self) -> None:
        """Wait while paused. Raises EpisodeStopped once stopped."""
        if self.stops():
            raise EpisodeStopped
