"""Procedures for single achievements, and for the whole game.

world: crafter
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def unlock_achievement(agent, task):
    """Unlock one achievement.

    type: collect_coal - Collect coal: it takes a wooden pickaxe, which takes wood and a table.
    type: collect_diamond - Collect a diamond: it takes an iron pickaxe, and all that leads to one.
    type: collect_drink - Drink: find water, and face it.
    type: collect_iron - Collect iron: it takes a stone pickaxe.
    type: collect_sapling - Collect a sapling: grass gives one with luck.
    type: collect_stone - Collect stone: it takes a wooden pickaxe.
    type: collect_wood - Collect wood: find a tree, and face it.
    type: defeat_skeleton - Defeat a skeleton: they live in the tunnels of the mountains.
    type: defeat_zombie - Defeat a zombie: they walk about on grass, most of them by night.
    type: eat_cow - Eat a cow: find one, follow it, and hit it until it is eaten.
    type: eat_plant - Eat a plant: put a sapling into the ground, wall it in with stone, and wait until it is ripe.
    type: make_iron_pickaxe - Make an iron pickaxe, between a table and a furnace.
    type: make_iron_sword - Make an iron sword, between a table and a furnace.
    type: make_stone_pickaxe - Make a stone pickaxe, beside a table.
    type: make_stone_sword - Make a stone sword, beside a table.
    type: make_wood_pickaxe - Make a wooden pickaxe, beside a table.
    type: make_wood_sword - Make a wooden sword, beside a table.
    type: place_furnace - Place a furnace: gather stone until there is enough.
    type: place_plant - Place a plant: collect a sapling, and put it on grass.
    type: place_stone - Place a stone: collect one, and put it on open ground.
    type: place_table - Place a table: gather wood until there is enough.
    type: wake_up - Wake up: sleep as soon as energy is less than full, and stay unharmed until it is back.
    """
    pursue(agent, task.params["achievement"], STEPS)


def survive_game(agent, task):
    """Play the whole game: the achievements in turn, while staying alive.

    type: survive
    """
    play(agent, STEPS)
