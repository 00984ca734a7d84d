"""What a run has spent on model calls, and what it has reserved for those under way."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Amount:
    """What model calls cost, or may cost at most. ``money`` is in US dollars."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)


Allows = Callable[[Amount, Amount], bool]
"""Takes what is spent and what other calls have reserved; returns whether one more call may begin now."""


class Ledger(Protocol):
    """The account of a run. Threads may use it side by side, and processes too where it is in the run's store."""

    def reserve(self, call: str, most: Amount, allows: Allows) -> bool:
        """Reserve an amount for a call, in one atomic step, if ``allows`` returns True. Returns what that returns."""

    def settle(self, call: str, spent: Amount) -> None:
        """Count what a call has cost, in the place of what was reserved for it."""

    def release(self, call: str) -> None:
        """Give back what is still reserved for a call."""

    def act(self, number: int) -> int:
        """Count actions. Returns the actions of all who use the account so far."""


class OwnLedger:
    """The ledger of a run that one process plays."""

    def __init__(self, spent: Amount) -> None:
        self._spent, self._reserved = spent, dict[str, Amount]()
        self._lock, self._actions = threading.Lock(), 0

    def reserve(self, call: str, most: Amount, allows: Allows) -> bool:
        """Reserve an amount for a call if ``allows`` returns True. Returns what that returns."""
        with self._lock:
            others = (amount for other, amount in self._reserved.items() if other != call)
            if allowed := allows(self._spent, sum(others, Amount())):
                self._reserved[call] = most
            return allowed

    def settle(self, call: str, spent: Amount) -> None:
        """Count what a call has cost, in the place of what was reserved for it."""
        with self._lock:
            self._reserved.pop(call, None)
            self._spent += spent

    def release(self, call: str) -> None:
        """Give back what is still reserved for a call."""
        with self._lock:
            self._reserved.pop(call, None)

    def act(self, number: int) -> int:
        """Count actions. Returns the actions so far."""
        with self._lock:
            self._actions += number
            return self._actions
