"""How much of a task is done: each placement counts alike."""

from planbook.envs.tabletop.layout import Layout
from planbook.envs.tabletop.scenes import Scene

PYRAMID = 6
"""Blocks in a pyramid of three levels."""


def done_share(scene: Scene, layout: Layout) -> float:
    """The share of the placements that are done, 0 to 1.

    A ring counts where it will stay: the largest on its peg, each other on the next larger one.
    """
    if not scene.wanted:
        return sum(_in_pyramid(layout, name) for name in layout.on) / PYRAMID
    settled: set[str] = set()
    for name, supports in scene.wanted.items():  # what a thing must lie on comes before it
        if layout.on[name] == supports and all(each in settled or each not in layout.on for each in supports):
            settled.add(name)
    return len(settled) / len(scene.wanted)


def _in_pyramid(layout: Layout, name: str) -> bool:
    """Whether this is a block on a base, or one across two blocks that are in the pyramid."""
    if layout.things[name].kind != "block":
        return False
    supports = layout.on[name]
    if len(supports) == 1:
        return layout.things[supports[0]].kind == "base"
    return all(_in_pyramid(layout, support) for support in supports)
