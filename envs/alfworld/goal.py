"""Whether a game's goal holds in a state: a join over its conditions."""

from collections.abc import Callable, Iterable, Mapping

from planbook.envs.alfworld.scene import Literal, Scene, State
from planbook.envs.errors import WorldBroken

Fact = tuple[str, ...]

_CHANGING: dict[str, Callable[[State], Iterable[Fact]]] = {
    "isclean": lambda state: zip(state.clean),
    "ishot": lambda state: zip(state.hot),
    "iscool": lambda state: zip(state.cool),
    "issliced": lambda state: zip(state.sliced),
    "istoggled": lambda state: zip(state.toggled),
    "holds": lambda state: [("agent1", state.holding)] if state.holding else [],
    "inreceptacle": lambda state: state.inside,
    "atlocation": lambda state: [("agent1", state.at)],
}
"""Predicates that change, in the order in which they are worth looking at: what is rarely true comes first."""
_FIXED_PAIRS: dict[str, Callable[[Scene], Iterable[Fact]]] = {
    "receptacleatlocation": lambda scene: scene.places.items(),
    "inreceptacleobject": lambda scene: scene.contained,
}


class Goal:
    """A scene's goal. Unary and type conditions become the sets that a variable may take; the rest is joined."""

    def __init__(self, scene: Scene) -> None:
        self._domains: dict[str, frozenset[str]] = {}
        self._joined: list[Literal] = []
        self._unequal = scene.unequal
        self._fixed = {name: list(facts(scene)) for name, facts in _FIXED_PAIRS.items()}
        for literal in scene.goal:
            self._take(literal, scene)
        order = [*_CHANGING, *_FIXED_PAIRS]
        self._joined.sort(key=lambda literal: order.index(literal.predicate))

    def _take(self, literal: Literal, scene: Scene) -> None:
        name, arguments = literal
        if (name in _CHANGING or name in _FIXED_PAIRS) and all(argument.startswith("?") for argument in arguments):
            self._joined.append(literal)
        elif name in ("objecttype", "receptacletype"):
            self._limit(arguments[0], frozenset(entity for entity, kind in scene.kinds.items() if kind == arguments[1]))
        elif len(arguments) == 1:
            self._limit(arguments[0], scene.has(name))
        else:
            raise WorldBroken(
                f"alfworld: the direct engine cannot judge the goal condition {name}; choose the engine 'textworld'"
            )

    def _limit(self, variable: str, allowed: frozenset[str]) -> None:
        self._domains[variable] = self._domains.get(variable, allowed) & allowed

    def holds(self, state: State) -> bool:
        """Whether some choice of entities meets every condition."""
        return self._extend(state, 0, {})

    def _extend(self, state: State, index: int, bound: dict[str, str]) -> bool:
        if index == len(self._joined):
            return all(bound[first] != bound[second] for first, second in self._unequal)
        name, arguments = self._joined[index]
        facts = _CHANGING[name](state) if name in _CHANGING else self._fixed[name]
        for fact in facts:
            if (extended := self._unify(arguments, fact, bound)) and self._extend(state, index + 1, extended):
                return True
        return False

    def _unify(self, arguments: Fact, fact: Fact, bound: Mapping[str, str]) -> dict[str, str] | None:
        extended = dict(bound)
        for argument, value in zip(arguments, fact, strict=True):
            allowed = self._domains.get(argument)
            if (allowed is not None and value not in allowed) or extended.setdefault(argument, value) != value:
                return None
        return extended
