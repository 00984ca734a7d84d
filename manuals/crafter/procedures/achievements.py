"""Procedures for single achievements, and for the whole game.

world: crafter
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def unlock_achievement(agent, task):
    """Unlock one achievement.

    type: collect_coal - Collect coal, which needs a wooden pickaxe, which needs wood and a table.
    type: collect_diamond - Collect a diamond, which needs an iron pickaxe and everything required to make one.
    type: collect_drink - Drink: find water, face it, and drink.
    type: collect_iron - Collect iron, which needs a stone pickaxe.
    type: collect_sapling - Collect a sapling: grass gives one by chance.
    type: collect_stone - Collect stone, which needs a wooden pickaxe.
    type: collect_wood - Collect wood: find a tree, face it, and collect.
    type: defeat_skeleton - Defeat a skeleton: they live in tunnels in the mountains.
    type: defeat_zombie - Defeat a zombie: they appear on grass, mostly at night.
    type: eat_cow - Eat a cow: find one, follow it, and hit it until it is eaten.
    type: eat_plant - Eat a plant: plant a sapling, surround it with stone, and wait until it is ripe.
    type: make_iron_pickaxe - Make an iron pickaxe near a table and a furnace.
    type: make_iron_sword - Make an iron sword near a table and a furnace.
    type: make_stone_pickaxe - Make a stone pickaxe near a table.
    type: make_stone_sword - Make a stone sword near a table.
    type: make_wood_pickaxe - Make a wooden pickaxe near a table.
    type: make_wood_sword - Make a wooden sword near a table.
    type: place_furnace - Place a furnace: collect enough stone first.
    type: place_plant - Place a plant: collect a sapling and put it on grass.
    type: place_stone - Place a stone: collect one and put it on open ground.
    type: place_table - Place a table: collect enough wood first.
    type: wake_up - Wake up: sleep as soon as energy is less than full, and stay unharmed until it is restored.
    """
    pursue(agent, task.params["achievement"], STEPS)


def survive_game(agent, task):
    """Play the whole game: the achievements in turn, while staying alive.

    type: survive
    """
    play(agent, STEPS)
