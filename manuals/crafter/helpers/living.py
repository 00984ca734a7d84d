"""Staying alive on the way: fights, food, drink, sleep, and a place where sleep is safe."""

# Below these, what is lacking comes before all else; and up to where it is filled.
HUNGRY, THIRSTY, TIRED, HURT = 4, 4, 3, 4
FULL = 8
SOLID = ("stone", "coal", "iron", "diamond", "table", "furnace", "tree", "water", "edge", "plant")


class Survivor(Explorer):
    """Goes where it wants to, and looks after itself on the way."""

    def __init__(self, agent, steps):
        self.busy = False
        super().__init__(agent, steps)

    def threat(self):
        """The direction of a zombie or skeleton beside the agent, if there is one."""
        for direction in DIRECTIONS:
            if self.creatures.get(self.ahead(direction)) in ("zombie", "skeleton"):
                return direction
        return None

    def fight(self):
        """Hit what threatens until it is gone."""
        while self.has_time() and self.threat():
            direction = self.threat()
            if self.face(direction) or self.agent.facing == direction:
                self.do()

    def tend(self):
        """Fight, and see to what is lacking most; nothing of this while seeing to something."""
        self.fight()
        if self.busy:
            return
        self.busy = True
        vitals = self.agent.vitals
        if vitals["health"] < HURT:
            self.recover()
        elif vitals["drink"] < THIRSTY:
            self.fill("drink", "water")
        elif vitals["food"] < HUNGRY:
            self.fill("food", "cow")
        elif vitals["energy"] < TIRED:
            self.sleep()
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

    def recover(self):
        """Rest in a safe place until health is back."""
        self.shelter()
        until = self.agent.step + 150
        while self.has_time() and self.agent.vitals["health"] < FULL and self.agent.step < until and not self.threat():
            vitals = self.agent.vitals
            if min(vitals["food"], vitals["drink"]) < 2:
                return
            self.done(self.agent.sleep() if vitals["energy"] < 9 else self.agent.noop())

    def sleep(self):
        """Sleep until energy is full, in a safe place if there is one."""
        self.shelter()
        while self.has_time() and (self.agent.sleeping or self.agent.vitals["energy"] < 9):
            self.done(self.agent.sleep())
            if self.threat() and not self.agent.sleeping:
                self.fight()

    def shelter(self):
        """Dig two squares deep into rock and close the way in behind; False if there is no such rock."""
        if not self.can_dig("stone"):
            return False
        path = self.way(self.is_rock, self.costs(), 40)
        if not path:
            return False
        for direction in path:
            if not self.force(direction):
                return False
        inward = path[-1]
        if not self.force(inward):
            return False
        outward = {"north": "south", "south": "north", "east": "west", "west": "east"}[inward]
        if not self.force(outward):
            return False
        return self.done(self.agent.place("stone"))

    def force(self, direction):
        """Go one step, clearing the way; False if that does not work."""
        there = self.ahead(direction)
        for attempt in range(6):
            self.step(direction)
            if self.place == there:
                return True
            self.fight()
        return False

    def is_rock(self, place):
        """Whether a place is stone, with so much of it around that two squares can be dug there, the way in apart."""
        if self.ground[place] != "stone":
            return False
        x, y = place
        for dx, dy in DIRECTIONS.values():
            beyond = (x + dx, y + dy)
            ring = [(x + dy, y + dx), (x - dy, y - dx), (beyond[0] + dx, beyond[1] + dy)]
            ring = ring + [(beyond[0] + dy, beyond[1] + dx), (beyond[0] - dy, beyond[1] - dx)]
            back = (x - dx, y - dy)
            if self.ground.get(beyond) == "stone" and all(self.ground.get(each) in SOLID for each in ring):
                if self.ground.get(back) in WALKABLE:
                    return True
        return False
