"""The tabletop as an environment: tasks, scenes, snapshots, queries and goals."""

from itertools import product
from typing import Any

from hypothesis import given, strategies as st

from planbook.envs import Action, Selection
from planbook.envs.tabletop import Tabletop
from planbook.envs.tabletop.table import SHAPES, make_scene
from tests.envs.playing import started

SCENES = tuple(product(Tabletop.types, range(60)))


def test_by_default_each_type_has_five_seeds() -> None:
    tasks = Tabletop.tasks(Selection())
    assert [task.id for task in tasks[:6]] == [*(f"{kind}/0" for kind in Tabletop.types), "assembling_kits/1"]
    assert len(tasks) == 25
    assert {task.split for task in tasks} == {"test"}
    assert len({task.goal for task in tasks}) == 5


def test_no_scene_is_solved_at_the_start_and_most_have_distractors() -> None:
    distracted = 0
    for kind, seed in SCENES:
        scene = make_scene(kind, seed)
        environment = started(Tabletop, f"{kind}/{seed}")
        assert environment.verdict().score == 0
        assert len(scene.layout) <= 12
        distracted += set(scene.layout) != set(scene.targets)
        assert list(scene.layout) == sorted(scene.layout), "the order must not reveal which things matter"
    assert distracted > 0.9 * len(SCENES)


def test_scenes_differ_and_have_what_their_task_needs() -> None:
    for kind in Tabletop.types:
        assert len({str(make_scene(kind, seed).layout) for seed in range(60)}) > 50
    for seed in range(60):
        kit, box = make_scene("assembling_kits", seed), make_scene("packing_shapes", seed)
        assert sum(each.kind == "hole" for each in kit.things.values()) == 5
        assert any(each.kind == "shape" and name not in kit.targets for name, each in kit.things.items())
        capacity = next(each.capacity for each in box.things.values() if each.kind == "box")
        assert capacity == sum(box.things[name].size for name in box.targets)
        assert {each.shape for each in box.things.values() if each.shape} <= set(SHAPES)
        bowls = make_scene("put_block_in_bowl", seed)
        assert 2 <= len(bowls.targets) <= 4
        assert any(each.kind == "block" and name not in bowls.targets for name, each in bowls.things.items())
        pyramid = make_scene("stack_block_pyramid", seed).things.values()
        assert sum(each.kind == "block" for each in pyramid) == 6


MOVES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=10)


def walk(environment: Tabletop, moves: list[tuple[int, int]]) -> list[str]:
    things, names = list(environment.table.layout), list(environment.table.things)
    actions = [Action("pick_place", (things[t % len(things)], names[n % len(names)])) for t, n in moves]
    return [environment.act(each).text for each in actions if not environment.ended]


@given(kind=st.sampled_from(Tabletop.types), before=MOVES, after=MOVES)
def test_a_restored_table_continues_as_before(
    kind: str, before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    environment = started(Tabletop, f"{kind}/5")
    walk(environment, before)
    snapshot, state, score = environment.snapshot(), environment.state(), environment.verdict()
    texts = walk(environment, after)
    assert environment.restore(snapshot) == snapshot.last
    assert (environment.state(), environment.verdict()) == (state, score)
    assert walk(environment, after) == texts


def test_look_at_describes_things_and_nothing_else() -> None:
    environment = started(Tabletop, "packing_shapes/0")
    name = next(each for each in environment.table.layout if environment.table.things[each].kind == "shape")
    seen: Any = environment.look_at(name)
    assert f"{seen['colour']}_{seen['shape']}" == name
    assert seen["size"] in ("small", "large")
    box: Any = environment.look_at("brown_box")
    assert (box["kind"], "size" in box) == ("box", False)
    assert box["room left"] == environment.table.things["brown_box"].capacity - environment.table.used_room("brown_box")
    for unknown in ("elephant", 7, None, [name]):
        assert environment.look_at(unknown) == {}  # type: ignore[arg-type]
    assert environment.history == []


def test_the_queries_agree_with_the_scene() -> None:
    for kind, seed in product(Tabletop.types, range(5)):
        environment = started(Tabletop, f"{kind}/{seed}")
        things: Any = environment.things()
        places: Any = environment.places()
        assert set(things) == set(environment.table.layout)
        assert {*things, *places} == {name for name in environment.table.things if not name.startswith("spot_")}
        assert all(things[name] == place for place, names in places.items() for name in names)
        assert set(map(str, environment.table.free_spots())).isdisjoint(things.values())
        assert all(name in environment.state() for name in things)
        assert all(name in environment.scene() for name in places if name not in things)
        assert environment.free_spots() == environment.table.free_spots()
        assert environment.history == []


def test_goals_report_what_is_open_and_materials() -> None:
    seed = next(
        seed
        for seed in range(60)
        if any(s[0].endswith("_block") for s in make_scene("put_block_in_bowl", seed).layout.values())
    )
    environment = started(Tabletop, f"put_block_in_bowl/{seed}")
    above, below = next((name, s[0]) for name, s in environment.table.layout.items() if s[0].endswith("_block"))
    bowl = next(name for name in environment.table.things if name.endswith("_bowl"))
    goals = environment.goals
    assert goals.direct
    covered = Action("pick_place", (below, bowl))
    assert f"{above} is on {below}" in environment.act(covered).text
    assert goals.materials(covered) == {below: 1, bowl: 1}
    aside = Action("pick_place", (above, environment.table.free_spots()[0]))
    assert goals.is_open(aside)
    nonsense = Action("pick_place", (7, None))
    assert not goals.is_open(nonsense)
    assert goals.materials(nonsense) == {"7": 1, "None": 1}
    into_the_box = Action("pick_place", ("red_block", "brown_box"))
    assert started(Tabletop, "packing_shapes/0").goals.materials(into_the_box) == {"red_block": 1}


def test_known_goals_are_moves_that_the_kinds_of_things_allow() -> None:
    for task in Tabletop.tasks(Selection(seeds=(0, 1))):
        environment = Tabletop()
        environment.reset(task)
        known = environment.goals.list_goals()
        assert 0 < len(known) == len(set(known))
        reasons = [environment.table.refusal(*goal.args) for goal in known]
        assert "" in reasons
        assert not [text for text in reasons if "nothing is called" in text or "takes only" in text or "itself" in text]
        has_bases = any(name.endswith("_base") for name in environment.table.things)
        assert has_bases == (task.type == "stack_block_pyramid")
        assert any(" and " in str(goal) for goal in known) == has_bases
