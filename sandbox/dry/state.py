"""Where a dry run stands: what names stand for, what boxes hold, and what is known of the world."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from planbook.sandbox.dry.knowledge import Knowledge
from planbook.sandbox.dry.values import UNKNOWN, Box, Defined, Given, Value, same

Content = list[Value] | dict[Value, Value] | set[Value] | None
"""What a box holds; None where that is not known. Contents are replaced, never changed."""


@dataclass
class State:
    """One state; forks share the contents of boxes."""

    knowledge: Knowledge
    frames: dict[int, dict[str, Value]] = field(default_factory=dict)
    heap: dict[int, Content] = field(default_factory=dict)
    escaped: list[Value] = field(default_factory=list)
    """Functions and given objects that became part of something unknown: who knows what calls them."""

    def copy(self) -> "State":
        """A state that goes its own way from here."""
        frames = {number: dict(names) for number, names in self.frames.items()}
        return State(self.knowledge, frames, dict(self.heap), list(self.escaped))

    def stands_like(self, other: "State") -> bool:
        """Whether nothing differs."""
        return (
            self.frames.keys() == other.frames.keys()
            and self.heap.keys() == other.heap.keys()
            and all(_same_items(self.frames[number], other.frames[number]) for number in self.frames)
            and all(_same_content(self.heap[number], other.heap[number]) for number in self.heap)
            and self.knowledge == other.knowledge
        )

    def drop_unused(self) -> None:
        """Forget boxes that no name leads to; whoever still has one finds its content not known.

        A name for a box of which nothing is known stands for anything.
        """
        for frame in self.frames.values():
            for name, value in frame.items():
                if isinstance(value, Box) and self.heap.get(value.number) is None:
                    frame[name] = UNKNOWN
        reached: dict[int, Content] = {}
        waiting = [value for frame in self.frames.values() for value in frame.values()]
        while waiting:
            value = waiting.pop()
            if isinstance(value, tuple):
                waiting.extend(value)
            elif isinstance(value, Defined):
                waiting.extend(default for _, default in value.defaults)
            elif isinstance(value, Box) and value.number not in reached:
                content = reached[value.number] = self.heap.get(value.number)
                waiting.extend(_inside(content))
        self.heap = reached

    def escape(self, value: Value) -> None:
        """A value that can no longer be followed: what it holds may change at any time, what it does be done."""
        if isinstance(value, (Given, Defined)):
            self.escaped.append(value)
        elif isinstance(value, tuple):
            for each in value:
                self.escape(each)
        elif isinstance(value, Box) and (content := self.heap.get(value.number)) is not None:
            self.heap[value.number] = None
            for each in _inside(content):
                self.escape(each)

    def lose_boxes(self) -> None:
        """Nothing is known any longer of what any box holds."""
        for number in list(self.heap):
            self.escape(Box(number))

    def forget_names(self, names: Iterable[str]) -> None:
        """These names may stand for anything, wherever they have a value."""
        for name in names:
            for frame in self.frames.values():
                if name in frame:
                    self.escape(frame[name])
                    frame[name] = UNKNOWN


def _inside(content: Content) -> list[Value]:
    if isinstance(content, dict):
        return [*content, *content.values()]
    return list(content or ())


def joined(first: State, second: State) -> State:
    """What is so in both states. A name that has a value in one of them keeps it: reading it elsewhere raises."""
    state = State(first.knowledge.either(second.knowledge), {}, {}, [*first.escaped, *second.escaped])
    for number in first.heap.keys() | second.heap.keys():
        state.heap[number] = first.heap.get(number, second.heap.get(number))
    for number in sorted(first.heap.keys() & second.heap.keys()):
        _join_content(state, number, first.heap[number], second.heap[number])
    for number in first.frames.keys() | second.frames.keys():
        ours, theirs = first.frames.get(number, {}), second.frames.get(number, {})
        state.frames[number] = {
            name: either(state, ours.get(name, theirs.get(name)), theirs.get(name, ours.get(name)))
            for name in sorted(ours.keys() | theirs.keys())
        }
    return state


def either(state: State, first: Value, second: Value) -> Value:
    """One of two values: itself where they are the same, else UNKNOWN."""
    if same(first, second):
        return first
    if isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        return tuple(either(state, *pair) for pair in zip(first, second, strict=True))
    state.escape(first)
    state.escape(second)
    return UNKNOWN


def _join_content(state: State, number: int, first: Content, second: Content) -> None:
    if _same_content(first, second):
        return
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        content = [either(state, *pair) for pair in zip(first, second, strict=True)]
        state.heap[number] = content if state.heap[number] is not None else None
        return
    for each in (first, second):
        state.heap[number] = each
        state.escape(Box(number))
    state.heap[number] = None


def _same_content(first: Content, second: Content) -> bool:
    if first is second:
        return True
    if isinstance(first, dict) and isinstance(second, dict):
        return _same_items(first, second) and list(first) == list(second)
    if isinstance(first, list) and isinstance(second, list):
        return same(tuple(first), tuple(second))
    return isinstance(first, set) and isinstance(second, set) and first == second


def _same_items(
    first: Mapping[str, Value] | dict[Value, Value], second: Mapping[str, Value] | dict[Value, Value]
) -> bool:
    return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)  # type: ignore[index]
