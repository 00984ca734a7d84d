"""placeholder until the models branch is merged"""

from collections.abc import Sequence
from typing import NamedTuple

from planner.models.types import Message


class Fitted(NamedTuple):
    """placeholder"""

    messages: tuple[Message, ...]
    left_out: int = 0
    cut_characters: int = 0


def fit(messages: Sequence[Message], room: int) -> Fitted:
    """placeholder"""
    return Fitted(tuple(messages))
