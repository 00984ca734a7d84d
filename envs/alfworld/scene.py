"""Read a game's PDDL problem text: the entities, the start state and the goal.

An entity is an object, a receptacle, a location or the agent. Its PDDL id is its name in the problem text.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from planbook.envs.errors import EnvironmentBroken

_FACT = re.compile(r"\((\w+) ([^()]*)\)")
_NOT_EQUAL = re.compile(r"\(not \(= (\S+) (\S+)\)\)")

Pairs = frozenset[tuple[str, str]]
Names = frozenset[str]
_NO_NAMES: Names = frozenset()


class GameState(NamedTuple):
    """Everything that can change in a game. Immutable. Entities are given by their PDDL ids in lower case."""

    at: str
    """The location of the agent."""
    holding: str | None
    """The object in the agent's hand."""
    inside: Pairs
    """Pairs of an object and the receptacle that holds it. An object may start in two receptacles."""
    object_locations: Pairs
    """Pairs of an object and its location."""
    taken: Pairs
    """Pairs of an object and the receptacle from which it was taken.

    A pair is removed when the object is put back into this receptacle. The command ``look`` reports these objects.
    """
    opened: Names
    """The open receptacles."""
    clean: Names
    """The clean objects. ``hot``, ``cool`` and ``toggled`` are sets of objects, too."""
    hot: Names
    cool: Names
    toggled: Names


class GoalLiteral(NamedTuple):
    """One condition of a goal: a predicate and its arguments. Arguments that start with ``?`` are variables."""

    predicate: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class GameScene:
    """The part of a game that does not change, including the state at the start."""

    names: dict[str, str]
    """Maps the PDDL id of an entity to its name in the game, such as ``desk 1``."""
    locations: dict[str, str]
    """Maps a receptacle to its location."""
    kinds: dict[str, str]
    """Maps an object or a receptacle to its type, such as ``mugtype``."""
    predicates: dict[str, Names]
    """Maps a unary predicate, such as ``openable``, to the entities of which it is true."""
    can_contain: Pairs
    """Pairs of a type of receptacle and a type of object that receptacles of this type can hold."""
    contained: Pairs
    """Pairs of an object and another object that contains it. For example, a cup may contain a spoon."""
    goal: tuple[GoalLiteral, ...]
    unequal: Pairs
    """Pairs of variables in the goal that must have different values."""
    start: GameState

    @cached_property
    def ids(self) -> dict[str, str]:
        """Maps the name of an entity in the game to its PDDL id."""
        return {name: entity for entity, name in self.names.items()}

    @cached_property
    def receptacles_at(self) -> dict[str, tuple[str, ...]]:
        """Maps a location to the receptacles there, sorted by id."""
        receptacles: dict[str, list[str]] = defaultdict(list)
        for receptacle in sorted(self.locations):
            receptacles[self.locations[receptacle]].append(receptacle)
        return {location: tuple(names) for location, names in receptacles.items()}

    @cached_property
    def go_commands(self) -> tuple[tuple[str, str], ...]:
        """Pairs of the command for going to a receptacle, and the location of this receptacle."""
        return tuple((f"go to {self.names[receptacle]}", location) for receptacle, location in self.locations.items())

    def entities_with(self, predicate: str) -> Names:
        """Return the entities of which a unary predicate is true."""
        return self.predicates.get(predicate, _NO_NAMES)


def number_names(entities: set[str]) -> dict[str, str]:
    """Return a dict that maps PDDL ids to names in the game. A name consists of a kind and a number.

    As in alfworld, the ids of each kind are sorted and then numbered in reverse: the last one has the number 1.
    """
    kinds = {
        entity: entity.split("_bar_", 1)[0] + ("basin" if "basin" in entity else "")
        for entity in entities
        if "_bar_" in entity
    }
    numbers = Counter(kinds.values())
    names = {}
    for entity in sorted(kinds):
        names[entity] = f"{kinds[entity]} {numbers[kinds[entity]]}"
        numbers[kinds[entity]] -= 1
    return names


def read_scene(problem: str) -> GameScene:
    """Return the scene that a ``pddl_problem`` describes.

    Raises EnvironmentBroken if the text has no init section or no goal section, or does not say where the agent is.
    """
    text = problem.lower()
    init, goal = text.find("(:init"), text.find("(:goal")
    if init < 0 or goal < init:
        raise EnvironmentBroken(
            "alfworld: the game's pddl_problem has no (:init ...) followed by (:goal ...); the file is damaged"
        )
    facts: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for predicate, arguments in _FACT.findall(text, init, goal):
        facts[predicate].add(tuple(arguments.split()))
    return _build_scene(facts, text[goal:])


