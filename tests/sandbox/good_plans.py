"""Plans that a check must pass: written in the manner of the plans that models write."""

GOOD_PLANS: dict[str, str] = {}


def _plan(name: str, code: str) -> None:
    GOOD_PLANS[name] = code.strip("\n") + "\n"


_plan(
    "find object",
    """
# Search the receptacles for the object that is wanted
def find_object(agent, recep_to_check, object_name):
    for receptacle in recep_to_check:
        observation = agent.go_to(receptacle)
        # A closed receptacle shows nothing: open it first
        if "closed" in observation:
            observation = agent.open(receptacle)
        if object_name in observation:
            object_ids = get_object_with_id(observation, object_name)
            return object_ids, receptacle
    return None, None

# [Step 1] Search for the spray bottle
recep_to_check = ["cabinet_1", "cabinet_2", "countertop_1", "toilet_1"]
object_ids, found_at = find_object(agent, recep_to_check, "spraybottle")
assert object_ids is not None, f"Error in [Step 1]: no spraybottle in/on {recep_to_check}."
# [Step 2] Take it
bottle = object_ids[0]
observation = agent.take_from(bottle, found_at)
assert agent.holding == bottle, f"Error in [Step 2]: cannot take {bottle} from {found_at}."
# [Step 3] Put it on the toilet
observation = agent.go_to("toilet_1")
if "closed" in observation:
    observation = agent.open("toilet_1")
observation = agent.put_in_or_on(bottle, "toilet_1")
""",
)
_plan(
    "two objects",
    """
def parse_for(observation, kind):
    return [word.strip(",.") for word in observation.split() if kind in word]

places = [f"drawer_{n}" for n in range(1, 6)] + ["dresser_1"]
found = []
for place in places:
    observation = agent.go_to(place)
    if "closed" in observation:
        observation = agent.open(place)
    found.extend((thing, place) for thing in parse_for(observation, "pillow"))
    if len(found) >= 2:
        break
assert len(found) >= 2, "Error: Less than 2 pillows found in the environment."
for thing, place in found[:2]:
    agent.go_to(place)
    agent.take_from(thing, place)
    agent.go_to("sofa_1")
    agent.put_in_or_on(thing, "sofa_1")
""",
)
_plan(
    "heat with microwave",
    """
mug = "mug_1"
observation = agent.go_to("microwave_1")
if "closed" in observation:
    observation = agent.open("microwave_1")
observation = agent.heat_with(mug, "microwave_1")
assert "heat" in observation and mug in observation, f"Error in [Step 4]: cannot heat {mug}."
""",
)
_plan(
    "search engine",
    """
# [Step 1] Fill in the box
textbox_xpath = "//*[@id='search-text']"
agent.click_xpath(textbox_xpath)
agent.type("Jerald")
# [Step 2] Search
html = agent.click_xpath("//*[@id='search']")
print(html)
""",
)
_plan(
    "next page",
    '''
def turn_to_next_page(agent):
    """Click the arrow below the results."""
    next_page_xpath = "//*[@id='pagination']/li[@class='page-item next']"
    return agent.click_xpath(next_page_xpath)

for _ in range(1):
    html_string = turn_to_next_page(agent)
agent.click_xpath(f"//*[@id='page-content']//a[@data-result='{3}']")
''',
)
_plan(
    "enter text",
    """
agent.click_xpath("//input[@id='tt']")
agent.type("Ronda")
agent.click_xpath("//button[@id='subbtn']")
""",
)
_plan("one call", 'agent.go_to("desk_1")')
_plan("one expression", "seen_before")
_plan("attribute only", "agent.location")
_plan("a value", "x = 1 + 2")
_plan("known task", "print(task.goal, task.params['object'])")
_plan(
    "main guard",
    """
def main():
    agent.look()

if __name__ == "__main__":
    main()
""",
)
_plan(
    "try and report",
    """
problems = []
for place in ("desk_1", "shelf_1"):
    try:
        agent.go_to(place)
    except Exception as error:
        problems.append(str(error))
        last = error
    else:
        print("fine")
    finally:
        print(place)
print(problems)
""",
)
_plan(
    "name guarded",
    """
try:
    counter
except NameError:
    counter = 0
counter += 1
print(counter)
""",
)
_plan(
    "class",
    """
class Searcher:
    limit = 3
    names = [n for n in range(3)]

    def __init__(self, agent, places):
        self.agent = agent
        self.places = list(places)
        self.seen = {}

    def search(self, kind):
        for place in self.places[: self.limit]:
            self.seen[place] = self.agent.go_to(place)
            if kind in self.seen[place]:
                return place
        return None

    def __repr__(self):
        return f"{type(self).__name__}({__class__.limit})"

searcher = Searcher(agent, ["desk_1", "bed_1"])
print(searcher.search("mug"), searcher)
""",
)
_plan(
    "dataclass",
    """
from dataclasses import dataclass, field
from typing import Optional

@dataclass
class Place:
    name: str
    things: list[str] = field(default_factory=list)
    parent: Optional["Place"] = None

    def has(self, kind: str) -> bool:
        return any(thing.startswith(kind) for thing in self.things)

place = Place("desk_1")
place.things += get_object_with_id(agent.go_to(place.name), "mug")
print(place.has("mug"))
""",
)
_plan(
    "annotations that nobody imported",
    """
def visit(agent: Agent, places: List[str]) -> Optional[str]:
    found: Dict[str, str] = {}
    for place in places:
        found[place] = agent.go_to(place)
    return found

visit(agent, ["desk_1"])
""",
)
_plan(
    "match",
    """
def read(observation):
    match observation.split():
        case ["You", verb, *rest]:
            return verb, rest
        case [first] | [first, _]:
            return first, []
        case {"text": text, **others}:
            return text, others
        case str() as whole if whole:
            return whole, []
    return None, []

verb, rest = read(agent.look())
print(verb, rest)
""",
)
_plan(
    "walrus",
    """
if (observation := agent.go_to("desk_1")) and "closed" in observation:
    observation = agent.open("desk_1")
lines = [clean for line in observation.split(",") if (clean := line.strip())]
print(clean, lines)
while (n := len(lines)) > 3:
    lines.pop()
print(n)
""",
)
_plan(
    "first class actions",
    """
from functools import partial
results = list(map(agent.go_to, ["desk_1", "bed_1"]))
steps = {"clean": agent.clean_with, "heat": agent.heat_with}
do = steps["clean"]
print(do("mug_1", "sinkbasin_1"))
put = partial(agent.put_in_or_on, receptacle="desk_1")
print(put("mug_1"))
""",
)
_plan(
    "aliases",
    """
go = agent.go_to
go("desk_1")
a = agent
a.take_from("mug_1", "desk_1")
act = agent.open if "closed" in a.look() else agent.examine
act("desk_1")
""",
)
_plan(
    "alias that changes",
    """
step = agent.go_to
step("desk_1")
step = agent.take_from
step("mug_1", "desk_1")
""",
)
_plan(
    "star arguments",
    """
pair = ("mug_1", "desk_1")
agent.take_from(*pair)
agent.put_in_or_on(**{"object": "mug_1", "receptacle": "desk_1"})
agent.put_in_or_on("mug_1", **{"receptacle": "desk_1"})
agent.select(["a", "b"], "c", *pair, color="red")
""",
)
_plan(
    "defaults and keywords",
    """
agent.scroll(3)
agent.scroll(pixels=-3, speed=2)
agent.scroll(3, 0.5, smooth=True)
agent.drag((1, 2))
agent.drag([1, 2], end=None)
agent.press_key("enter")
key = "en" + "ter"
agent.press_key(key)
agent.press_key(f"{key}")
agent.select([])
agent.select([key, "x"])
""",
)
_plan(
    "used before its definition stands",
    """
def outer():
    return inner() + OFFSET

def inner():
    return 1

OFFSET = 2
print(outer())
""",
)
_plan(
    "global counter",
    """
calls = 0
def visit(place):
    global calls, last
    calls += 1
    last = agent.go_to(place)

visit("desk_1")
print(calls, last)
""",
)
_plan(
    "closure with nonlocal",
    """
def counter():
    count = 0
    def step():
        nonlocal count
        count += 1
        return count
    return step

step = counter()
print(step(), step())
""",
)
_plan(
    "recursion and lambda",
    """
depth = lambda tree: 1 + max(map(depth, tree), default=0)
def fact(n):
    return 1 if n < 2 else n * fact(n - 1)
print(depth([[], [[]]]), fact(5), sorted([3, 1], key=lambda n: -n))
""",
)
_plan(
    "bound late in a loop",
    """
for n in range(3):
    if n:
        print(previous)
    previous = n
while True:
    if n > 5:
        print(later)
        break
    later, n = n, n + 1
""",
)
_plan(
    "bound in one branch",
    """
if "desk" in agent.look():
    target = "desk_1"
else:
    target = "bed_1"
for place in [target]:
    pass
print(place, target)
with_default = None
try:
    value = int("3")
except ValueError:
    value = 0
print(value)
""",
)
_plan(
    "generators",
    """
def nothing():
    return
    yield

def places():
    for n in range(3):
        yield f"shelf_{n}"
    yield from ("desk_1", "bed_1")

late = (factor * n for n in range(3))
factor = 2
print(list(late), list(nothing()))
for place in places():
    agent.go_to(place)
""",
)
_plan(
    "comprehension scopes",
    """
grid = [[x * y for x in range(3)] for y in range(3)]
flat = {cell for row in grid for cell in row if cell}
index = {cell: n for n, cell in enumerate(sorted(flat))}
pairs = [(a, b) for a in flat for b in index if a != b]
print(pairs)
""",
)
_plan(
    "deleted and given again",
    """
scratch = [1]
del scratch[0]
del scratch
scratch = [2]
print(scratch)
for n in range(2):
    item = n
    print(item)
    del item
""",
)
_plan(
    "for else, while else",
    """
for n in range(2, 9):
    for d in range(2, n):
        if n % d == 0:
            break
    else:
        print(n)
while seen_before:
    break
else:
    print("never")
""",
)
_plan(
    "with and decorators",
    """
import contextlib
import functools

@contextlib.contextmanager
def at(place):
    agent.go_to(place)
    yield place

@functools.lru_cache(maxsize=None)
def twice(n):
    return 2 * n

with at("desk_1") as here, at("bed_1"):
    print(here, twice(2))
print(here)
""",
)
_plan(
    "decorated with another signature",
    """
def with_agent(function):
    def wrapped(*args):
        return function(agent, *args)
    return wrapped

@with_agent
def visit(agent, place):
    return agent.go_to(place)

print(visit("desk_1"))
""",
)
_plan(
    "function defined twice",
    """
if agent.holding == "nothing":
    def free():
        return True
else:
    def free(hand="left"):
        return False
print(free())
""",
)
_plan(
    "parameter reassigned",
    """
class Recorder:
    def __init__(self, inner):
        self.inner = inner
    def note(self, text):
        print(text)

def helper(agent):
    agent = Recorder(agent)
    agent.note("hello")

helper(agent)
""",
)
_plan(
    "local variable of that name",
    """
def names(agents):
    return [agent.name for agent in agents]

def first(agents):
    for agent in agents:
        return agent.anything()
print(names([]), first([]))
""",
)
_plan(
    "rules",
    '''
rule_system.write_rule(
    rule="Open a closed receptacle before looking into it.",
    type="Special Mechanism",
    example="""
# [Step 1] agent.open("drawer_1")
""",
    validation_record="seen in epoch 1",
)
rule_system.write_rule("Go first.")
finish()
''',
)
_plan(
    "and or",
    """
done = (achieve("find a mug on the desk") or achieve("find a mug on the shelf")) and achieve("heat the mug")
done
""",
)
_plan(
    "imports of all kinds",
    """
from __future__ import annotations
import re, json as js
import collections.abc
from collections import Counter as Bag, defaultdict
numbers = [int(n) for n in re.findall(r"\\d+", agent.look())]
print(js.dumps(Bag(numbers)), defaultdict(list), collections.abc.Mapping)
""",
)
_plan(
    "early exit of a function",
    """
def solve_it():
    if agent.holding != "nothing":
        return agent.holding
    while True:
        observation = agent.look()
        if "desk" not in observation:
            break
        continue
    raise ValueError("no desk")

try:
    solve_it()
except ValueError as error:
    print(error)
""",
)
_plan(
    "lambda with the object as parameter",
    """
visit = lambda agent, place="desk_1": agent.go_to(place)
visit(agent)
visit(agent, "bed_1")
""",
)
_plan(
    "unicode",
    """
café = "é"
print(f"{café!r:>10}", "naïve ‘quotes’ inside a string")  # “typographic” in a comment
""",
)
_plan(
    "attribute values are plain text",
    """
where = agent.location.split("_")[0]
print(where.upper(), agent.holding.startswith("mug"), agent.location[0])
""",
)
_plan(
    "names that shadow builtins",
    """
list = "a b".split()
object = list[0]
def sum(values, start=0):
    for value in values:
        start += value
    return start
print(sum([1, 2], start=3), object)
""",
)
_plan(
    "class scope rules",
    """
base = 3
class Box:
    size = base
    base = size + 1
    area = size * base
    double = property(lambda self: self.size * 2)
    def grow(self):
        return base
print(Box().grow(), Box.area)
""",
)
_plan(
    "except in a loop keeps its error",
    """
error = None
for place in ["a", "b"]:
    try:
        agent.go_to(place)
    except RuntimeError as error:
        print(error)
    except (ValueError, KeyError) as other:
        print(other)
""",
)
_plan(
    "methods of one's own class are not checked",
    """
class Agent:
    def goto(self, place, fast=False):
        return agent.go_to(place)
helper = Agent()
helper.goto("desk_1", fast=True)
helper.anything = 3
""",
)
