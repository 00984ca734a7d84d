"""Numbers for the elements of pages: small, stable while an element is there, the same when its page comes again."""

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from planbook.envs.web.nodes import Node
from planbook.envs.web.reading import Page

Sign = tuple[str, str, str, int]
"""What an element is known by when its page is loaded again: address, role, name, and which of these it is."""


class Place(NamedTuple):
    """An element of a document that a tab has loaded."""

    document: str
    frame: str
    backend: int


class Numbers:
    """The numbers of one episode. No two elements that are there at the same time have the same one."""

    def __init__(self) -> None:
        self._next = count(1)
        self._of: dict[tuple[str, int], int] = {}
        self._places: dict[int, Place] = {}
        self._known: dict[Sign, int] = {}

    def of(self, page: Page, node: Node, open_elsewhere: Callable[[str], bool]) -> int:
        """The node's number. ``open_elsewhere``: whether another tab shows the document."""
        here = (page.document, node.backend)
        if here in self._of:
            return self._of[here]
        sign = (page.url.partition("#")[0], node.role, node.name, node.turn)
        number = self._known.get(sign)
        if number is None or self._taken(number, page, open_elsewhere):
            number = next(self._next)
        self._known[sign] = number
        self._of[here] = number
        self._places[number] = Place(page.document, node.frame, node.backend)
        return number

    def place(self, number: int) -> Place | None:
        """Where the element of that number was last."""
        return self._places.get(number)

    def _taken(self, number: int, page: Page, open_elsewhere: Callable[[str], bool]) -> bool:
        place = self._places[number]
        if place.document == page.document:
            return place.backend in page.backends
        return open_elsewhere(place.document)
