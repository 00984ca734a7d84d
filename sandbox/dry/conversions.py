"""Between the values of a dry run and Python's own."""

from collections.abc import Iterator
from itertools import count

from planbook.sandbox.dry.base import Walk
from planbook.sandbox.dry.operators import MOST_ITEMS, NotKnown, Plain
from planbook.sandbox.dry.values import Box, Value


class Conversions(Walk):
    """A walk that computes with Python's own values."""

    def plain(self, value: Value) -> Plain:
        """The value as Python has it. Raises NotKnown if any part of it is not known, or if it is too large."""
        return self._plain(value, count(1))

    def _plain(self, value: Value, parts: Iterator[int]) -> Plain:
        if next(parts) > MOST_ITEMS:
            raise NotKnown
        if isinstance(value, tuple):
            return tuple(self._plain(each, parts) for each in value)
        if value is None or isinstance(value, str | bytes | int | float):
            return value
        content = self.content(value)
        if content is None:
            raise NotKnown
        if isinstance(content, dict):
            return {self._plain(name, parts): self._plain(each, parts) for name, each in content.items()}
        return type(content)(self._plain(each, parts) for each in content)

    def flat(self, value: Value) -> Plain:
        """As plain, for what makes new containers: those inside would lose their identity. Raises NotKnown."""
        if any(isinstance(each, Box) for each in self.items(value) or ()):
            raise NotKnown
        return self.plain(value)

    def taken_in(self, value: Plain) -> Value:
        """What Python computed, as a value here."""
        if isinstance(value, list):
            return self.box([self.taken_in(each) for each in value])
        if isinstance(value, dict):
            return self.box({self.taken_in(name): self.taken_in(each) for name, each in value.items()})
        if isinstance(value, set):
            return self.box(set(value))
        return tuple(map(self.taken_in, value)) if isinstance(value, tuple) else value

    def key(self, value: Value) -> Value:
        """A value that a dict or set may be looked up by. Raises NotKnown."""
        if isinstance(value, tuple):
            return tuple(map(self.key, value))
        if value is None or isinstance(value, str | int | float | bytes):
            return value
        raise NotKnown
