"""A map drawn while walking: what was seen, where the agent is on it, and the cheapest ways on it."""

import heapq

DIRECTIONS = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
WALKABLE = ("grass", "sand", "path")
CREATURES = ("cow", "zombie", "skeleton", "arrow")
# What a creature stands on where nothing was seen before.
UNDER = {"cow": "grass", "zombie": "grass", "skeleton": "path", "arrow": "path"}
# The tool without which a material cannot be dug away.
TOOL_FOR = {
    "tree": None,
    "stone": "wood_pickaxe",
    "coal": "wood_pickaxe",
    "iron": "stone_pickaxe",
    "diamond": "iron_pickaxe",
}
# Steps that a square takes: walking on, or digging first, or filling with stone and digging first.
WALK, DIG, BRIDGE = 1, 2, 4
PERIL = 3
# The most steps that a way may take.
FAR = 80


class Explorer:
    """Takes the actions, and keeps the map. Places are steps east and south of where the game began."""

    def __init__(self, agent, steps):
        self.agent, self.last_step = agent, agent.step + steps
        self.place, self.ground, self.creatures = (0, 0), {}, {}
        self.told = ""
        self.see()

    def has_time(self):
        """Whether steps are left."""
        return self.agent.step < self.last_step

    def see(self):
        """Sample what is in view."""
        left, top = self.place[0] - 4, self.place[1] - 3
        ground, creatures, y = self.ground, self.creatures, top
        for row in self.agent.view:
            x = left
            for kind in row:
                if kind in UNDER:
                    creatures[x, y] = kind
                    ground.setdefault((x, y), UNDER[kind])
                else:
                    creatures.pop((x, y), None)
                    ground[x, y] = kind
                x = x + 1
            y = y + 1
        # A square that one stands on can be walked on; which kind it is does not show.
        ground[self.place] = "path"

    def done(self, told):
        """Take in what an action came to; whether it did what it was for."""
        self.told = told
        self.see()
        return not told.startswith("Nothing happens")

    def ahead(self, direction):
        """The place one step away."""
        dx, dy = DIRECTIONS[direction]
        return (self.place[0] + dx, self.place[1] + dy)

    def what(self, place):
        """What is at a place, as far as is known."""
        return self.creatures.get(place) or self.ground.get(place, "unknown")

    def move(self, direction):
        """Turn, and take a step if that can be done; never into lava."""
        if self.ground.get(self.ahead(direction)) == "lava":
            return False
        told = self.agent.move(direction)
        if told.startswith("You move"):
            self.place = self.ahead(direction)
        return self.done(told)

    def do(self):
        """Do what can be done to the square that is faced."""
        return self.done(self.agent.do())

    def face(self, direction):
        """Turn to a square that is in the way."""
        return self.agent.facing == direction or self.move(direction)

    def can_dig(self, kind):
        """Whether the square can be cleared by what is carried."""
        return kind in TOOL_FOR and (TOOL_FOR[kind] is None or TOOL_FOR[kind] in self.agent.inventory)

    def costs(self):
        """Steps that each kind of square takes now; the others are in the way."""
        costs = {kind: WALK for kind in WALKABLE}
        for kind in TOOL_FOR:
            if self.can_dig(kind):
                costs[kind] = DIG
        if "stone" in self.agent.inventory and self.can_dig("stone"):
            costs["water"] = BRIDGE
        return costs

    def way(self, is_goal, costs, most=FAR):
        """The directions to the nearest place that is a goal, the step onto it included; None if there is none.

        The goal itself may be in the way: then the last direction faces it.
        """
        ground, perils, start = self.ground, self.perils(), self.place
        begun, came, queue = {start: 0}, {}, [(0, start)]
        pop, push = heapq.heappop, heapq.heappush
        while queue:
            spent, place = pop(queue)
            if spent > begun[place]:
                continue
            if place != start:
                if is_goal(place):
                    return self.traced(came, place)
                if ground[place] not in costs:
                    continue
            x, y = place
            for direction, there in (
                ("north", (x, y - 1)),
                ("south", (x, y + 1)),
                ("east", (x + 1, y)),
                ("west", (x - 1, y)),
            ):
                kind = ground.get(there)
                cost = costs.get(kind)
                if cost is None and (kind is None or not is_goal(there)):
                    continue
                more = spent + (cost or WALK) + perils.get(there, 0)
                if more <= most and more < begun.get(there, 9999):
                    begun[there] = more
                    came[there] = (place, direction)
                    push(queue, (more, there))
        return None

    def perils(self):
        """What going there costs beside steps: places near zombies, in reach of arrows, or taken by a creature."""
        perils = {}
        for place, kind in self.creatures.items():
            x, y = place
            if abs(x - self.place[0]) > 9 or abs(y - self.place[1]) > 9:
                continue
            if kind == "zombie":
                for dx in (-2, -1, 0, 1, 2):
                    for dy in (-2, -1, 0, 1, 2):
                        perils[x + dx, y + dy] = PERIL
            elif kind == "skeleton":
                for far in (-4, -3, -2, -1, 1, 2, 3, 4):
                    perils[x + far, y] = PERIL
                    perils[x, y + far] = PERIL
            perils[place] = perils.get(place, 0) + 3
        return perils

    def traced(self, came, place):
        """The directions that led to a place."""
        directions = []
        while place in came:
            place, direction = came[place]
            directions.append(direction)
        return directions[::-1]

    def is_border(self, place):
        """Whether something that was never seen lies beside a place."""
        x, y = place
        ground = self.ground
        return (x, y - 1) not in ground or (x, y + 1) not in ground or (x - 1, y) not in ground or (x + 1, y) not in ground

    def way_to(self, kinds):
        """The way to the nearest of these kinds, as far as is known."""
        goals = {place for place, kind in self.ground.items() if kind in kinds}
        goals = goals.union(place for place, kind in self.creatures.items() if kind in kinds)
        return self.way(lambda place: place in goals, self.costs()) if goals else None

    def way_out(self):
        """The way to the nearest border of what was seen, where one can go there."""
        costs = self.costs()
        return self.way(lambda place: self.ground[place] in costs and self.is_border(place), costs)

    def step(self, direction):
        """One action towards the next square: clear it, or go there."""
        kind = self.what(self.ahead(direction))
        if kind in WALKABLE or kind == "arrow":
            return self.move(direction)
        if self.agent.facing != direction:
            return self.move(direction)
        if kind == "water":
            return self.done(self.agent.place("stone"))
        return self.do()
