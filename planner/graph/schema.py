"""The schema of a graph file, key by key, and the nodes that it means."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from planbook.planner.graph.condition import ANSWER, Condition, condition_of
from planbook.planner.graph.lookups import nearest
from planbook.planner.graph.node import MOST, ROLE, IfBranch, Loop, Node
from planbook.planner.graph.shape import Shape, shape_of
from planbook.planner.graph.yaml_tree import Fault, Where, YamlTree, dotted

Sheet = TypeVar("Sheet", bound=BaseModel)


def _as_list(written: Any) -> Any:
    return [written] if isinstance(written, str) else written


def _as_store(written: Any) -> Any:
    return {written: ANSWER} if isinstance(written, str) else written


Names = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
When = Annotated[Condition, BeforeValidator(condition_of)]
Expect = Annotated[Shape, BeforeValidator(shape_of)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, frozen=True)


class LoopNodeSheet(_Part):
    """The node that is asked for each item."""

    prompt: str = Field(min_length=1)
    after: Names = ()
    model: str = ROLE
    expect: Expect = Shape()
    compose: str | None = None
    check: str | None = None
    finish: str | None = None


class LoopSheet(_Part):
    """``each:`` of a node."""

    items: str = Field(alias="in")
    name: str = Field(alias="as", default="item")
    node: LoopNodeSheet
    store: str | None = None
    before: Names = ()
    most: int = Field(default=MOST, ge=1)


class BranchSheet(_Part):
    """One of a node's ``if:``."""

    when: When
    nodes: dict[str, "NodeSheet"] = Field(min_length=1)
    before: Names = ()


class NodeSheet(LoopNodeSheet):
    """One of ``nodes:``."""

    store: Annotated[dict[str, str], BeforeValidator(_as_store)] = {}
    when: When | None = None
    every: int = Field(default=1, ge=1)
    otherwise: JsonValue = Field(alias="else", default=None)
    branches: tuple[BranchSheet, ...] = Field(alias="if", default=())
    each: LoopSheet | None = None

    def node(self, name: str) -> Node:
        """The node of that name that the sheet means."""
        plain = ("prompt", "after", "model", "expect", "store", "when", "every", "otherwise")
        return Node(
            name=name,
            branches=tuple(_branch(each) for each in self.branches),
            loop=_loop(name, self.each) if self.each else None,
            **{key: getattr(self, key) for key in (*plain, *HOOKS)},
        )


HOOKS = ("compose", "check", "finish")


class GraphSheet(_Part):
    """The whole file; its nodes are validated one by one, so that a fault in one hides none in another."""

    about: str = ""
    steps: int | None = Field(default=None, ge=1)
    manual: str | None = None
    guidance: str | None = None
    inputs: dict[str, str] = {}
    database: dict[str, JsonValue] = {}
    nodes: dict[str, Any] = Field(min_length=1)
    code: str | None = None

    def told(self) -> dict[str, JsonValue]:
        """Texts that prompts find in the database under these names."""
        texts = {"manual": self.manual, "guidance": self.guidance}
        return {name: text for name, text in texts.items() if text is not None}


class Placed(NamedTuple):
    """A node, where it stands in the file, and the names of those beside and around it that it may wait for."""

    node: Node
    where: Where
    around: frozenset[str]
    branch: tuple[str, int] | None = None
    """The node whose branch it is in, and which of the branches."""


def read_sheet(tree: YamlTree, faults: list[Fault]) -> tuple[GraphSheet | None, list[Placed]]:
    """The file's own keys and all its nodes, as far as they can be read; what is wrong is added to the faults.

    Of a part with faults the rest is kept, so that whatever else is wrong is told at once.
    """
    if not isinstance(tree.value, dict):
        faults.append(Fault(1, "", "a graph file is a mapping; it begins with `nodes:`"))
        return None, []
    sheet = _validated(GraphSheet, tree.value, (), tree, faults)
    written = tree.value.get("nodes")
    named = written if isinstance(written, dict) else {}
    placed: list[Placed] = []
    for name, each in named.items():
        where: Where = ("nodes", name)
        if node := _validated(NodeSheet, each, where, tree, faults):
            placed += _placed(node.node(name), where, frozenset(named))
    return sheet, placed


def _placed(
    node: Node, where: Where, around: frozenset[str], branch: tuple[str, int] | None = None
) -> Iterator[Placed]:
    yield Placed(node, where, around, branch)
    for number, each in enumerate(node.branches):
        names = around | {inner.name for inner in each.nodes}
        for inner in each.nodes:
            yield from _placed(inner, (*where, "if", number, "nodes", inner.name), names, (node.name, number))


def _branch(sheet: BranchSheet) -> IfBranch:
    nodes = tuple(node.node(name) for name, node in sheet.nodes.items())
    return IfBranch(sheet.when, nodes, sheet.before)


def _loop(name: str, sheet: LoopSheet) -> Loop:
    node = Node(name=f"{name}:{sheet.name}", **dict(sheet.node))
    return Loop(sheet.items, sheet.name, node, sheet.store, sheet.before, sheet.most)


def _validated(model: type[Sheet], value: Any, where: Where, tree: YamlTree, faults: list[Fault]) -> Sheet | None:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for each in error.errors():
            place = (*where, *each["loc"])
            if place[-1] == "[key]":
                place = place[:-1]
            faults.append(Fault(tree.line(place), dotted(place), _said(each, model, where)))
        lost = {each["loc"][0] for each in error.errors() if each["loc"]}
        return _rest(model, value, lost) if isinstance(value, dict) else None


def _rest(model: type[Sheet], value: Mapping[str, Any], lost: set[str | int]) -> Sheet:
    """What is left without the keys that have faults; of what is lost, nothing more can be said."""
    kept = {key: each for key, each in value.items() if key not in lost}
    stand_ins = {key: _STAND_INS[key] for key in _keys(model) if key in lost and key in _STAND_INS}
    return model.model_validate({**kept, **stand_ins})


def _said(error: Mapping[str, Any], model: type[BaseModel], where: Where) -> str:
    """What is wrong, in the words of somebody who writes a file and not a program."""
    kind, last = error["type"], error["loc"][-1] if error["loc"] else "graph"
    if kind == "extra_forbidden":
        known = _keys(_model_at(model, error["loc"][:-1]))
        return f"there is no such key{nearest(str(last), known)} There are {', '.join(known)}"
    if kind == "value_error":
        return str(error["ctx"]["error"])
    return str(_WORDS.get(kind, error["msg"]))


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_at(model: type[BaseModel], place: Where) -> type[BaseModel]:
    """The part of the schema that a place of the file belongs to."""
    for key in place:
        if key in _PARTS:
            model = _PARTS[str(key)]
    return model


_STAND_INS: Mapping[str, Any] = {"prompt": "?", "expect": "any", "nodes": {"?": None}}
_PARTS: Mapping[str, type[BaseModel]] = {
    "if": BranchSheet,
    "each": LoopSheet,
    "nodes": NodeSheet,
    "node": LoopNodeSheet,
}
_WORDS = {
    "missing": "this has to be given",
    "string_type": "this must be a text; put it in quotes, or begin it with | and go on in the next line",
    "string_too_short": "this is empty; write what the model is asked",
    "dict_type": "this must be a mapping: names, each with a colon and what it means",
    "model_type": "this must be a mapping: names, each with a colon and what it means",
    "tuple_type": "this must be a list: [a, b], or a line with a dash for each",
    "int_type": "this must be a whole number",
    "int_parsing": "this must be a whole number",
    "greater_than_equal": "this must be 1 or more",
    "too_short": "there is nothing in it; at least one node is needed",
}
