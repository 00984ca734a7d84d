"""A room and a goal as the text of a PDDL problem, in the form of alfworld's own games."""

from collections.abc import Iterable, Iterator

from planbook.envs.alfworld.room import LAMP, Room, kind_of
from planbook.envs.alfworld.wheel import Facts

_START = "loc|0|0|0|0|start"
_ABILITIES = {"Heatable": "heatable", "Coolable": "coolable", "Cleanable": "cleanable", "Sliceable": "sliceable"}
_MANGLED = {"|": "_bar_", "+": "_plus_", "-": "_minus_", ".": "_dot_"}
_RULES_NAME = ("Microwave", "Fridge", "SinkBasin")
"""Kinds of receptacles that alfworld's rules name: they must be declared even where there are none."""
_RULES_NAME_OBJECTS = ("Knife", "ButterKnife")


def mangled(name: str) -> str:
    """A name as PDDL allows it."""
    for mark, word in _MANGLED.items():
        name = name.replace(mark, word)
    return name


def problem_text(name: str, room: Room, facts: Facts, goal: str) -> str:
    """The problem; ``goal`` is a (:goal ...) section that also closes the definition, as alfworld's library has it."""
    return (
        f"(define (problem {name})\n(:domain alfred)\n(:objects\n{_lines(_objects(room, facts))})\n"
        f"(:init\n{_lines(_init(room, facts))})\n{goal.strip()}\n"
    )


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"    {text}\n" for text in texts)


def _object_kinds(room: Room, facts: Facts) -> list[str]:
    held = {kind for receptacle in room.places for kind in facts.holds[kind_of(receptacle)]}
    return sorted(held | {kind_of(thing) for thing in room.inside} | {LAMP, *_RULES_NAME_OBJECTS})


def _objects(room: Room, facts: Facts) -> Iterator[str]:
    yield "agent1 - agent"
    for kind in _object_kinds(room, facts):
        yield f"{kind}Type - otype"
    for kind in sorted({kind_of(receptacle) for receptacle in room.places} | {*_RULES_NAME}):
        yield f"{kind}Type - rtype"
    for thing in room.inside:
        yield f"{mangled(thing)} - object"
    for receptacle in room.places:
        yield f"{mangled(receptacle)} - receptacle"
    for location in sorted({_START, *room.places.values()}):
        yield f"{mangled(location)} - location"


def _init(room: Room, facts: Facts) -> Iterator[str]:
    yield f"(atLocation agent1 {mangled(_START)})"
    for receptacle, location in room.places.items():
        name, kind = mangled(receptacle), kind_of(receptacle)
        yield f"(receptacleType {name} {kind}Type)"
        yield f"(receptacleAtLocation {name} {mangled(location)})"
        if kind in facts.openable:
            yield f"(openable {name})"
    for kind in sorted({kind_of(receptacle) for receptacle in room.places}):
        for held in facts.holds[kind]:
            yield f"(canContain {kind}Type {held}Type)"
    for thing, receptacle in room.inside.items():
        yield from _object_facts(mangled(thing), kind_of(thing), facts)
        yield f"(inReceptacle {mangled(thing)} {mangled(receptacle)})"
        yield f"(objectAtLocation {mangled(thing)} {mangled(room.places[receptacle])})"


def _object_facts(name: str, kind: str, facts: Facts) -> Iterator[str]:
    yield f"(objectType {name} {kind}Type)"
    yield f"(toggleable {name})" if kind in facts.able["Toggleable"] else f"(pickupable {name})"
    if kind in facts.movable:
        yield f"(isReceptacleObject {name})"
    for ability, predicate in _ABILITIES.items():
        if kind in facts.able[ability]:
            yield f"({predicate} {name})"
