"""Unlock achievements. The amount of material that something takes is found out by trying."""

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
            self.sleep_when_tired()
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

    def count_held(self, item):
        """Return how many pieces of an item the agent carries."""
        return self.agent.inventory.get(item, 0)

    def collect(self, item, count=1):
        """Collect an item until the agent carries ``count``; return whether it does. For "drink", drink once."""
        source = SOURCE[item]
        tool = TOOL_FOR.get(source)
        if tool and not self.count_held(tool) and not self.make(tool):
            return False
        wanted = self.agent.vitals["drink"] + 1 if item == "drink" else count
        while self.has_time() and (self.agent.vitals if item == "drink" else self.agent.inventory).get(item, 0) < wanted:
            if not self.reach([source]):
                return False
            self.do()
            if item == "drink":
                return True
        return self.count_held(item) >= count

    def missing_items(self):
        """Return the items that the last action lacked, according to its message."""
        if "do not have enough " not in self.message:
            return []
        listed = self.message.split("do not have enough ", 1)[1]
        return listed.split(". ", 1)[0].split(" and ")

    def attempt(self, act):
        """Call ``act``, and collect one more of each item that it lacks, until it works; return whether it did."""
        while self.has_time():
            if act():
                return True
            lacking = self.missing_items()
            if not lacking:
                return False
            for item in lacking:
                if not self.collect(item, self.count_held(item) + 1):
                    return False
        return False

    def make(self, tool):
        """Make a tool near the stations (table, furnace) that it needs; return whether that worked."""
        stations = STATIONS.get(tool, ["table"])
        return self.attempt(lambda: self.stand_by(stations) and self.record(self.agent.make(tool)))

    def build(self, thing):
        """Place a thing on a square beside the agent, collecting any missing material; return whether that worked."""
        return self.attempt(lambda: self.place_near(thing, []))

    def near(self, place, kind):
        """Return whether a kind of square is at a place or next to it, diagonals included."""
        x, y = place
        return any(self.ground.get((x + dx, y + dy)) == kind for dx in (-1, 0, 1) for dy in (-1, 0, 1))

    def stand_by(self, stations):
        """Go near all stations, or build those that are missing; return whether they are near."""
        if all(self.near(self.place, station) for station in stations):
            return True
        path = self.cheapest_path(lambda place: self.is_between(place, stations), self.costs(), 40)
        if path and self.travel(path, stations):
            return True
        built = []
        for station in stations:
            if not self.near(self.place, station) and not self.attempt(lambda: self.place_near(station, built)):
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
            if not self.advance(direction):
                return False
        return all(self.near(self.place, station) for station in stations)

    def place_near(self, thing, stations):
        """Place a thing near these stations; return whether that worked. ``message`` is "" if no square fits."""
        allowed = {"plant": ("grass",), "stone": ("grass", "sand", "path", "water")}.get(thing, WALKABLE)
        for attempt in range(30):
            self.fight()
            if self.kind_at(self.ahead(self.agent.facing)) in allowed:
                return self.record(self.agent.place(thing))
            if not self.face_other_square(allowed, stations):
                break
        self.message = ""
        return False

    def face_other_square(self, allowed, stations):
        """Clear a square, or take a step to face another one; return False if that fails or no square fits."""
        for direction in DIRECTIONS:
            there = self.ahead(direction)
            kind = self.kind_at(there)
            if self.can_dig(kind) and ("path" in allowed or kind == "tree"):
                return self.face_and_dig(direction)
        for direction in DIRECTIONS:
            there = self.ahead(direction)
            dx, dy = DIRECTIONS[direction]
            ahead = self.kind_at((there[0] + dx, there[1] + dy))
            fits = ahead in allowed or self.can_dig(ahead)
            if self.kind_at(there) in WALKABLE and fits and all(self.near(there, station) for station in stations):
                return self.move(direction)
        if stations:
            return False
        path = self.cheapest_path(lambda place: self.ground[place] in allowed and self.ground[place] in WALKABLE, self.costs())
        return bool(path) and self.advance(path[0])

    def face_and_dig(self, direction):
        """Face a blocked square, and clear it; return whether that worked."""
        if self.agent.facing != direction:
            self.move(direction)
        return self.do()

    def sleep_when_tired(self):
        """Wait until the agent can sleep, then sleep if that is safe."""
        while self.has_time() and self.agent.vitals["energy"] == 9:
            self.attend_to_needs()
            self.record(self.agent.noop())
        if self.shelter() or not self.in_view(THREATS):
            self.sleep_until_awake()

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
        gaps = len([place for place in around if self.kind_at(place) not in SOLID])
        if self.can_dig("stone") and self.count_held("stone") < gaps + 1:
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
            self.sleep_until_awake()
        for waited in range(20):
            if self.has_time() and not self.in_view(["ripe_plant"]):
                self.attend_to_needs()
                self.record(self.agent.noop())

    def sleep_until_awake(self):
        """Sleep until the agent wakes up."""
        self.record(self.agent.sleep())
        while self.has_time() and self.agent.sleeping:
            self.record(self.agent.sleep())


def play(agent, steps):
    """Play the whole game: try all missing achievements in turn, and repeat that until a round takes no step."""
    player, last_start = Achiever(agent, steps), -1
    while player.has_time() and agent.remaining and agent.step > last_start:
        last_start = agent.step
        for achievement in ORDER:
            if achievement in agent.remaining and player.has_time():
                player.unlock(achievement)
            if achievement == "place_stone" and "eat_plant" in agent.remaining:
                player.guard()


def pursue(agent, achievement, steps):
    """Unlock one achievement and all that it needs first. Try again until an attempt takes no step."""
    player, last_start = Achiever(agent, steps), -1
    while player.has_time() and achievement in agent.remaining and agent.step > last_start:
        last_start = agent.step
        player.unlock(achievement)
