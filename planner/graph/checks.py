"""What only the whole of a graph file shows: names that do not exist, cycles, look-ups of what nothing sets."""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from planbook.planner.errors import GraphError
from planbook.planner.graph.condition import ANSWER, Condition
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import hook_problem
from planbook.planner.graph.known import Known
from planbook.planner.graph.lookups import DATABASE, PATH, look_ups, nearest, unclosed, unknown
from planbook.planner.graph.node import Node
from planbook.planner.graph.schema import HOOKS, GraphSheet, Placed
from planbook.planner.graph.shape import ANY, CODE, LIST, Shape
from planbook.planner.graph.yaml_tree import Fault, Where, YamlTree, dotted

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
RESERVED = (DATABASE, ANSWER, "any", "all", "not")
Found = tuple[Where, str]


def faults_of(sheet: GraphSheet, placed: list[Placed], tree: YamlTree, folder: Path, *, sure: bool) -> Iterator[Fault]:
    """Every fault of a file that the schema does not show; not ``sure`` where parts of the file were no use."""
    known = Known(sheet, placed, sure=sure)
    found: list[Found] = [*_whole(sheet, placed, tree), *_stores(placed, known)]
    for each in placed:
        found += [*_names(each), *_edges(each, known), *_texts(each, known), *_conditions(each, known)]
        found += [*_answers(each), *_hooks(each, folder)]
    for where, message in found:
        yield Fault(tree.line(where), dotted(where), message)


def _whole(sheet: GraphSheet, placed: list[Placed], tree: YamlTree) -> Iterator[Found]:
    written = tree.value.get("nodes") or {}
    if sheet.code is not None and sheet.code not in written:
        yield ("code",), f"there is no node {sheet.code}{nearest(sheet.code, written)}"
    names: dict[str, Where] = {}
    for node, where, *_ in placed:
        if sheet.code == node.name and len(where) == 2 and node.expect.kind != CODE:
            yield (*where, "expect"), "its answer is the plan code of the step, by `code:`; write expect: code"
        if node.name in names:
            yield where, f"there is a node {node.name} in line {tree.line(names[node.name])} already; name it otherwise"
        names.setdefault(node.name, where)
    for path in sheet.inputs:
        if not PATH.fullmatch(path):
            yield ("inputs", path), f"{path!r} is no path of the database; write names with dots between them"
    if len(names) == len(placed):
        yield from _cycles(placed)


def _cycles(placed: list[Placed]) -> Iterator[Found]:
    """Of the whole graph with every branch taken: what cannot go wrong then never can."""
    there = {each.node.name for each in placed}
    graph = Graph(*(each.node for each in placed))
    for each in placed:
        if each.branch:
            graph.add_edge(each.branch[0], each.node.name, told=False)
        for branch in each.node.branches:
            for name in branch.before:
                for node in branch.nodes:
                    graph.add_edge(node.name, name)
    for missing in {name for edge in graph.edges() for name in edge[:2]} - there:
        graph.add_node(Node(missing, ""))  # told elsewhere
    try:
        graph.layers()
    except GraphError as error:
        first = str(error).partition("cycle: ")[2].partition(" ")[0]
        where = next(each.where for each in placed if each.node.name == first)
        yield where, str(error)


def _names(each: Placed) -> Iterator[Found]:
    name = each.node.name
    if not NAME.fullmatch(name):
        yield each.where, f"{name!r} cannot be the name of a node: write letters, digits, _ and -, a letter first"
    if name in RESERVED:
        yield each.where, f"{name} means something else in conditions; give the node another name"
    loop = each.node.loop
    if loop and (not loop.name.isidentifier() or loop.name == DATABASE):
        yield (*each.where, "each", "as"), f"{loop.name!r} cannot stand for the items; write one word, such as item"


def _edges(each: Placed, known: Known) -> Iterator[Found]:
    node, where = each.node, each.where
    yield from _known_nodes(node.after, (*where, "after"), each, known)
    if node.name in node.after:
        yield (*where, "after"), f"{node.name} cannot wait for itself"
    for number, branch in enumerate(node.branches):
        yield from _known_nodes(branch.before, (*where, "if", number, "before"), each, known)
    if node.loop:
        yield from _known_nodes(node.loop.before, (*where, "each", "before"), each, known)
        yield from _known_nodes(node.loop.node.after, (*where, "each", "node", "after"), each, known)


def _known_nodes(names: tuple[str, ...], where: Where, each: Placed, known: Known) -> Iterator[Found]:
    for name in names:
        if name in each.around:
            continue
        if branch := known.branch_of(name):
            yield (
                where,
                f"{name} is only there where {branch} branches; write before: [{each.node.name}] in that branch",
            )
        else:
            yield where, f"there is no node {name}{nearest(name, each.around)}"


