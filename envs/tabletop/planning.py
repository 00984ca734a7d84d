"""Knowledge for planners: goals for a selector (DEPS), and preconditions for the dry run."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING

from planbook.envs.optional import Features, Goals
from planbook.envs.preconditions import UNKNOWN, Change, Deed, Fact, Given, Need, Preconditions
from planbook.envs.tabletop.scenes import TableScene
from planbook.envs.tabletop.table import JOINED, TAKES, Table
from planbook.envs.types import Action

if TYPE_CHECKING:
    from planbook.envs.tabletop.environment import Tabletop


KNOWN = 2_000
"""Maximum number of moves that a line of a plan may be matched to."""


class TabletopGoals(Goals):
    """The goals on the table; each is one move. If two need the same place, only one of them can be reached."""

    environment: "Tabletop"

    @property
    def _table(self) -> Table:
        return self.environment.table

    def refusal(self, goal: Action) -> str:
        """Return the reason why the move would be refused now, without making it; empty if it would not."""
        return self._table.refusal(*goal.args)

    def is_open(self, goal: Action) -> bool:
        """Return whether the move can be made now; the agent sees all that this depends on."""
        return not self.refusal(goal)

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return the moved thing and its target, each once. A box is left out, since it takes several things."""
        moved, supports = str(goal.args[0]), self._supports(goal)
        places = [] if not supports or self._kind(supports[0]) == "box" else [JOINED.join(supports)]
        return dict.fromkeys((moved, *places), 1)

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return the goal and, if its target is a spot, the same goal with every other free spot."""
        thing, target = goal.args
        if self._kind(target) != "spot":
            return (goal,)
        others = [spot for spot in self._table.free_spots() if spot != target]
        return (goal, *(Action(goal.name, (thing, spot)) for spot in others))

    def known(self) -> Sequence[Action]:
        """Return up to KNOWN moves: each thing to whatever takes its kind.

        If there are bases, also each block across any two others.
        """
        return list(islice(self._moves(), KNOWN))

    def _moves(self) -> Iterator[Action]:
        things = self._table.things
        bases = [name for name, thing in things.items() if thing.kind == "base"]
        blocks = [name for name, thing in things.items() if thing.kind == "block"] if bases else []
        for moved in self._table.on:
            takers = [name for name, thing in things.items() if things[moved].kind in TAKES[thing.kind]]
            yield from (Action("pick_place", (moved, name)) for name in takers if name != moved)
            for pair in combinations(blocks, 2):
                if moved in blocks and moved not in pair:
                    yield Action("pick_place", (moved, JOINED.join(pair)))

    def features(self, goal: Action) -> Features:
        """Return the kinds of the thing and its target, the target's level, and how many things are in the way."""
        supports = self._supports(goal)
        levels = [self._table.position(name)[2] for name in supports]
        return {
            "kind": self._kind(goal.args[0]),
            "target": self._kind(supports[0]) if supports else "",
            "level": float(max(levels, default=0)),
            "in the way": float(self._in_the_way(goal)),
        }

    def horizon(self, goal: Action) -> float:
        """Return the number of moves: one, and one for each thing in the way."""
        return 1.0 + self._in_the_way(goal)

    def _kind(self, name: object) -> str:
        thing = self._table.things.get(name) if isinstance(name, str) else None
        return thing.kind if thing else ""

    def _supports(self, goal: Action) -> tuple[str, ...]:
        target = goal.args[1]
        names = self._table.supports(target) if isinstance(target, str) else ()
        return tuple(name for name in names if name in self._table.things)

    def _in_the_way(self, goal: Action) -> int:
        """Return how many things lie on the moved thing, and on its target unless that is a box or two blocks."""
        supports = self._supports(goal)
        single = supports if len(supports) == 1 and self._kind(supports[0]) != "box" else ()
        moved = goal.args[0]
        roots = [name for name in (moved, *single) if isinstance(name, str) and name in self._table.things]
        things: set[str] = set()
        while roots:
            above = set(self._table.upon(roots.pop())) - things - {str(moved)}
            things |= above
            roots += above
        return len(things)


LYING = Fact("what lies where")
"""The fact about all things at once; its value is the items of ``Table.on``."""


def preconditions(scene: TableScene) -> Preconditions:
    """Return the preconditions of a scene's moves."""

    def pick_place(thing: Given, target: Given) -> Deed:
        if thing is UNKNOWN or target is UNKNOWN:
            return Deed(changes=[Change(LYING, UNKNOWN)])

        def table(lying: tuple[tuple[str, tuple[str, ...]], ...]) -> Table:
            return Table(scene.things, dict(lying))

        def moved(lying: tuple[tuple[str, tuple[str, ...]], ...]) -> Hashable:
            after = table(lying)
            after.move(thing, target)
            return tuple(after.on.items())

        return Deed([Need(LYING, lambda now: table(now).refusal(thing, target))], [Change(LYING, moved)], sure=True)

    return Preconditions({"pick_place": pick_place}, start={LYING: tuple(scene.on.items())})
