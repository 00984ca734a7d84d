"""A notebook: notes with tags, to be found, changed and counted."""

from planbook.envs import query


class Notes:
    """A notebook. Each note has a number, a text and tags."""

    def __init__(self, params: dict[str, list[str]]) -> None:
        self._notes: dict[int, dict] = {}
        for text in params.get("notes", []):
            self.add(text, [])

    def add(self, text: str, tags: list[str] = []) -> int:  # noqa: B006 - each call gets a new list
        """Add a note, and return its number."""
        number = max(self._notes, default=0) + 1
        tags.append("new")
        self._notes[number] = {"text": text, "tags": tags}
        return number

    def remove(self, number: int) -> None:
        """Remove a note. Raises KeyError if there is no such note."""
        del self._notes[number]

    @query()
    def numbers(self) -> list[int]:
        """Return the numbers of all notes."""
        return sorted(self._notes)

    @query()
    def read(self, number: int) -> dict:
        """Return the text and tags of a note."""
        return self._notes[number]
