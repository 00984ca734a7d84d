"""What methods do to lists, dicts and sets: their content is replaced, so that forks may share it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy

from planbook.sandbox.dry.expressions import Expressions
from planbook.sandbox.dry.operators import MOST_ITEMS, NotKnown, computed
from planbook.sandbox.dry.values import Box, Value


class Boxes(Expressions):
    """A walk that knows what lists, dicts and sets do."""

    def box_method(self, box: Box, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
        """Carry out a method of a box. Raises NotKnown, with nothing changed, where its effect is not known."""
        content = self.content(box)
        way = _METHODS.get((type(content), name))
        if content is None or way is None or named or len(content) >= MOST_ITEMS:
            raise NotKnown
        changed = copy(content)
        value = computed(way, self, changed, *args)
        self.state.heap[box.number] = changed
        return value

    def store(self, base: Value, key: Value, value: Value) -> None:
        """``base[key] = value``."""
        self._replaced(base, "__setitem__", key, value)

    def drop(self, base: Value, key: Value) -> None:
        """``del base[key]``."""
        self._replaced(base, "__delitem__", key)

    def _replaced(self, base: Value, how: str, key: Value, *value: Value) -> None:
        content = copy(self.content(base))
        if isinstance(content, list | dict) and isinstance(base, Box):
            with suppress(NotKnown):
                computed(getattr(content, how), self.key(key), *value)
                self.state.heap[base.number] = content
                return
        self.escape(base, *value)

    def _extend(self, content: list[Value], more: Value) -> None:
        items = self.items(more)
        if items is None:
            raise NotKnown
        content.extend(items)

    def _insert(self, content: list[Value], place: Value, value: Value) -> None:
        computed(content.insert, self.plain(place), value)

    def _pop(self, content: list[Value], place: Value = -1) -> Value:
        return computed(content.pop, self.plain(place))

    def _remove(self, content: list[Value], value: Value) -> None:
        computed(content.pop, self._place(content, value))

    def _place(self, content: list[Value], value: Value) -> object:
        return computed([self.plain(each) for each in content].index, self.plain(value))

    def _count(self, content: list[Value], value: Value) -> Value:
        return [self.plain(each) for each in content].count(self.plain(value))

    def _sort(self, content: list[Value]) -> None:
        computed(content.sort, key=self.plain)

    def _copy(self, content: list[Value] | dict[Value, Value] | set[Value]) -> Value:
        return self.box(copy(content))

    def _get(self, content: dict[Value, Value], key: Value, other: Value = None) -> Value:
        return content.get(self.key(key), other)

    def _set_default(self, content: dict[Value, Value], key: Value, other: Value = None) -> Value:
        return content.setdefault(self.key(key), other)

    def _pop_key(self, content: dict[Value, Value], key: Value, *other: Value) -> Value:
        return computed(content.pop, self.key(key), *other)

    def _update(self, content: dict[Value, Value], more: Value) -> None:
        other = self.content(more)
        if not isinstance(other, dict):
            raise NotKnown
        content.update(other)


_METHODS: Mapping[tuple[type, str], Callable[..., Value]] = {
    (list, "append"): lambda walk, content, value: content.append(value),
    (list, "extend"): Boxes._extend,
    (list, "insert"): Boxes._insert,
    (list, "pop"): Boxes._pop,
    (list, "remove"): Boxes._remove,
    (list, "index"): Boxes._place,
    (list, "count"): Boxes._count,
    (list, "sort"): Boxes._sort,
    (list, "reverse"): lambda walk, content: content.reverse(),
    (list, "clear"): lambda walk, content: content.clear(),
    (list, "copy"): Boxes._copy,
    (dict, "get"): Boxes._get,
    (dict, "setdefault"): Boxes._set_default,
    (dict, "pop"): Boxes._pop_key,
    (dict, "update"): Boxes._update,
    (dict, "keys"): lambda walk, content: tuple(content),
    (dict, "values"): lambda walk, content: walk.tuple_of(content.values()),
    (dict, "items"): lambda walk, content: walk.tuple_of(content.items()),
    (dict, "copy"): Boxes._copy,
    (dict, "clear"): lambda walk, content: content.clear(),
    (set, "add"): lambda walk, content, value: content.add(walk.key(value)),
    (set, "discard"): lambda walk, content, value: content.discard(walk.key(value)),
    (set, "copy"): Boxes._copy,
    (set, "clear"): lambda walk, content: content.clear(),
}
"""A method of a kind of box: it changes the content that it is given, a copy, and returns what the plan gets."""
