"""Passes a complete reply to a listener in pieces."""

from planbook.planner.models.types import Finish, OnText

PIECE = 16
"""Characters passed on at a time."""


def tell(text: str, on_text: OnText | None) -> tuple[str, Finish]:
    """Pass a text on in pieces. Return the part passed on, and "cut" if the listener stopped before the end."""
    if on_text is None:
        return text, "stop"
    for start in range(0, len(text), PIECE):
        told = start + PIECE
        if not on_text(text[start:told]) and told < len(text):
            return text[:told], "cut"
    return text, "stop"