def _build_scene(facts: dict[str, set[tuple[str, ...]]], goal: str) -> GameScene:
    entities = {argument for name, rows in facts.items() if name != "cancontain" for fact in rows for argument in fact}
    conditions = tuple(GoalLiteral(name, tuple(args.split())) for name, args in _FACT.findall(_NOT_EQUAL.sub("", goal)))
    return GameScene(
        names=number_names(entities),
        locations=dict(_pairs(facts, "receptacleatlocation")),
        kinds=dict(_pairs(facts, "objecttype") | _pairs(facts, "receptacletype")),
        predicates={name: _names(facts, name) for name, rows in facts.items() if all(len(fact) == 1 for fact in rows)},
        can_contain=_pairs(facts, "cancontain"),
        contained=_pairs(facts, "inreceptacleobject"),
        goal=conditions,
        unequal=frozenset(_NOT_EQUAL.findall(goal)),
        start=_start_state(facts),
    )


def _names(facts: dict[str, set[tuple[str, ...]]], name: str) -> Names:
    return frozenset(first for first, *_ in facts.get(name, ()))


def _pairs(facts: dict[str, set[tuple[str, ...]]], name: str) -> Pairs:
    return frozenset((fact[0], fact[1]) for fact in facts.get(name, ()))


def _start_state(facts: dict[str, set[tuple[str, ...]]]) -> GameState:
    if not (at := _pairs(facts, "atlocation")):
        raise EnvironmentBroken(
            "alfworld: the game's pddl_problem does not say where the agent is; the file is damaged"
        )
    return GameState(
        at=min(at)[1],
        holding=None,
        inside=_pairs(facts, "inreceptacle"),
        object_locations=_pairs(facts, "objectatlocation"),
        taken=frozenset(),
        opened=_names(facts, "opened"),
        clean=_names(facts, "isclean"),
        hot=_names(facts, "ishot"),
        cool=_names(facts, "iscool"),
        toggled=_names(facts, "istoggled"),
    )


_Fact = tuple[str, ...]

_FACTS: dict[str, Callable[[GameScene, GameState], Iterable[_Fact]]] = {
    "isclean": lambda _, state: zip(state.clean),
    "ishot": lambda _, state: zip(state.hot),
    "iscool": lambda _, state: zip(state.cool),
    "istoggled": lambda _, state: zip(state.toggled),
    "holds": lambda _, state: [("agent1", state.holding)] if state.holding else [],
    "inreceptacle": lambda _, state: state.inside,
    "atlocation": lambda _, state: [("agent1", state.at)],
    "receptacleatlocation": lambda scene, _: scene.locations.items(),
    "inreceptacleobject": lambda scene, _: scene.contained,
}
"""Maps a predicate to a function that returns the predicate's facts in a state, as tuples of arguments.

These predicates relate two entities, or their facts may change. Those with few facts come first: ``GoalTest`` checks
them in this order.
"""


class GoalTest:
    """Tests whether a scene's goal is reached, that is, whether some values of its variables fulfil all its conditions.

    Conditions on types, and unary conditions that never change, limit a variable's values from the start. ``holds``
    searches for values that make the other conditions, the relations, true.
    """

    def __init__(self, scene: GameScene) -> None:
        self._domains: dict[str, frozenset[str]] = {}
        self._relations: list[GoalLiteral] = []
        self._scene = scene
        for literal in scene.goal:
            self._add_condition(literal)
        self._relations.sort(key=lambda literal: list(_FACTS).index(literal.predicate))

    def _add_condition(self, literal: GoalLiteral) -> None:
        (name, arguments), scene = literal, self._scene
        if name in _FACTS and all(argument.startswith("?") for argument in arguments):
            self._relations.append(literal)
        elif name in ("objecttype", "receptacletype"):
            self._limit(arguments[0], frozenset(entity for entity, kind in scene.kinds.items() if kind == arguments[1]))
        elif len(arguments) == 1:
            self._limit(arguments[0], scene.entities_with(name))
        else:
            raise EnvironmentBroken(
                f"alfworld: the direct engine cannot judge the goal condition {name}; choose the engine 'textworld'"
            )

    def _limit(self, variable: str, allowed: frozenset[str]) -> None:
        self._domains[variable] = self._domains.get(variable, allowed) & allowed

    def holds(self, state: GameState) -> bool:
        """Return whether some values for the variables make every condition true in this state."""
        bindings: list[dict[str, str]] = [{}]
        for name, arguments in self._relations:
            first = self._domains.get(arguments[0])
            facts = [fact for fact in _FACTS[name](self._scene, state) if first is None or fact[0] in first]
            extended = (self._unify(arguments, fact, binding) for binding in bindings for fact in facts)
            bindings = [binding for binding in extended if binding]
        unequal = self._scene.unequal
        return any(all(binding[first] != binding[second] for first, second in unequal) for binding in bindings)

    def _unify(self, arguments: _Fact, fact: _Fact, binding: Mapping[str, str]) -> dict[str, str] | None:
        extended = dict(binding)
        for argument, value in zip(arguments, fact, strict=True):
            allowed = self._domains.get(argument)
            if (allowed is not None and value not in allowed) or extended.setdefault(argument, value) != value:
                return None
        return extended
