"""Staying alive on the way: fights, food, drink, sleep, and a place where sleep is safe."""

# Below these, what is lacking comes before all else; and up to where it is filled.
HUNGRY, THIRSTY, TIRED, HURT = 4, 4, 3, 5
# Below this, food and drink are taken where they are at hand.
HANDY, FULL = 7, 8
THREATS = ("zombie", "skeleton")
# The day's length in steps, and the part of it that is dark.
DAY, DUSK, DAWN = 300, 165, 275
# How far rock is looked for, on the map, to sleep in.
SEARCHED = 25
ENTRANCES = ("grass", "sand", "path", "stone", "coal")
SOLID = ("stone", "coal", "iron", "diamond", "table", "furnace", "tree", "water", "edge", "plant", "lava")


class Survivor(Explorer):
    """Goes where it wants to, and looks after itself on the way."""

    def __init__(self, agent, steps):
        self.busy, self.no_rest_before = False, 0
        super().__init__(agent, steps)

    def threat(self):
        """The direction of a zombie or skeleton beside the agent, if there is one."""
        for direction in DIRECTIONS:
            if self.creatures.get(self.ahead(direction)) in THREATS:
                return direction
        return None

    def fight(self):
        """Hit what threatens until it is gone."""
        while self.has_time() and self.threat():
            direction = self.threat()
            if self.face(direction) or self.agent.facing == direction:
                self.do()

    def is_night(self):
        """Whether it is dark: then zombies come in numbers wherever there is grass."""
        return DUSK <= self.agent.step % DAY < DAWN

    def tend(self):
        """Fight, and see to what is lacking most; nothing of this while seeing to something."""
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
        self.busy = False

    def fill(self, vital, kind):
        """Have enough of food or drink again."""
        while self.has_time() and self.agent.vitals[vital] < FULL and self.reach([kind]):
            self.do()

    def reach(self, kinds, steps=400):
        """Face the nearest of these kinds, looking for one if none was seen; False if none was found in so many steps."""
        until = min(self.last_step, self.agent.step + steps)
        while self.agent.step < until:
            self.tend()
            found = self.way(lambda place: self.what(place) in kinds, self.costs())
            if found and len(found) == 1 and self.agent.facing == found[0]:
                return True
            path = found or self.way_out()
            if not path:
                return False
            self.follow(path, kinds, found is not None)
        return False

    def follow(self, path, kinds, known):
        """Go along a path, until it ends, is barred, something threatens, or what was looked for comes into view."""
        for number, direction in enumerate(path):
            last = known and number == len(path) - 1
            while self.has_time():
                if last and self.what(self.ahead(direction)) in kinds:
                    if self.agent.facing != direction:
                        self.move(direction)
                    return
                there = self.ahead(direction)
                self.step(direction)
                if self.place == there:
                    break
                if self.threat() or there in self.creatures or self.what(there) not in self.costs():
                    return
            if self.threat() or (not known and self.in_view(kinds)) or self.is_moving(kinds):
                return

    def in_view(self, kinds):
        """Whether one of these kinds is in view."""
        return any(kind in row for row in self.agent.view for kind in kinds)

    def is_moving(self, kinds):
        """Whether what is looked for walks about and is in view."""
        return any(kind in CREATURES for kind in kinds) and self.in_view(kinds)

    def is_close(self, kind):
        """Whether one of a kind is only a few steps away."""
        rows = self.agent.view[1:6]
        return any(kind in row[2:7] for row in rows)

    def rest(self, health):
        """Sleep in a safe place, until it is day and energy and health are back; not safe by night without one."""
        safe = self.shelter()
        self.no_rest_before = self.agent.step + 40
        if not safe and (self.is_night() or self.in_view(THREATS) or self.agent.vitals["energy"] > 1):
            return
        while self.has_time() and self.is_wanting(health):
            before = self.agent.vitals
            self.done(self.agent.sleep() if before["energy"] < 9 else self.agent.noop())
            now = self.agent.vitals
            if self.threat() or now["health"] < before["health"] or min(now["food"], now["drink"]) < 2:
                break
        while self.has_time() and self.agent.sleeping and not self.threat():
            self.done(self.agent.sleep())

    def is_wanting(self, health):
        """Whether there is a reason to rest on."""
        vitals = self.agent.vitals
        return self.agent.sleeping or self.is_night() or vitals["energy"] < 9 or vitals["health"] < health

    def shelter(self):
        """Go two squares deep into rock, digging, and close the way in behind; False if there is no such rock."""
        if not self.can_dig("stone"):
            return False
        entries = self.entries()
        if self.place not in entries:
            path = self.way(lambda place: place in entries, self.costs(), 2 * SEARCHED)
            if not path or not all(self.force(direction) for direction in path):
                return False
        inward = entries.get(self.place)
        outward = {"north": "south", "south": "north", "east": "west", "west": "east"}.get(inward)
        for direction in (inward, inward, outward):
            if not direction or not self.force(direction):
                return False
        return self.done(self.agent.place("stone"))

    def entries(self):
        """Places from which two squares can be dug into rock with nothing open around them, with the direction."""
        found, ground, (left, top) = {}, self.ground, self.place
        for x in range(left - SEARCHED, left + SEARCHED + 1):
            for y in range(top - SEARCHED, top + SEARCHED + 1):
                if ground.get((x, y)) in ENTRANCES:
                    for direction, (dx, dy) in DIRECTIONS.items():
                        if self.is_nook(x + dx, y + dy, dx, dy):
                            found[x, y] = direction
        return found

    def is_nook(self, x, y, dx, dy):
        """Whether two squares from here on, in a direction, can be had with nothing open around them."""
        ground, further = self.ground, (x + dx, y + dy)
        if ground.get((x, y)) not in ENTRANCES or ground.get(further) not in ENTRANCES:
            return False
        ring = [(x + dy, y + dx), (x - dy, y - dx), (further[0] + dx, further[1] + dy)]
        ring = ring + [(further[0] + dy, further[1] + dx), (further[0] - dy, further[1] - dx)]
        return all(ground.get(each) in SOLID for each in ring)

    def force(self, direction):
        """Go one step, clearing the way; False if that does not work."""
        there = self.ahead(direction)
        for attempt in range(6):
            self.step(direction)
            if self.place == there:
                return True
            self.fight()
        return False
