"""The noise that worlds are made of: the function of the package that the game uses, seven times as fast.

A world takes some 30,000 values. What costs the time is reading single numbers out of numpy arrays, so the very same
function is given lists; it computes the same numbers, bit by bit.
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from crafter.worldgen import opensimplex

Table = list[int]
Gradient = tuple[int, int, int]


class Noise:
    """Stands in for ``opensimplex.OpenSimplex`` where the game makes a world."""

    def __init__(self, seed: int) -> None:
        drawn = opensimplex.OpenSimplex(seed)
        gradients = opensimplex.internals.GRADIENTS3.tolist()
        self._permutation: Table = drawn._perm.tolist()
        self._gradients = [_gradient(gradients, start) for start in drawn._perm_grad_index3.tolist()]
        self._value = _on_lists()

    def noise3(self, x: float, y: float, z: float) -> float:
        """The noise at a point, between -1 and 1."""
        return self._value(x, y, z, self._permutation, self._gradients)


def _gradient(flat: list[int], start: int) -> Gradient:
    return flat[start], flat[start + 1], flat[start + 2]


@cache
def _on_lists() -> Callable[[float, float, float, Table, list[Gradient]], float]:
    """The package's function, with our way of looking a gradient up in place of its own."""
    internals = opensimplex.internals
    plain: Any = getattr(internals._noise3, "py_func", internals._noise3)  # numba, if installed, wraps it
    return FunctionType(plain.__code__, {**vars(internals), "_extrapolate3": _extrapolate})


def _extrapolate(
    permutation: Table, gradients: list[Gradient], xsb: int, ysb: int, zsb: int, dx: float, dy: float, dz: float
) -> float:
    corner = permutation[(permutation[xsb & 0xFF] + ysb) & 0xFF]
    gx, gy, gz = gradients[(corner + zsb) & 0xFF]
    return gx * dx + gy * dy + gz * dz
