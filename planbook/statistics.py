"""The few statistics that tables need."""

from math import sqrt

Z_95 = 1.959963984540054


def wilson(successes: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """The Wilson score interval of a share, as two fractions; (0, 1) where nothing was tried."""
    if total == 0:
        return 0.0, 1.0
    share = successes / total
    centre = share + z * z / (2 * total)
    spread = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
