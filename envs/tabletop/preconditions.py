"""What a move needs: all of the table is seen, so one fact has it whole."""

from collections.abc import Hashable

from planbook.envs.preconditions import UNKNOWN, Change, Deed, Fact, Given, Need, Preconditions
from planbook.envs.tabletop.layout import Layout
from planbook.envs.tabletop.scenes import Scene

LYING = Fact("what lies where")
"""Its value: pairs of a thing and what it lies on, as ``Layout.on`` has them."""


def preconditions(scene: Scene) -> Preconditions:
    """What a scene's moves need."""

    def pick_place(thing: Given, target: Given) -> Deed:
        if thing is UNKNOWN or target is UNKNOWN:
            return Deed(changes=[Change(LYING, UNKNOWN)])

        def layout(lying: tuple[tuple[str, tuple[str, ...]], ...]) -> Layout:
            return Layout(scene.things, dict(lying))

        def moved(lying: tuple[tuple[str, tuple[str, ...]], ...]) -> Hashable:
            after = layout(lying)
            after.move(thing, target)
            return tuple(after.on.items())

        return Deed([Need(LYING, lambda now: layout(now).refusal(thing, target))], [Change(LYING, moved)], sure=True)

    return Preconditions({"pick_place": pick_place}, start={LYING: tuple(scene.on.items())})
