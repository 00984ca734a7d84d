"""Functions that judge the tasks in notes.yaml."""

from notes import Notes


def anagram(state: Notes) -> bool:
    """Return whether some note is an anagram of "listen"."""
    return any(sorted(state.read(number)["text"]) == sorted("listen") for number in state.numbers())
