"""Stay alive on the way: fight, eat, drink, and sleep in a safe place."""

# Below these values of food, drink, energy and health, the agent attends to them first.
HUNGRY, THIRSTY, TIRED, HURT = 4, 4, 3, 5
# Below HANDY, the agent takes food and drink that are close. FULL is enough.
HANDY, FULL = 7, 8
THREATS = ("zombie", "skeleton")
# The length of a day in steps, and the steps at which darkness begins and ends.
DAY, DUSK, DAWN = 300, 155, 275
# Items to take along if they are close: the kind of square that gives each, and how many to carry at most.
STOCK = {"stone": ("stone", 8), "wood": ("tree", 5), "coal": ("coal", 2), "iron": ("iron", 2)}
# Where to look for shelter, in order: maximum gaps to close, and maximum steps away in each direction.
SHELTERS = [(0, 8), (2, 8), (5, 8), (0, 25)]
ENTRANCES = ("grass", "sand", "path", "stone", "coal")
SOLID = ("stone", "coal", "iron", "diamond", "table", "furnace", "tree", "water", "edge", "plant", "lava")


class Survivor(Explorer):
    """An explorer that looks after itself on the way."""

    def __init__(self, agent, steps):
        self.busy, self.no_rest_before = False, 0
        super().__init__(agent, steps)

    def threat(self):
        """Return the direction of a zombie or skeleton next to the agent, or None."""
        for direction in DIRECTIONS:
            if self.creatures.get(self.ahead(direction)) in THREATS:
                return direction
        return None

    def fight(self):
        """Hit every zombie or skeleton next to the agent until it is gone."""
        while self.has_time() and self.threat():
            direction = self.threat()
            if self.face(direction) or self.agent.facing == direction:
                self.do()

    def is_night(self):
        """Return whether it is dark; many zombies then appear on grass."""
        return DUSK <= self.agent.step % DAY < DAWN

    def attend_to_needs(self):
        """Fight, then attend to the most urgent need, unless the agent is already attending to one."""
        self.fight()
        if self.busy:
            return
        self.busy = True
        vitals = self.agent.vitals
        if vitals["health"] < HURT and self.agent.step >= self.no_rest_before:
            self.rest(FULL)
        elif vitals["drink"] < THIRSTY or (vitals["drink"] < HANDY and self.is_close("water")):
            self.fill("drink", "water")
        elif vitals["food"] < HUNGRY or (vitals["food"] < HANDY and self.is_close("cow")):
            self.fill("food", "cow")
        elif (self.is_night() or vitals["energy"] < TIRED) and self.agent.step >= self.no_rest_before:
            self.rest(1)
        elif "eat_plant" in self.agent.remaining and self.in_view(["ripe_plant"]):
            if self.reach(["ripe_plant"], 40):
                self.do()
        else:
            self.stock()
        self.busy = False

    def fill(self, vital, kind):
        """Eat or drink until ``vital`` is high enough, or nothing more of the kind can be reached."""
        while self.has_time() and self.agent.vitals[vital] < FULL and self.reach([kind]):
            self.do()

    def reach(self, kinds, steps=400):
        """Go to the nearest of these kinds and face it; explore if none is known. Return whether one was reached."""
        until = min(self.last_step, self.agent.step + steps)
        while self.agent.step < until:
            self.attend_to_needs()
            known_path = self.path_to(kinds)
            if known_path and len(known_path) == 1 and self.agent.facing == known_path[0]:
                return True
            path = known_path or self.path_to_border()
            if not path:
                return False
            self.follow(path, kinds, known_path is not None)
        return False

    def follow(self, path, kinds, known):
        """Go along a path until it ends or is blocked, a threat is near, or one of the kinds comes into view."""
        for number, direction in enumerate(path):
            last = known and number == len(path) - 1
            while self.has_time():
                if last and self.kind_at(self.ahead(direction)) in kinds:
                    if self.agent.facing != direction:
                        self.move(direction)
                    return
                there = self.ahead(direction)
                self.step(direction)
                if self.place == there:
                    break
                if self.threat() or there in self.creatures or self.kind_at(there) not in self.costs():
                    return
            if self.threat() or (not known and self.in_view(kinds)) or self.is_moving(kinds):
                return

    def in_view(self, kinds):
        """Return whether one of these kinds is in view."""
        return any(kind in row for row in self.agent.view for kind in kinds)

    def is_moving(self, kinds):
        """Return whether these kinds include a creature, and one of them is in view."""
        return any(kind in CREATURES for kind in kinds) and self.in_view(kinds)

    def stock(self):
        """Collect the items of STOCK that are close."""
        for item, (kind, most) in STOCK.items():
            while self.has_time() and self.can_dig(kind) and self.agent.inventory.get(item, 0) < most and self.is_close(kind):
                if not self.reach([kind], 12):
                    return
                self.do()

    def is_close(self, kind):
        """Return whether something of this kind is at most two squares away, diagonals included."""
        rows = self.agent.view[1:6]
        return any(kind in row[2:7] for row in rows)

    def rest(self, health):
        """Rest in a shelter until day, with energy and health restored; without one, only if urgent and safe."""
        safe = self.shelter()
        self.no_rest_before = self.agent.step + 40
        if not safe and (self.is_night() or self.in_view(THREATS) or self.agent.vitals["energy"] > 1):
            return
        while self.has_time() and self.needs_rest(health):
            before = self.agent.vitals
            self.record(self.agent.sleep() if before["energy"] < 9 else self.agent.noop())
            now = self.agent.vitals
            if self.threat() or now["health"] < before["health"] or min(now["food"], now["drink"]) < 2:
                break
        while self.has_time() and self.agent.sleeping and not self.threat():
            self.record(self.agent.sleep())

    def needs_rest(self, health):
        """Return whether there is a reason to keep resting."""
        vitals = self.agent.vitals
        return self.agent.sleeping or self.is_night() or vitals["energy"] < 9 or vitals["health"] < health

    def shelter(self):
        """Wall in two adjacent squares, go in, and close the entrance; return whether that worked."""
        if not self.can_dig("stone"):
            return False
        stones = self.agent.inventory.get("stone", 0)
        for gaps, distance in SHELTERS:
            entries = self.entries(min(gaps, stones - 1), distance) if gaps <= stones else {}
            path = [] if self.place in entries else self.cheapest_path(lambda place: place in entries, self.costs(), distance)
            if path is not None and entries:
                return self.settle(path, entries)
        return False

    def settle(self, path, entries):
        """Go to the entrance, wall up the gaps, go inside and close it; return whether that worked."""
        for direction in path:
            if not self.advance(direction):
                return False
        if self.place not in entries:
            return False
        entry, inward = self.place, entries[self.place]
        dx, dy = DIRECTIONS[inward]
        for place in self.squares_around(entry[0] + dx, entry[1] + dy, dx, dy):
            if not self.wall(place):
                return False
        if self.place != entry and not self.walk(entry):
            return False
        outward = {"north": "south", "south": "north", "east": "west", "west": "east"}[inward]
        for direction in (inward, inward, outward):
            if not self.advance(direction):
                return False
        return self.record(self.agent.place("stone"))

    def walk(self, goal):
        """Go to a place over walkable ground only; return whether the agent got there."""
        for attempt in range(4):
            path = self.cheapest_path(lambda place: place == goal, {kind: WALK for kind in WALKABLE}, 30)
            if path and all(self.advance(direction) for direction in path):
                return True
        return self.place == goal

    def wall(self, place):
        """Put stone on a place unless it is solid; go and face it first if needed. Return whether it is closed."""
        x, y = place
        if self.kind_at(place) in SOLID:
            return True
        starts = {}
        for direction, (dx, dy) in DIRECTIONS.items():
            stand, start = (x - dx, y - dy), (x - 2 * dx, y - 2 * dy)
            if self.ground.get(stand) in WALKABLE and self.ground.get(start) in WALKABLE:
                starts[start] = direction
            if stand == self.place and self.agent.facing == direction:
                return self.record(self.agent.place("stone"))
        if self.place not in starts:
            path = self.cheapest_path(lambda there: there in starts, {kind: WALK for kind in WALKABLE}, 30)
            if not path or not all(self.advance(direction) for direction in path) or self.place not in starts:
                return False
        return self.advance(starts[self.place]) and self.record(self.agent.place("stone"))

    def entries(self, gaps, distance):
        """Return a dict that maps the entrances of possible shelters to the directions that lead into them.

        A shelter is two squares in line with its entrance, with at most ``gaps`` gaps around them.
        """
        entries, ground, (left, top) = {}, self.ground, self.place
        for x in range(left - distance, left + distance + 1):
            for y in range(top - distance, top + distance + 1):
                if ground.get((x, y)) in ENTRANCES:
                    for direction, (dx, dy) in DIRECTIONS.items():
                        inner = (x + dx, y + dy)
                        if ground.get(inner) in ENTRANCES and self.gaps(x + dx, y + dy, dx, dy) <= gaps:
                            entries[x, y] = direction
        return entries

    def squares_around(self, x, y, dx, dy):
        """Return the places around (x, y) and the next square in the direction (dx, dy), except for the entrance."""
        further = (x + dx, y + dy)
        squares = [(x + dy, y + dx), (x - dy, y - dx), (further[0] + dx, further[1] + dy)]
        return squares + [(further[0] + dy, further[1] + dx), (further[0] - dy, further[1] - dx)]

    def gaps(self, x, y, dx, dy):
        """Return how many places around (x, y) and the next square are open, or 9 if the two cannot be a shelter."""
        ground = self.ground
        if ground.get((x + dx, y + dy)) not in ENTRANCES:
            return 9
        around = [ground.get(each) for each in self.squares_around(x, y, dx, dy)]
        return 9 if None in around else len([kind for kind in around if kind not in SOLID])

    def advance(self, direction):
        """Go one step, clearing the way; return whether that worked."""
        there = self.ahead(direction)
        for attempt in range(6):
            self.step(direction)
            if self.place == there:
                return True
            self.fight()
        return False
