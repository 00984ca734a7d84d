"""Maps of Minecraft depend only on their seed, and have the sources that tasks need."""

from math import hypot

import pytest

from planbook.envs.minecraft.game_data import ANIMALS, DATA, RECIPES, SOURCES, best_recipe
from planbook.envs.minecraft.terrain import (
    CLIMB_TICKS,
    FOREVER,
    MEADOW_DISTANCE,
    SPREAD,
    WALK_TICKS,
    Site,
    Spot,
    distance_word,
    fastest_route,
    terrain_of,
    trip,
    visible_sources,
)

SEEDS = range(30)


def test_maps_differ_by_seed_and_have_every_biome() -> None:
    assert len({terrain_of(seed).regions for seed in SEEDS}) == len(SEEDS)
    assert {terrain_of(seed).biome(0, 0) for seed in range(60)} == set(DATA.biomes)


def test_needed_sources_are_within_reach_and_never_disappear() -> None:
    for seed in SEEDS:
        for source, amount in DATA.guaranteed_amounts.items():
            lasting = [site for site in terrain_of(seed).by_source[source] if site.gone_at == FOREVER]
            assert any(
                site.amount == amount and hypot(site.x, site.y) <= MEADOW_DISTANCE[1] + 2 * SPREAD and not site.dx
                for site in lasting
            )


def test_sites_lie_in_the_depth_of_their_source() -> None:
    for site in (site for sites in terrain_of(3).by_source.values() for site in sites):
        assert SOURCES[site.source].depth[0] <= site.depth <= SOURCES[site.source].depth[1]


def test_herds_move_and_finally_disappear() -> None:
    layout = terrain_of(0)
    herd = next(site for site in layout.sites if site.gone_at != FOREVER and site.source in ANIMALS)
    assert herd.position_at(1000) != herd.position_at(0)
    here = Spot(*herd.position_at(10), 0, 10)
    assert visible_sources(layout, here, {})[herd.source][0] < 1
    late = Spot(*herd.position_at(herd.gone_at), 0, herd.gone_at + 1)
    seen = visible_sources(layout, late, {}).get(herd.source)
    assert seen is None or seen[1:] != herd.position_at(late.tick)


def test_an_exhausted_site_is_not_used_again() -> None:
    layout = terrain_of(0)
    site = next(site for site in layout.by_source["oak_tree"] if site.gone_at == FOREVER)
    here = Spot(site.x, site.y, 0, 0)
    first = trip(layout, here, {}, SOURCES["oak_tree"], site.amount, 0)
    assert first is not None
    assert first.units_taken == {site.number: site.amount}
    more = trip(layout, here, {site.number: site.amount}, SOURCES["oak_tree"], 1, 0)
    assert more is not None
    assert site.number not in more.units_taken
    assert more.spot.tick > WALK_TICKS


def test_an_underground_trip_takes_the_faster_route() -> None:
    near = Site("iron_ore", 10, 0, 30, 1, soil=3)
    far = Site("iron_ore", 300, 0, 30, 1, soil=3)
    below = Spot(0, 0, 30, 0)
    assert fastest_route(below, near, 12).tick == pytest.approx(20 * 12 + 10 * WALK_TICKS)
    assert fastest_route(below, far, 12).tick == pytest.approx(30 * CLIMB_TICKS + 300 * WALK_TICKS + 3 * 10 + 27 * 12)
    assert fastest_route(below._replace(depth=0), near, 12).tick == pytest.approx(10 * WALK_TICKS + 3 * 10 + 27 * 12)


def test_distances_are_described_in_words() -> None:
    assert [distance_word(blocks) for blocks in (0, 8, 8.1, 24, 25, 48)] == [
        "next to you", "next to you", "near", "near", "far", "far",
    ]  # fmt: skip


def test_recipes_are_those_of_1_11_2() -> None:
    """These recipes differ in other versions of Minecraft, or depend on the size of the crafting grid."""
    assert [(made.verb, dict(made.ingredients), made.makes, made.station) for made in RECIPES["iron_ingot"]] == [
        ("craft", {"iron_nugget": 9}, 1, "crafting_table"),
        ("craft", {"iron_block": 1}, 9, None),
        ("smelt", {"iron_ore": 1}, 1, "furnace"),
    ]
    stations = {
        name: best.station for name in ("boat", "shears", "stick", "wooden_slab", "bowl") if (best := best_recipe(name))
    }
    assert stations == {
        "boat": "crafting_table",
        "shears": None,
        "stick": None,
        "wooden_slab": "crafting_table",
        "bowl": "crafting_table",
    }
    assert best_recipe("bedrock") is None
    assert sum(len(recipes) for recipes in RECIPES.values()) == 297