def _texts(each: Placed, known: Known) -> Iterator[Found]:
    yield from _prompt(each.node, (*each.where, "prompt"), (DATABASE,), known)
    if loop := each.node.loop:
        yield from _prompt(loop.node, (*each.where, "each", "node", "prompt"), (DATABASE, loop.name), known)


def _prompt(node: Node, where: Where, names: tuple[str, ...], known: Known) -> Iterator[Found]:
    for text in unclosed(node.prompt, names):
        yield where, f"{text} begins a look-up that does not end; write {text.rstrip('.,;:!?')}$"
    for each in unknown(node.prompt, names):
        if meant := known.meant(each, item=names[-1] if len(names) > 1 else ""):
            yield where, f"{each.text} looks nothing up and would stand as it is; did you mean {meant}?"
    for each in look_ups(node.prompt, names):
        if each.name == DATABASE and each.otherwise is None and (problem := known.problem(each.path)):
            yield where, f"{each.text}: {problem}"


def _conditions(each: Placed, known: Known) -> Iterator[Found]:
    node, where = each.node, each.where
    if node.when:
        yield from _condition(node.when, (*where, "when"), each, known, None)
    for number, branch in enumerate(node.branches):
        yield from _condition(branch.when, (*where, "if", number, "when"), each, known, node.expect)


def _condition(condition: Condition, where: Where, each: Placed, known: Known, own: Shape | None) -> Iterator[Found]:
    for test in condition.tests():
        first, _, rest = test.name.partition(".")
        if first == DATABASE:
            if problem := known.problem(rest):
                yield where, f"{test.name}: {problem}"
            continue
        shape = own if first == ANSWER else known.shape(first) if first in each.around else None
        if shape is None:
            alike = nearest(first, [*each.around, DATABASE, *([ANSWER] if own else [])])
            yield where, f"{test.name}: there is no node {first}{alike} Of the database write {DATABASE}.{test.name}"
            continue
        try:
            part = shape.part(rest)
        except KeyError as error:
            yield where, f"{test.name}: its answer has no {error.args[0]}; expected is {shape.sketch()}"
            continue
        if test.word in ("is", "not", "in", "not_in"):
            yield from _values(test.name, part, test.value if test.word.endswith("in") else [test.value], where)


def _values(name: str, shape: Shape, values: object, where: Where) -> Iterator[Found]:
    """A value that the answer can never have."""
    for value in values if isinstance(values, list) else []:
        try:
            free = value is None or shape.kind in (CODE, ANY)
            fits = free or (not isinstance(value, bool) and shape.check(value) is not None)
        except ValueError:
            fits = False
        if not fits:
            yield where, f"{name} is never {str(value).lower()}; it is {shape.sketch().strip('<>')}"


def _stores(placed: list[Placed], known: Known) -> Iterator[Found]:
    for where, path, shape, part in known.stored():
        first, _, rest = part.partition(".")
        if not PATH.fullmatch(path):
            yield where, f"{path!r} is no path of the database; write names with dots between them"
        if first != ANSWER:
            yield where, f"{part!r}: what is stored is the answer; write answer, or answer.field"
            continue
        try:
            shape.part(rest)
        except KeyError as error:
            yield where, f"{part}: the answer has no {error.args[0]}; expected is {shape.sketch()}"
    for one, other in combinations(known.places(), 2):
        if problem := known.clash(one, other):
            yield other.where, problem
    for place in known.places():
        if value := known.in_the_way(place.path):
            yield (
                place.where,
                f"{place.path} cannot be stored: {value} is a value in `database:`, not a group of values",
            )


def _answers(each: Placed) -> Iterator[Found]:
    node, where = each.node, each.where
    if node.otherwise not in (None, ""):
        try:
            node.expect.check(node.otherwise)
        except ValueError as error:
            yield (*where, "else"), f"this is not as the answer is expected: {error}"
    if node.loop is None:
        return
    first, _, rest = node.loop.items.partition(".")
    if first not in (ANSWER, DATABASE) or (first == DATABASE and not rest):
        yield (*where, "each", "in"), "write answer, answer.field or db.path: where the list is"
    elif first == ANSWER:
        try:
            fits = node.expect.part(rest).kind in (LIST, ANY)
        except KeyError:
            fits = False
        if not fits:
            yield (*where, "each", "in"), f"{node.loop.items} is no list; expected is {node.expect.sketch()}"


def _hooks(each: Placed, folder: Path) -> Iterator[Found]:
    inner = [(each.node.loop.node, (*each.where, "each", "node"))] if each.node.loop else []
    for node, where in ((each.node, each.where), *inner):
        for key in HOOKS:
            if (name := getattr(node, key)) and (problem := hook_problem(name, folder)):
                yield (*where, key), problem
