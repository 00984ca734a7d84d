"""A game's problem text as plain data: what there is, where it is at the start, and what is to be achieved."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from planbook.envs.errors import WorldBroken

_FACT = re.compile(r"\((\w+) ([^()]*)\)")
_NOT_EQUAL = re.compile(r"\(not \(= (\S+) (\S+)\)\)")

Pairs = frozenset[tuple[str, str]]
Names = frozenset[str]
_NONE: Names = frozenset()


class State(NamedTuple):
    """All that can change. Entities are their lower-case PDDL ids; keeping a state is keeping a copy."""

    at: str
    """The agent's location."""
    holding: str | None
    inside: Pairs
    """(object, receptacle); an object may start in two receptacles."""
    lying: Pairs
    """(object, location)"""
    removed: Pairs
    """(object, receptacle) that it was taken from and not put back into: ``look`` lists such objects."""
    opened: Names
    clean: Names
    hot: Names
    cool: Names
    sliced: Names
    toggled: Names


class Literal(NamedTuple):
    """One condition of a goal; arguments that start with ``?`` are variables."""

    predicate: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Scene:
    """What stays as it is in a game, and the state it starts in."""

    names: dict[str, str]
    """PDDL id to the game's name (``desk 1``)."""
    places: dict[str, str]
    """Receptacle to its location."""
    kinds: dict[str, str]
    """Object or receptacle to its type (``mugtype``)."""
    marked: dict[str, Names]
    """Unary predicate (``openable``) to the entities that have it."""
    can_contain: Pairs
    """(receptacle type, object type)"""
    contained: Pairs
    """(object, object that it is in)"""
    goal: tuple[Literal, ...]
    unequal: Pairs
    """Goal variables that must differ."""
    start: State

    @cached_property
    def ids(self) -> dict[str, str]:
        """The game's names to PDDL ids."""
        return {name: entity for entity, name in self.names.items()}

    @cached_property
    def neighbours(self) -> dict[str, tuple[str, ...]]:
        """Location to its receptacles, sorted by id."""
        found: dict[str, list[str]] = defaultdict(list)
        for receptacle in sorted(self.places):
            found[self.places[receptacle]].append(receptacle)
        return {location: tuple(there) for location, there in found.items()}

    @cached_property
    def ways(self) -> tuple[tuple[str, str], ...]:
        """The commands that lead to receptacles, each with the location that it leads to."""
        return tuple((f"go to {self.names[receptacle]}", place) for receptacle, place in self.places.items())

    def has(self, predicate: str) -> Names:
        """The entities marked with a unary predicate."""
        return self.marked.get(predicate, _NONE)


def number_names(entities: set[str]) -> dict[str, str]:
    """The game's names: kind and number, the first id in sorted order gets the highest number."""
    kinds = {
        entity: entity.split("_bar_", 1)[0] + ("basin" if "basin" in entity else "")
        for entity in entities
        if "_bar_" in entity
    }
    left = Counter(kinds.values())
    names = {}
    for entity in sorted(kinds):
        names[entity] = f"{kinds[entity]} {left[kinds[entity]]}"
        left[kinds[entity]] -= 1
    return names


def read_scene(problem: str) -> Scene:
    """Read a pddl_problem. Raises WorldBroken if it has no init or goal section."""
    text = problem.lower()
    init, goal = text.find("(:init"), text.find("(:goal")
    if init < 0 or goal < init:
        raise WorldBroken(
            "alfworld: the game's pddl_problem has no (:init ...) followed by (:goal ...); the file is damaged"
        )
    facts: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for predicate, arguments in _FACT.findall(text, init, goal):
        facts[predicate].add(tuple(arguments.split()))
    return _scene(facts, text[goal:])


def _scene(facts: dict[str, set[tuple[str, ...]]], goal: str) -> Scene:
    entities = {
        argument for name, found in facts.items() if name != "cancontain" for fact in found for argument in fact
    }
    conditions = tuple(Literal(name, tuple(rest.split())) for name, rest in _FACT.findall(_NOT_EQUAL.sub("", goal)))
    return Scene(
        names=number_names(entities),
        places=dict(_pairs(facts, "receptacleatlocation")),
        kinds=dict(_pairs(facts, "objecttype") | _pairs(facts, "receptacletype")),
        marked={name: frozenset(first for first, *_ in found) for name, found in facts.items() if _is_unary(found)},
        can_contain=_pairs(facts, "cancontain"),
        contained=_pairs(facts, "inreceptacleobject"),
        goal=conditions,
        unequal=frozenset(_NOT_EQUAL.findall(goal)),
        start=_start(facts),
    )


def _is_unary(facts: set[tuple[str, ...]]) -> bool:
    return all(len(fact) == 1 for fact in facts)


def _pairs(facts: dict[str, set[tuple[str, ...]]], name: str) -> Pairs:
    return frozenset((fact[0], fact[1]) for fact in facts.get(name, ()))


def _start(facts: dict[str, set[tuple[str, ...]]]) -> State:
    def having(name: str) -> Names:
        return frozenset(first for first, *_ in facts.get(name, ()))

    if not (at := _pairs(facts, "atlocation")):
        raise WorldBroken("alfworld: the game's pddl_problem does not say where the agent is; the file is damaged")
    return State(
        at=min(at)[1],
        holding=None,
        inside=_pairs(facts, "inreceptacle"),
        lying=_pairs(facts, "objectatlocation"),
        removed=frozenset(),
        opened=having("opened"),
        clean=having("isclean"),
        hot=having("ishot"),
        cool=having("iscool"),
        sliced=having("issliced"),
        toggled=having("istoggled"),
    )
