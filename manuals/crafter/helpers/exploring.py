"""A map that grows as the agent walks, with the agent's place and the cheapest paths from there."""

import heapq

DIRECTIONS = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
WALKABLE = ("grass", "sand", "path")
CREATURES = ("cow", "zombie", "skeleton", "arrow")
# The ground to assume under a creature, on a square that was never seen without one.
GROUND_UNDER = {"cow": "grass", "zombie": "grass", "skeleton": "path", "arrow": "path"}
# The tool needed to dig each kind of square away.
TOOL_FOR = {
    "tree": None,
    "stone": "wood_pickaxe",
    "coal": "wood_pickaxe",
    "iron": "stone_pickaxe",
    "diamond": "iron_pickaxe",
}
# Cost of entering a square, in steps: walk; dig it away and walk; fill it with stone, dig that away and walk.
WALK, DIG, BRIDGE = 1, 2, 4
DANGER = 3  # extra cost of a dangerous place
# Maximum cost of a path, in steps.
MAX_COST = 80


class Explorer:
    """Takes the actions and keeps the map. A place is (steps east, steps south) from where the explorer began."""

    def __init__(self, agent, steps):
        self.agent, self.last_step = agent, agent.step + steps
        self.place, self.ground, self.creatures = (0, 0), {}, {}
        self.message = ""
        self.update_map()

    def has_time(self):
        """Return whether steps are left."""
        return self.agent.step < self.last_step

    def update_map(self):
        """Add what is in view to the map."""
        left, top = self.place[0] - 4, self.place[1] - 3
        ground, creatures, y = self.ground, self.creatures, top
        for row in self.agent.view:
            x = left
            for kind in row:
                if kind in GROUND_UNDER:
                    creatures[x, y] = kind
                    ground.setdefault((x, y), GROUND_UNDER[kind])
                else:
                    creatures.pop((x, y), None)
                    ground[x, y] = kind
                x = x + 1
            y = y + 1
        # The agent hides the square under it, which must be walkable.
        ground[self.place] = "path"

    def record(self, message):
        """Store an action's message, and update the map; return whether the action worked."""
        self.message = message
        self.update_map()
        return not message.startswith("Nothing happens")

    def ahead(self, direction):
        """Return the place one step away in a direction."""
        dx, dy = DIRECTIONS[direction]
        return (self.place[0] + dx, self.place[1] + dy)

    def kind_at(self, place):
        """Return the creature or else the kind of square that the map has at a place, or "unknown"."""
        return self.creatures.get(place) or self.ground.get(place, "unknown")

    def move(self, direction):
        """Turn, and take a step if the way is free; do neither towards lava. Return whether a step was taken."""
        if self.ground.get(self.ahead(direction)) == "lava":
            return False
        message = self.agent.move(direction)
        if message.startswith("You move"):
            self.place = self.ahead(direction)
        return self.record(message)

    def do(self):
        """Act on the square in front; return whether that worked."""
        return self.record(self.agent.do())

    def face(self, direction):
        """Face a direction, stepping if the way is free. Return True if it was already faced or a step was taken."""
        return self.agent.facing == direction or self.move(direction)

    def can_dig(self, kind):
        """Return whether the agent can dig away a kind of square with what it carries."""
        return kind in TOOL_FOR and (TOOL_FOR[kind] is None or TOOL_FOR[kind] in self.agent.inventory)

    def costs(self):
        """Return a dict that maps each kind of square that can be entered now to its cost in steps."""
        costs = {kind: WALK for kind in WALKABLE}
        for kind in TOOL_FOR:
            if self.can_dig(kind):
                costs[kind] = DIG
        if "stone" in self.agent.inventory and self.can_dig("stone"):
            costs["water"] = BRIDGE
        return costs

    def cheapest_path(self, is_goal, costs, max_cost=MAX_COST):
        """Return the directions to the cheapest goal, including the step onto it, or None if none can be reached.

        The goal need not be walkable: the last direction then only faces it.
        """
        ground, dangers, start = self.ground, self.danger_costs(), self.place
        cheapest, came_from, queue = {start: 0}, {}, [(0, start)]
        pop, push = heapq.heappop, heapq.heappush
        while queue:
            cost_so_far, place = pop(queue)
            if cost_so_far > cheapest[place]:
                continue
            if place != start:
                if is_goal(place):
                    return self.trace_back(came_from, place)
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
                total = cost_so_far + (cost or WALK) + dangers.get(there, 0)
                if total <= max_cost and total < cheapest.get(there, 9999):
                    cheapest[there] = total
                    came_from[there] = (place, direction)
                    push(queue, (total, there))
        return None

    def danger_costs(self):
        """Return a dict of extra costs, for places near zombies, within reach of arrows, or occupied by a creature."""
        dangers = {}
        for place, kind in self.creatures.items():
            x, y = place
            if abs(x - self.place[0]) > 9 or abs(y - self.place[1]) > 9:
                continue
            if kind == "zombie":
                for dx in (-2, -1, 0, 1, 2):
                    for dy in (-2, -1, 0, 1, 2):
                        dangers[x + dx, y + dy] = DANGER
            elif kind == "skeleton":
                for distance in (-4, -3, -2, -1, 1, 2, 3, 4):
                    dangers[x + distance, y] = DANGER
                    dangers[x, y + distance] = DANGER
            dangers[place] = dangers.get(place, 0) + DANGER
        return dangers

    def trace_back(self, came_from, place):
        """Return the directions that lead to a place. ``came_from`` maps each place to the one before and a direction."""
        directions = []
        while place in came_from:
            place, direction = came_from[place]
            directions.append(direction)
        return directions[::-1]

    def is_border(self, place):
        """Return whether a place is next to one that was never seen."""
        x, y = place
        ground = self.ground
        return (x, y - 1) not in ground or (x, y + 1) not in ground or (x - 1, y) not in ground or (x + 1, y) not in ground

    def path_to(self, kinds):
        """Return the path to the nearest known place with one of these kinds, or None."""
        goals = {place for place, kind in self.ground.items() if kind in kinds}
        goals = goals.union(place for place, kind in self.creatures.items() if kind in kinds)
        return self.cheapest_path(lambda place: place in goals, self.costs()) if goals else None

    def path_to_border(self):
        """Return the path to the nearest border of the known map that can be reached, or None."""
        costs = self.costs()
        return self.cheapest_path(lambda place: self.ground[place] in costs and self.is_border(place), costs)

    def step(self, direction):
        """Take one action towards entering the next square: turn to it, clear it, or go there."""
        kind = self.kind_at(self.ahead(direction))
        if kind in WALKABLE or kind == "arrow":
            return self.move(direction)
        if self.agent.facing != direction:
            return self.move(direction)
        if kind == "water":
            return self.record(self.agent.place("stone"))
        return self.do()
