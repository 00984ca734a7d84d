"""What planners may know about the tabletop: the goals for the method DEPS, and the preconditions of moves.

DEPS chooses among goals. The preconditions let a dry run check a plan before it runs.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING

from planbook.envs.optional import Features, Goals
from planbook.envs.preconditions import UNKNOWN, ArgValue, Change, Contract, Fact, Need, Preconditions
from planbook.envs.tabletop.scenes import TableScene
from planbook.envs.tabletop.table import ACCEPTED_KINDS, SEPARATOR, Table
from planbook.envs.types import Action

if TYPE_CHECKING:
    from planbook.envs.tabletop.environment import Tabletop


MAX_GOALS = 2_000
"""Maximum number of moves that may replace an invalid line of a plan."""


class TabletopGoals(Goals):
    """The goals on the table. Each is one move. If two goals need the same place, only one of them can be reached."""

    environment: "Tabletop"

    @property
    def _table(self) -> Table:
        return self.environment.table

    def refusal(self, goal: Action) -> str:
        """Return the reason why the move would be refused now, or ""."""
        return self._table.refusal(*goal.args)

    def is_open(self, goal: Action) -> bool:
        """Return whether the move is possible now. The agent sees everything that this depends on."""
        return not self.refusal(goal)

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return the moved thing and its target as materials. A box is not one, since it takes several things."""
        moved, supports = str(goal.args[0]), self._supports(goal)
        places = [] if not supports or self._kind(supports[0]) == "box" else [SEPARATOR.join(supports)]
        return dict.fromkeys((moved, *places), 1)

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return the goal. If its target is a spot, also return the same move to every other free spot."""
        thing, target = goal.args
        if self._kind(target) != "spot":
            return (goal,)
        others = [spot for spot in self._table.free_spots() if spot != target]
        return (goal, *(Action(goal.name, (thing, spot)) for spot in others))

    def known(self) -> Sequence[Action]:
        """Return up to MAX_GOALS moves: each thing to every place and thing that accepts its kind.

        If there are bases, also return the moves of each block onto two other blocks.
        """
        return list(islice(self._moves(), MAX_GOALS))

    def _moves(self) -> Iterator[Action]:
        things = self._table.things
        bases = [name for name, thing in things.items() if thing.kind == "base"]
        blocks = [name for name, thing in things.items() if thing.kind == "block"] if bases else []
        for moved in self._table.layout:
            targets = [name for name, thing in things.items() if things[moved].kind in ACCEPTED_KINDS[thing.kind]]
            yield from (Action("pick_place", (moved, name)) for name in targets if name != moved)
            for pair in combinations(blocks, 2):
                if moved in blocks and moved not in pair:
                    yield Action("pick_place", (moved, SEPARATOR.join(pair)))

    def features(self, goal: Action) -> Features:
        """Return the kinds of the thing and its target, the target's level, and the number of things in the way."""
        supports = self._supports(goal)
        levels = [self._table.position(name)[2] for name in supports]
        return {
            "kind": self._kind(goal.args[0]),
            "target": self._kind(supports[0]) if supports else "",
            "level": float(max(levels, default=0)),
            "in the way": float(self._in_the_way(goal)),
        }

    def horizon(self, goal: Action) -> float:
        """Return the number of moves that the goal takes: one, and one more for each thing in the way."""
        return 1.0 + self._in_the_way(goal)

    def _kind(self, name: object) -> str:
        thing = self._table.things.get(name) if isinstance(name, str) else None
        return thing.kind if thing else ""

    def _supports(self, goal: Action) -> tuple[str, ...]:
        target = goal.args[1]
        names = self._table.supports(target) if isinstance(target, str) else ()
        return tuple(name for name in names if name in self._table.things)

    def _in_the_way(self, goal: Action) -> int:
        """Return how many things lie on the moved thing and, unless it is a box or two blocks, on the target."""
        supports = self._supports(goal)
        single = supports if len(supports) == 1 and self._kind(supports[0]) != "box" else ()
        moved = goal.args[0]
        roots = [name for name in (moved, *single) if isinstance(name, str) and name in self._table.things]
        things: set[str] = set()
        while roots:
            above = set(self._table.things_on(roots.pop())) - things - {str(moved)}
            things |= above
            roots += above
        return len(things)


LAYOUT = Fact("what lies where")
"""The only fact. Its value is a tuple of the items of ``Table.layout``."""


def preconditions(scene: TableScene) -> Preconditions:
    """Return the preconditions of a scene's moves."""

    def pick_place(thing: ArgValue, target: ArgValue) -> Contract:
        if thing is UNKNOWN or target is UNKNOWN:
            return Contract(changes=[Change(LAYOUT, UNKNOWN)])

        def move(layout: tuple[tuple[str, tuple[str, ...]], ...]) -> Hashable:
            table = Table(scene.things, dict(layout))
            table.move(thing, target)
            return tuple(table.layout.items())

        need = Need(LAYOUT, lambda now: Table(scene.things, dict(now)).refusal(thing, target))
        return Contract([need], [Change(LAYOUT, move)], sure=True)

    return Preconditions({"pick_place": pick_place}, start={LAYOUT: tuple(scene.layout.items())})
