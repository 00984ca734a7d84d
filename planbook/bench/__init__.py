"""Our own speed, beside the peers that are installed; every figure is taken in one run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure. ``ratio`` is how it compares with the peer or limit named in ``against``."""

    name: str
    value: float
    unit: str
    ratio: float | None = None
    against: str = ""
    goal: str = ""
    met: bool | None = None
