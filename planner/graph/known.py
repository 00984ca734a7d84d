"""What a graph file lets one know beforehand: which nodes there are, and which paths of the database are ever set."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple

from planbook.planner.graph.condition import ANSWER
from planbook.planner.graph.lookups import DATABASE, LookUp, nearest, paths_of
from planbook.planner.graph.schema import GraphSheet, Placed
from planbook.planner.graph.shape import ANY, Shape
from planbook.planner.graph.yaml_tree import Where

OF_AN_AGENT = ("world", "last", "step")
"""What stands in the database of a graph that plays a world, one whose answer is plan code."""

ALIKE = 0.7
"""How alike what is between two dollar signs must be to a look-up to be taken for a slip of the pen; at most 1."""


class Place(NamedTuple):
    """A path that a node stores something at."""

    path: str
    node: str
    branch: tuple[str, int] | None
    where: Where


class Known:
    """Read once from all nodes of a file."""

    def __init__(self, sheet: GraphSheet, placed: list[Placed], *, sure: bool) -> None:
        """Not ``sure``: what cannot be found may be in a part of the file that could not be read."""
        self._sure, self._placed = sure, placed
        self._by_name = {each.node.name: each for each in placed}
        self._initial = {**sheet.database, **sheet.told()}
        self._set = {
            path: shape.part(part.partition(".")[2]) for _, path, shape, part in self.stored() if _has(shape, part)
        }
        self._free = {path for each in placed if each.node.loop for path in [each.node.loop.store] if path}
        self._free |= set(sheet.inputs) | set(OF_AN_AGENT if sheet.code is not None else ())

    def shape(self, name: str) -> Shape | None:
        """What a node's answer looks like; a node that could not be read may answer anything."""
        return self._by_name[name].node.expect if name in self._by_name else Shape(ANY)

    def branch_of(self, name: str) -> str:
        """The node in one of whose branches the named one is, or nothing."""
        branch = self._by_name[name].branch if name in self._by_name else None
        return branch[0] if branch else ""

    def stored(self) -> Iterator[tuple[Where, str, Shape, str]]:
        """Everything that ``store`` keeps: where that is written, the path, the answer's shape, and the part of it."""
        for each in self._placed:
            for path, part in each.node.store.items():
                yield (*each.where, "store", path), path, each.node.expect, part

    def places(self) -> Iterator[Place]:
        """Every path that is stored at, by ``store`` and by loops."""
        for each in self._placed:
            for path in each.node.store:
                yield Place(path, each.node.name, each.branch, (*each.where, "store", path))
            if each.node.loop and each.node.loop.store:
                yield Place(each.node.loop.store, each.node.name, each.branch, (*each.where, "each", "store"))

    @property
    def paths(self) -> list[str]:
        """Every path of the database that the file names where it gives or stores a value."""
        return [*paths_of(self._initial), *self._set, *self._free]

    def is_set(self, path: str) -> bool:
        """Whether the file gives or stores a value there, or below."""
        return any(each == path or each.startswith(f"{path}.") for each in self.paths)

    def meant(self, look_up: LookUp, item: str) -> str:
        """The look-up that something like one is probably meant for, or nothing; ``item`` is a loop's, if any."""
        written = f"{look_up.name}.{look_up.path}".rstrip(".")
        ways = {path: f"${DATABASE}.{path}$" for path in self.paths}
        ways |= {f"{DATABASE}.{path}": way for path, way in ways.items()}
        if item:
            ways[item] = f"${item}$"
        if written in ways:
            return ways[written]
        if any(written.startswith(f"{path}.") for path in self._free):
            return f"${DATABASE}.{written}$"
        alike = get_close_matches(written, ways, n=1, cutoff=ALIKE) or get_close_matches(
            look_up.name, [item], n=1, cutoff=ALIKE
        )
        return ways[alike[0]] if alike else ""

    def problem(self, path: str) -> str:
        """Why a path of the database can never be looked up, if so."""
        if not path:
            return ""
        steps = path.split(".")
        beginnings = [".".join(steps[: number + 1]) for number in range(len(steps))]
        paths = self.paths
        if self.is_set(path):
            return ""
        for beginning in reversed(beginnings):
            if beginning in self._free or self._is_group(beginning):
                return ""
            if beginning in self._set:
                return (
                    ""
                    if _has(self._set[beginning], f"{ANSWER}{path.removeprefix(beginning)}")
                    else (f"what is stored at {beginning} is {self._set[beginning].sketch()}")
                )
        alike = nearest(path, paths)
        if not self._sure and alike == ".":
            return ""
        return f"nothing sets {path}{alike} Store it, or give it a value in `database:` or a line in `inputs:`"

    def in_the_way(self, path: str) -> str:
        """The path of an initial value that is no mapping and stands above this one, or nothing."""
        value: object = self._initial
        way = ""
        for name in path.split(".")[:-1]:
            if not isinstance(value, dict) or name not in value:
                return ""
            value, way = value[name], f"{way}.{name}".strip(".")
            if not isinstance(value, dict):
                return way
        return ""

    def clash(self, one: Place, other: Place) -> str:
        """Why two nodes cannot store what they do, if so: one lies inside the other, or they meet by chance."""
        first, second = f"{one.path}.", f"{other.path}."
        if not (first.startswith(second) or second.startswith(first)):
            return ""
        if one.node == other.node or one.path != other.path:
            return f"{one.node} stores {one.path} and {other.node} stores {other.path}: one would overwrite the other"
        apart = one.branch and other.branch and one.branch[0] == other.branch[0] and one.branch != other.branch
        if apart or self._follows(one.node, other.node) or self._follows(other.node, one.node):
            return ""
        return f"{one.node} stores {one.path} as well, and nothing says which of the two comes last; use another path"

    def _is_group(self, path: str) -> bool:
        """Whether the initial value there is a mapping, which may have been filled since."""
        value: object = self._initial
        for name in path.split("."):
            if not isinstance(value, dict) or name not in value:
                return False
            value = value[name]
        return isinstance(value, dict)

    def _follows(self, later: str, earlier: str) -> bool:
        """Whether the one waits for the other, directly or by way of others."""
        seen, left = set[str](), [later]
        while left:
            name = left.pop()
            if name in seen or name not in self._by_name:
                continue
            seen.add(name)
            each = self._by_name[name]
            left += [*each.node.after, *each.node.needs, *([each.branch[0]] if each.branch else [])]
            left += [other.node.name for other in self._placed if self._leads(other, name)]
        return earlier in seen

    def _leads(self, other: Placed, name: str) -> bool:
        """Whether a branch of the other node, or its loop, comes before the named one."""
        loop = other.node.loop
        return any(name in branch.before for branch in other.node.branches) or bool(loop and name in loop.before)


def _has(shape: Shape, part: str) -> bool:
    try:
        shape.part(part.partition(".")[2])
    except KeyError:
        return False
    return True
