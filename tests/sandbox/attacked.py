"""What attacks are made on: a host with actions, a function and a secret."""

from collections.abc import Callable

from planbook.sandbox import CellResult, Limits, Sandbox, Session

CANARY = "the host's secret"
LIMITS = Limits(wall_seconds=20, memory_mb=256)


class Host:
    """Actions and a function of the host, whose module and instance hold the secret."""

    def __init__(self) -> None:
        self.secret, self.calls = CANARY, list[object]()

    def go_to(self, place: str) -> str:
        self.calls.append(place)
        return f"at {place}"

    def act(self, place: str = "") -> str:
        self.calls.append(place)
        return f"done {place}"

    def open_in(self, sandbox: Sandbox, limits: Limits = LIMITS) -> Session:
        functions: dict[str, Callable[..., object]] = {"agent.go_to": self.go_to, "host_act": self.act}
        return sandbox.session(functions, attributes=lambda: {"agent.location": "desk"}, limits=limits)

    def touched(self, *results: CellResult) -> str:
        """Return what an attack reached of the host; nothing if it reached nothing."""
        told = " ".join(f"{result.output} {result.value} {result.faults}" for result in results)
        if CANARY in told or self.secret != CANARY or vars(self).keys() != {"secret", "calls"}:
            return "reached the host"
        return "" if all(type(call) is str for call in self.calls) else f"gave an action {self.calls}"
