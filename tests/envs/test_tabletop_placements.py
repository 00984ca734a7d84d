"""The tabletop's reward: the share of the placements, and when a task is done."""

import pytest

from planbook.envs import Action, EpisodeEnded, Selection
from planbook.envs.tabletop import Tabletop
from planbook.envs.tabletop.scenes import deal, done_share


def begun(task_id: str) -> Tabletop:
    world = Tabletop()
    world.reset(Tabletop.tasks(Selection(ids=(task_id,)))[0])
    return world


def put(world: Tabletop, thing: str, target: str) -> None:
    done = world.act(Action("pick_place", (thing, target)))
    assert done.accepted, done.text


def hanoi(world: Tabletop) -> list[tuple[str, str]]:
    """The seven moves of a tower of three from the light peg or the middle one."""
    rings = [name for name in world.layout.on if name.endswith("_ring")]
    large, medium, small = sorted(rings, key=lambda name: -world.layout.things[name].size)
    start = world.layout.on[large][0]
    spare = "middle_peg" if start == "light_peg" else "light_peg"
    return [
        (small, "dark_peg"),
        (medium, spare),
        (small, medium),
        (large, "dark_peg"),
        (small, start),
        (medium, large),
        (small, medium),
    ]


def test_a_tower_of_hanoi_takes_seven_moves_and_counts_what_stays() -> None:
    for seed in range(20):
        world = begun(f"towers_of_hanoi/{seed}")
        scores = []
        for thing, target in hanoi(world):
            assert not world.ended
            put(world, thing, target)
            scores.append(round(world.verdict().score, 2))
        assert scores == [0, 0, 0, 0.33, 0.33, 0.67, 1]
        assert world.verdict().solved
        assert world.ended
        with pytest.raises(EpisodeEnded):
            world.act(Action("pick_place", ("red_ring", "dark_peg")))


def test_a_pyramid_counts_block_by_block_whatever_the_colours() -> None:
    world = begun("stack_block_pyramid/0")
    a, b, c, d, e, f = (name for name in world.layout.on if name.endswith("_block"))
    world.layout.on = {name: (f"spot_{number}",) for number, name in enumerate((a, b, c, d, e, f), start=1)}
    put(world, d, a)  # a tower beside the bases counts for nothing
    assert world.verdict().score == 0
    put(world, d, "spot_10")
    moves = [
        (a, "right_base"),
        (b, "left_base"),
        (c, "middle_base"),
        (d, f"{b} and {c}"),
        (e, f"{a} and {c}"),
        (f, f"{e} and {d}"),
    ]
    for number, (thing, target) in enumerate(moves, start=1):
        put(world, thing, target)
        assert world.verdict().score == pytest.approx(number / 6)
    assert world.verdict().solved


def test_blocks_across_two_towers_are_no_pyramid() -> None:
    world = begun("stack_block_pyramid/0")
    a, b, c, d, e, f = (name for name in world.layout.on if name.endswith("_block"))
    world.layout.on = {
        a: ("left_base",),
        b: ("middle_base",),
        c: (a,),
        d: (b,),
        e: (c, d),
        f: ("right_base",),
    }
    assert world.verdict().score == 0.5


def test_the_box_is_done_only_when_it_holds_all_shapes_and_nothing_else() -> None:
    seed = next(seed for seed in range(60) if ("brown_box",) in deal("packing_shapes", seed).on.values())
    world = begun(f"packing_shapes/{seed}")
    (intruder,) = world.layout.upon("brown_box")
    for name in [each for each in world.layout.on if world.layout.things[each].kind == "block" and each != intruder]:
        if world.layout.on[name][0] not in world.layout.free_spots():
            world.act(Action("pick_place", (name, world.layout.free_spots()[0])))
    shapes = [name for name in world.layout.on if world.layout.things[name].kind == "shape"]
    refused = [name for name in shapes if not world.act(Action("pick_place", (name, "brown_box"))).accepted]
    assert refused, "there is no room for all beside the intruder"
    assert 0 < world.verdict().score < 1
    put(world, intruder, world.layout.free_spots()[0])
    for name in refused:
        put(world, name, "brown_box")
    assert world.verdict().solved


def test_the_share_is_that_of_the_scene_at_hand() -> None:
    world = begun("assembling_kits/2")
    scene = deal("assembling_kits", 2)
    name, (hole,) = next((name, supports) for name, supports in scene.wanted.items() if not world.layout.upon(name))
    put(world, name, hole)
    assert world.verdict().score == done_share(scene, world.layout) == pytest.approx(1 / len(scene.wanted))
