"""Handing a reply that is there already to whoever listens to its pieces."""

from planbook.planner.models.types import Finish, OnText

PIECE = 16
"""Characters told at a time."""


def tell(text: str, on_text: OnText | None) -> tuple[str, Finish]:
    """Tell a text in pieces. Returns what was told, and "cut" if the listener wanted no more before its end."""
    if on_text is None:
        return text, "stop"
    for start in range(0, len(text), PIECE):
        told = start + PIECE
        if not on_text(text[start:told]) and told < len(text):
            return text[:told], "cut"
    return text, "stop"
