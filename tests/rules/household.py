"""Task types found from solved household tasks, in which things are put somewhere or heated."""

from planbook.rules.found_types import SolvedTask, with_solved_task
from planbook.rules.types import FoundType

PUT = """
def find(agent, thing, places):
    for place in places:
        if thing in agent.go_to(place):
            return place
    raise ValueError(f"no {thing}")

what, target = "WHAT", "TARGET"
where = find(agent, what, task.observation.split())
agent.take(f"{what} 1", where)
print("taken", what, where)
agent.put(what, target)
"""
HEAT = PUT.replace("agent.put(", 'agent.heat(what, "microwave")\nagent.put(')
THINGS = ("mug", "egg", "apple", "book", "lettuce")
PLACES = ("desk", "shelf", "fridge", "sofa", "cabinet")


def put(what: str, target: str, goal: str = "put a {} in {}.") -> SolvedTask:
    """Return a solved task of putting a thing in a place."""
    return _solved("put", PUT, what, target, goal)


def heat(what: str, target: str, goal: str = "heat some {} and put it in {}.") -> SolvedTask:
    """Return a solved task of heating a thing and putting it in a place."""
    return _solved("heat", HEAT, what, target, goal)


def _solved(name: str, plan: str, what: str, target: str, goal: str) -> SolvedTask:
    code = plan.replace("WHAT", what).replace("TARGET", target)
    return SolvedTask(f"{name}/{what}/{target}/{goal}", goal.format(what, target), code)


def found_types(*solved: SolvedTask) -> tuple[FoundType, ...]:
    """Return the types that are found from solved tasks."""
    types: tuple[FoundType, ...] = ()
    for each in solved:
        types = with_solved_task(types, each)
    return types


HOUSEHOLD = found_types(put("mug", "desk"), heat("egg", "fridge"), put("book", "shelf"), heat("apple", "sofa"))
