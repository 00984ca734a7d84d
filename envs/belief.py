"""What is known of one fact at a point of a plan, and which lines made it so."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

MOST_VALUES = 12
"""With more values that a fact may have, any is taken to be possible."""


@dataclass(frozen=True)
class Belief:
    """The values that a fact may have (None: any), and the plan lines that left it so.

    ``before`` is what was believed until then: one belief, or two where ways of the plan came together.
    """

    values: frozenset[Hashable] | None = None
    since: frozenset[int] = frozenset()
    before: tuple["Belief", ...] = field(default=(), compare=False, repr=False)

    def either(self, other: "Belief") -> "Belief":
        """What is believed where one of the two is right."""
        if self == other:
            return self
        if self.values is None or other.values is None or len(self.values | other.values) > MOST_VALUES:
            return Belief()
        return Belief(self.values | other.values, self.since | other.since, (self, other))

    def following(self, before: "Belief", line: int) -> "Belief":
        """The same, as what a line made of another; where it left the values as they were, that one."""
        return before if self.values == before.values else Belief(self.values, frozenset({line}), (before,))

    def since_when(self, told: "Callable[[Belief], str]") -> tuple[int, ...]:
        """The lines from which on this is told of the fact (none: from the start); ``told`` is "" where it is not."""
        waiting, seen, lines = [self], set[int](), set[int]()
        while waiting:
            belief = waiting.pop()
            if id(belief) in seen:
                continue
            seen.add(id(belief))
            if len(belief.before) > 1 or any(told(each) == told(belief) for each in belief.before):
                waiting.extend(belief.before)
            else:
                lines |= belief.since
        return tuple(sorted(lines))


ANY = Belief()
