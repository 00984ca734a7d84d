"""Judges of the example's tasks, as Python functions."""

from notes import Notes


def anagram(state: Notes) -> bool:
    """Return whether some note is an anagram of "listen"."""
    return any(sorted(state.read(number)["text"]) == sorted("listen") for number in state.numbers())
