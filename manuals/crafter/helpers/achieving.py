"""What each achievement needs, and how to unlock it. How much material is needed is found out by trying."""

# The kind of square from which each item is collected.
SOURCE = {
    "wood": "tree",
    "stone": "stone",
    "coal": "coal",
    "iron": "iron",
    "diamond": "diamond",
    "drink": "water",
    "sapling": "grass",
}
STATIONS = {"iron_pickaxe": ["table", "furnace"], "iron_sword": ["table", "furnace"]}
# The order in which to unlock achievements in the whole game.
ORDER = """collect_wood place_table make_wood_pickaxe make_wood_sword collect_sapling place_plant collect_stone
place_stone make_stone_pickaxe make_stone_sword collect_drink eat_cow collect_coal place_furnace collect_iron
make_iron_pickaxe make_iron_sword wake_up defeat_zombie collect_diamond eat_plant defeat_skeleton""".split()


class Achiever(Survivor):
    """Unlocks achievements by name."""

    def __init__(self, agent, steps):
        self.garden = None
        super().__init__(agent, steps)

    def unlock(self, achievement):
        """Try to unlock an achievement; return whether it is unlocked."""
        verb, thing = achievement.split("_", 1)
        if achievement == "wake_up":
            self.nap()
        elif achievement == "eat_plant":
            self.harvest()
        elif achievement == "place_plant":
            self.plant()
        elif verb == "collect":
            self.collect(thing)
        elif verb == "place":
            self.build(thing)
        elif verb == "make":
            self.make(thing)
        else:
            self.hunt(thing)
        return achievement not in self.agent.remaining

    def held(self, item):
        """Return how many pieces of an item the agent carries."""
        return self.agent.inventory.get(item, 0)

    def collect(self, item, count=1):
        """Collect an item until the agent carries ``count``; return whether it does. For "drink", drink once."""
        source = SOURCE[item]
        tool = TOOL_FOR.get(source)
        if tool and not self.held(tool) and not self.make(tool):
            return False
        wanted = self.agent.vitals["drink"] + 1 if item == "drink" else count
        while self.has_time() and (self.agent.vitals if item == "drink" else self.agent.inventory).get(item, 0) < wanted:
            if not self.reach([source]):
                return False
            self.do()
            if item == "drink":
                return True
        return self.held(item) >= count

    def missing(self):
        """Return the items that the last action lacked, according to its message."""
        if "do not have enough " not in self.told:
            return []
        listed = self.told.split("do not have enough ", 1)[1]
        return listed.split(". ", 1)[0].split(" and ")

    def attempt(self, act):
        """Call ``act``, and collect one more of each item that it lacks, until it works; return whether it did."""
        while self.has_time():
            if act():
                return True
            lacking = self.missing()
            if not lacking:
                return False
            for item in lacking:
                if not self.collect(item, self.held(item) + 1):
                    return False
        return False

    def make(self, tool):
        """Make a tool near the stations (table, furnace) that it needs; return whether that worked."""
        stations = STATIONS.get(tool, ["table"])
        return self.attempt(lambda: self.stand_by(stations) and self.done(self.agent.make(tool)))

    def build(self, thing):
        """Place a thing on a square beside the agent, collecting any missing material; return whether that worked."""
        return self.attempt(lambda: self.put(thing, []))

    def near(self, place, kind):
        """Return whether a kind of square is at a place or next to it, diagonals included."""
        x, y = place
        return any(self.ground.get((x + dx, y + dy)) == kind for dx in (-1, 0, 1) for dy in (-1, 0, 1))

    def stand_by(self, stations):
        """Go near all stations, or build those that are missing; return whether they are near."""
        if all(self.near(self.place, station) for station in stations):
            return True
        path = self.way(lambda place: self.is_between(place, stations), self.costs(), 40)
        if path and self.travel(path, stations):
            return True
        built = []
        for station in stations:
            if not self.near(self.place, station) and not self.attempt(lambda: self.put(station, built)):
                return False
            built.append(station)
        return all(self.near(self.place, station) for station in stations)

    def is_between(self, place, stations):
        """Return whether a place is walkable and near all stations."""
        return self.ground[place] in WALKABLE and all(self.near(place, station) for station in stations)

    def travel(self, path, stations):
        """Go along a path, and return whether the stations are near at its end."""
        for direction in path:
            self.fight()
            if not self.force(direction):
                return False
        return all(self.near(self.place, station) for station in stations)

    def put(self, thing, stations):
        """Place a thing near these stations; return whether that worked. ``told`` is "" if no square fits."""
        allowed = {"plant": ("grass",), "stone": ("grass", "sand", "path", "water")}.get(thing, WALKABLE)
        for attempt in range(30):
            self.fight()
            if self.what(self.ahead(self.agent.facing)) in allowed:
                return self.done(self.agent.place(thing))
            turned = self.turn(allowed, stations)
            if not turned:
                break
        self.told = ""
        return False

    def turn(self, allowed, stations):
        """Clear a square, or take a step to face another one; return False if that fails or no square fits."""
        for direction in DIRECTIONS:
            there = self.ahead(direction)
            kind = self.what(there)
            if self.can_dig(kind) and ("path" in allowed or kind == "tree"):
                return self.face_and_dig(direction)
        for direction in DIRECTIONS:
            there = self.ahead(direction)
            dx, dy = DIRECTIONS[direction]
            ahead = self.what((there[0] + dx, there[1] + dy))
            fits = ahead in allowed or self.can_dig(ahead)
            if self.what(there) in WALKABLE and fits and all(self.near(there, station) for station in stations):
                return self.move(direction)
        if stations:
            return False
        path = self.way(lambda place: self.ground[place] in allowed and self.ground[place] in WALKABLE, self.costs())
        return bool(path) and self.force(path[0])

    def face_and_dig(self, direction):
        """Face a blocked square, and clear it; return whether that worked."""
        if self.agent.facing != direction:
            self.move(direction)
        return self.do()

    def nap(self):
        """Wait until the agent can sleep, then sleep if that is safe."""
        while self.has_time() and self.agent.vitals["energy"] == 9:
            self.tend()
            self.done(self.agent.noop())
        if self.shelter() or not self.in_view(THREATS):
            self.doze()

    def hunt(self, kind):
        """Hit creatures of a kind until their achievement is unlocked; return False if none was found."""
        names = {"cow": "eat_cow", "zombie": "defeat_zombie", "skeleton": "defeat_skeleton"}
        while self.has_time() and names[kind] in self.agent.remaining:
            if not self.reach([kind]):
                return False
            self.do()
        return True

    def plant(self):
        """Plant a sapling and remember where; return whether the place of a plant is known."""
        if self.build("plant"):
            self.garden = self.ahead(self.agent.facing)
        return self.garden is not None

    def guard(self):
        """Wall in the plant, which creatures would otherwise eat; return whether it is walled in."""
        if not self.garden or self.ground.get(self.garden) != "plant":
            return False
        around = [(self.garden[0] + dx, self.garden[1] + dy) for dx, dy in DIRECTIONS.values()]
        gaps = len([place for place in around if self.what(place) not in SOLID])
        if self.can_dig("stone") and self.held("stone") < gaps + 1:
            self.collect("stone", gaps + 1)
        return all(self.wall(place) for place in around)

    def harvest(self):
        """Eat a ripe plant, or grow one first; plants ripen only near the agent. Return False if that is impossible."""
        while self.has_time() and "eat_plant" in self.agent.remaining:
            if "ripe_plant" in self.ground.values():
                if not self.reach(["ripe_plant"]):
                    return False
                self.do()
            elif self.garden and self.ground.get(self.garden) == "plant":
                self.wait_by_garden()
            elif not self.plant() or not self.guard():
                return False
        return True

    def wait_by_garden(self):
        """Go to the plant, guard it, and rest nearby for a while."""
        if not self.reach(["plant"], 60):
            self.garden = None
            return
        self.guard()
        if self.agent.vitals["energy"] < 8 and self.shelter():
            self.doze()
        for waited in range(20):
            if self.has_time() and not self.in_view(["ripe_plant"]):
                self.tend()
                self.done(self.agent.noop())

    def doze(self):
        """Sleep until the agent wakes up."""
        self.done(self.agent.sleep())
        while self.has_time() and self.agent.sleeping:
            self.done(self.agent.sleep())


def play(agent, steps):
    """Play the whole game: try all missing achievements in turn, and repeat that until a round takes no step."""
    player, begun = Achiever(agent, steps), -1
    while player.has_time() and agent.remaining and agent.step > begun:
        begun = agent.step
        for achievement in ORDER:
            if achievement in agent.remaining and player.has_time():
                player.unlock(achievement)
            if achievement == "place_stone" and "eat_plant" in agent.remaining:
                player.guard()


def pursue(agent, achievement, steps):
    """Unlock one achievement and all that it needs first. Try again until an attempt takes no step."""
    player, begun = Achiever(agent, steps), -1
    while player.has_time() and achievement in agent.remaining and agent.step > begun:
        begun = agent.step
        player.unlock(achievement)
