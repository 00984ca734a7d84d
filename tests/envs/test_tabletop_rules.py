"""The rules of the table, and the score of a task."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from planbook.envs import Action, EpisodeEnded
from planbook.envs.tabletop import Tabletop
from planbook.envs.tabletop.table import (
    ACCEPTED_KINDS,
    CONTAINERS,
    Table,
    block,
    fraction_done,
    make_scene,
    ring,
    row,
    shape,
    spots,
)
from tests.envs.playing import started

Move = tuple[int, int, int]
"""Random numbers that choose a thing, its target, and perhaps a second target, so that the thing lies across both."""


def play(environment: Tabletop, moves: list[Move]) -> None:
    """Make the moves until the episode ends."""
    things = list(environment.table.layout)
    names = [name for name in environment.table.things if not name.startswith("spot_1")]  # more stacks
    for thing, target, second_target in moves:
        target_name = names[target % len(names)]
        if second_target % 2:  # every second move lays a block across two, which random names rarely do
            blocks = [each for each in things if environment.table.things[each].kind == "block"] or names
            target_name = f"{blocks[target % len(blocks)]} and {blocks[second_target % len(blocks)]}"
        if not environment.ended:
            environment.act(Action("pick_place", (things[thing % len(things)], target_name)))


def broken_laws(table: Table) -> list[str]:
    """Return descriptions of everything that would be impossible on a real table."""
    faults = []
    for name, supports in table.layout.items():
        thing = table.things[name]
        kinds = [table.things[each].kind for each in supports]
        if any(thing.kind not in ACCEPTED_KINDS[kind] for kind in kinds):
            faults.append(f"{name} does not belong on {supports}")
        if kinds == ["ring"] and thing.size >= table.things[supports[0]].size:
            faults.append(f"{name} is too big for {supports}")
        if kinds == ["hole"] and thing.shape != table.things[supports[0]].shape:
            faults.append(f"{name} does not have the shape of {supports}")
        if table.things_on(name) and kinds[0] in CONTAINERS:
            faults.append(f"something is on {name}, which is in {supports}")
        below, steps = supports, 0
        while below[0] in table.layout and steps <= len(table.layout):
            below, steps = table.layout[below[0]], steps + 1
        if steps > len(table.layout):
            faults.append(f"{name} ends up standing on itself")
    positions = [table.position(name) for name in table.layout if table.things[table.layout[name][0]].kind != "box"]
    overlaps = [
        (one, two)
        for n, one in enumerate(positions)
        for two in positions[:n]
        if one[1:] == two[1:] and abs(one[0] - two[0]) < 1
    ]
    boxes = [each for each in table.things.values() if each.kind == "box"]
    return [*faults, *map(str, overlaps), *(box.name for box in boxes if table.used_room(box.name) > box.capacity)]


@given(
    kind=st.sampled_from(Tabletop.types),
    seed=st.integers(0, 200),
    moves=st.lists(st.tuples(*[st.integers(0, 99)] * 3), min_size=30, max_size=60),
)
def test_moves_never_lose_a_thing_or_break_a_law(kind: str, seed: int, moves: list[Move]) -> None:
    environment = started(Tabletop, f"{kind}/{seed}")
    assert broken_laws(environment.table) == []
    before = set(environment.table.layout)
    play(environment, moves)
    assert set(environment.table.layout) == before
    assert broken_laws(environment.table) == []


@given(kind=st.sampled_from(Tabletop.types), moves=st.lists(st.tuples(*[st.integers(0, 99)] * 3), max_size=40))
def test_a_refused_move_changes_nothing_and_is_predicted_by_the_table(kind: str, moves: list[Move]) -> None:
    environment = started(Tabletop, f"{kind}/3")
    for move in moves:
        before, text = environment.table.layout, environment.state()
        things, names = list(before), list(environment.table.things)
        goal = Action("pick_place", (things[move[0] % len(things)], names[move[1] % len(names)]))
        predicted = environment.table.refusal(*goal.args)
        assert environment.table.layout is before
        if environment.ended:
            return
        done = environment.act(goal)
        assert done.accepted == (predicted == "")
        assert done.accepted or (done.text == f"Nothing happens: {predicted}." and environment.state() == text)


PLACED = {
    "red_block": ("left_base",),
    "blue_block": ("middle_base",),
    "pink_block": ("red_block",),
    "white_block": ("spot_1",),
    "gray_block": ("spot_2",),
    "green_block": ("green_bowl",),
    "red_star": ("spot_3",),
    "blue_moon": ("brown_box",),
    "red_heart": ("spot_4",),
    "gray_ring": ("light_peg",),
    "pink_ring": ("middle_peg",),
}


@pytest.fixture
def table() -> Table:
    """A table with every kind of thing."""
    rows = (
        row("base", ("left_base", "middle_base", "right_base"), gap=1.0),
        row("bowl", ("green_bowl", "red_bowl")),
        row("hole", ("star_hole",)),
        row("box", ("brown_box",), capacity=2),
        row("peg", ("light_peg", "middle_peg")),
    )
    places = [*spots(), *(replace(place, y=-float(n)) for n, each in enumerate(rows) for place in each)]
    blocks = [block(colour) for colour in ("red", "blue", "pink", "white", "gray", "green")]
    flat = [shape("red", "star"), shape("blue", "moon"), shape("red", "heart", 3)]
    things = {each.name: each for each in (*places, *blocks, *flat, ring("gray", 3), ring("pink", 1))}
    assert {each.kind for each in things.values()} == {*ACCEPTED_KINDS}
    return Table(things, PLACED)


@pytest.mark.parametrize(
    ("thing", "target", "message"),
    [
        ("elephant", "spot_9", "nothing is called 'elephant'"),
        (["red_block"], "spot_9", "nothing is called ['red_block']"),
        ("white_block", "table", "name a free spot"),
        ("white_block", None, "nothing is called 'None'"),
        ("green_bowl", "spot_9", "green_bowl is fixed to the table"),
        ("red_block", "spot_9", "pink_block is on red_block; it must be moved first"),
        ("white_block", "white_block", "cannot be put on itself"),
        ("white_block", "spot_1", "is there already"),
        ("white_block", "star_hole", "star_hole takes only shapes"),
        ("gray_ring", "spot_9", "spot_9 takes only blocks and shapes"),
        ("red_star", "red_bowl", "red_bowl takes only blocks"),
        ("white_block", "green_block", "green_block is in green_bowl, so nothing can be put on it"),
        ("white_block", "spot_2", "spot_2 is taken: gray_block is there"),
        ("white_block", "red_block and blue_block", "pink_block is on red_block"),
        ("pink_block", "white_block and gray_block", "do not stand side by side"),
        ("red_star", "red_block and blue_block", "only a block can lie across"),
        ("white_block", "red_block and blue_block and gray_block", "only on two blocks"),
        ("red_heart", "brown_box", "brown_box has room for 1 more, and red_heart needs 3"),
        ("red_heart", "star_hole", "red_heart does not fit into star_hole"),
        ("red_heart", "white_block", "red_heart is larger than white_block and would fall"),
        ("gray_ring", "pink_ring", "gray_ring is large, and a ring goes only on a larger one"),
        ("gray_ring", "middle_peg", "middle_peg is taken: pink_ring is there"),
    ],
)
def test_a_refusal_gives_the_reason(table: Table, thing: object, target: object, message: str) -> None:
    assert message in table.refusal(thing, target)
    assert table.layout == PLACED


@pytest.mark.parametrize(
    ("thing", "target"),
    [
        ("white_block", "spot_9"),
        ("pink_block", "blue_block and red_block"),
        ("pink_ring", "gray_ring"),
        ("red_star", "star_hole"),
        ("red_star", "brown_box"),
        ("white_block", "brown_box"),
        ("green_block", "red_bowl"),
        ("white_block", "gray_block"),
        ("white_block", "red_heart"),
        ("white_block", "right_base"),
    ],
)
def test_a_possible_move_is_made(table: Table, thing: str, target: str) -> None:
    assert table.refusal(thing, target) == ""
    table.move(thing, target)
    assert set(table.layout[thing]) == set(target.split(" and "))
    assert set(table.layout) == set(PLACED)
    assert broken_laws(table) == []


def put(environment: Tabletop, thing: str, target: str) -> str:
    done = environment.act(Action("pick_place", (thing, target)))
    assert done.accepted, done.text
    return done.text


def tower_moves(environment: Tabletop) -> list[tuple[str, str]]:
    """Return the seven moves that bring a tower of three to the dark peg."""
    rings = [name for name in environment.table.layout if name.endswith("_ring")]
    large, medium, small = sorted(rings, key=lambda name: -environment.table.things[name].size)
    start = environment.table.layout[large][0]
    spare = "middle_peg" if start == "light_peg" else "light_peg"
    first = [(small, "dark_peg"), (medium, spare), (small, medium)]
    return [*first, (large, "dark_peg"), (small, start), (medium, large), (small, medium)]


def test_a_tower_of_hanoi_is_solved_by_seven_moves_and_scores_each_ring_in_place() -> None:
    for seed in range(20):
        environment = started(Tabletop, f"towers_of_hanoi/{seed}")
        scores = []
        for thing, target in tower_moves(environment):
            assert not environment.ended
            put(environment, thing, target)
            scores.append(round(environment.verdict().score, 2))
        assert scores == [0, 0, 0, 0.33, 0.33, 0.67, 1]
        assert environment.verdict().solved
        assert environment.ended
        with pytest.raises(EpisodeEnded):
            environment.act(Action("pick_place", ("red_ring", "dark_peg")))


def test_a_pyramid_scores_each_block_of_any_colour() -> None:
    environment = started(Tabletop, "stack_block_pyramid/0")
    a, b, c, d, e, f = (name for name in environment.table.layout if name.endswith("_block"))
    environment.table.layout = {name: (f"spot_{number}",) for number, name in enumerate((a, b, c, d, e, f), start=1)}
    put(environment, d, a)  # a tower beside the bases scores nothing
    assert environment.verdict().score == 0
    put(environment, d, "spot_10")
    bases = [(a, "right_base"), (b, "left_base"), (c, "middle_base")]
    texts = []
    for thing, target in (*bases, (d, f"{b} and {c}"), (e, f"{a} and {c}"), (f, f"{e} and {d}")):
        texts.append(put(environment, thing, target))
        assert environment.verdict().score == pytest.approx(len(texts) / 6)
    assert environment.verdict().solved
    assert texts[4] == f"You put {e} on {c} and {a}.", "from left to right, whichever is named first"
    assert environment.table.position(d) == (0.5, 0.0, 2)


def test_blocks_across_two_towers_score_less_than_a_pyramid() -> None:
    environment = started(Tabletop, "stack_block_pyramid/0")
    a, b, c, d, e, f = (name for name in environment.table.layout if name.endswith("_block"))
    environment.table.layout = {a: ("left_base",), b: ("middle_base",), c: (a,), d: (b,), e: (c, d), f: ("right_base",)}
    assert environment.verdict().score == 0.5


def test_packing_is_solved_when_the_box_has_all_shapes_and_nothing_else() -> None:
    seed = next(seed for seed in range(60) if ("brown_box",) in make_scene("packing_shapes", seed).layout.values())
    environment = started(Tabletop, f"packing_shapes/{seed}")
    (intruder,) = environment.table.things_on("brown_box")
    things = environment.table.things
    for name in (name for name in list(environment.table.layout) if things[name].kind == "block" and name != intruder):
        environment.act(Action("pick_place", (name, environment.table.free_spots()[0])))
    shapes = [name for name in environment.table.layout if things[name].kind == "shape"]
    refused = [name for name in shapes if not environment.act(Action("pick_place", (name, "brown_box"))).accepted]
    assert refused, "the intruder leaves no room for all shapes"
    assert 0 < environment.verdict().score < 1
    put(environment, intruder, environment.table.free_spots()[0])
    for name in refused:
        put(environment, name, "brown_box")
    assert environment.verdict().solved


def test_the_score_is_the_share_of_wanted_things_in_place() -> None:
    environment, scene = started(Tabletop, "assembling_kits/2"), make_scene("assembling_kits", 2)
    name, (hole,) = next(
        (name, supports) for name, supports in scene.targets.items() if not environment.table.things_on(name)
    )
    put(environment, name, hole)
    score = fraction_done(scene, environment.table)
    assert environment.verdict().score == score == pytest.approx(1 / len(scene.targets))
