"""The models of a graph file: nodes with their branches and loops, and the file as a whole."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    JsonValue,
    PrivateAttr,
    model_validator,
)

from planbook.planner.graph.answers import ANY_TEXT, Shape, shape_of
from planbook.planner.graph.database import GraphDatabase, paths_of
from planbook.planner.graph.templating import DATABASE, Expression, LookUp, Template

ROLE = "graph"
"""The role of a node that names no model."""
ANSWER = "answer"
"""The name of a node's own answer, in its branches, its loop and what it stores."""
HOOKS = ("compose", "check", "finish")
MOST = 20
"""Items that a loop goes through, unless it says otherwise."""


def _as_list(written: Any) -> Any:
    return [written] if isinstance(written, str) else written


def _as_store(written: Any) -> Any:
    return {written: ANSWER} if isinstance(written, str) else written


def _template(written: Any) -> Any:
    if isinstance(written, str) and not written.strip():
        raise ValueError("this is empty; write what the model is asked")
    return Template.of(written) if isinstance(written, str) else written


def _expression(written: Any) -> Any:
    return Expression.of(written) if isinstance(written, str) else written


def _named(written: Any) -> Any:
    """Give each node its name. Raises ValueError where one has a key of that name."""
    if not isinstance(written, Mapping):
        return written
    for name, each in written.items():
        if isinstance(each, Mapping) and "name" in each:
            raise ValueError(f"{name}: a node's name is what stands before its colon; leave `name` out")
    return {name: {**each, "name": str(name)} if isinstance(each, Mapping) else each for name, each in written.items()}


Names = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
Prompt = Annotated[InstanceOf[Template], BeforeValidator(_template)]
Value = Annotated[InstanceOf[Expression], BeforeValidator(_expression)]
Expect = Annotated[InstanceOf[Shape], BeforeValidator(shape_of)]


class _GraphModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


class BaseNode(_GraphModel):
    """What every node has. Hooks are named as in a graph file."""

    name: str
    prompt: Prompt
    after: Names = ()
    """The nodes whose answers it is told, in this order."""
    model: str = ROLE
    expect: Expect = ANY_TEXT
    compose: str | None = None
    check: str | None = None
    finish: str | None = None

    @property
    def hooks(self) -> Mapping[str, str]:
        """The hooks that it names, by key."""
        return {key: name for key in HOOKS if (name := getattr(self, key))}


class EachLoop(_GraphModel):
    """FOR: a node for every item of a list."""

    items: Value = Field(alias="in")
    """Where the list is: ``answer.steps`` or ``db.path``."""
    name: str = Field(alias="as", default="item")
    """The variable of the item."""
    node: BaseNode
    store: str | None = None
    """Where the list of their answers goes."""
    before: Names = ()
    most: int = Field(default=MOST, ge=1)


class IfBranch(_GraphModel):
    """IF: nodes that are added for this pass where the condition holds.

    The nodes in ``before`` wait for them, and are told the answers of those that no other of them waits for.
    """

    when: Value
    nodes: Annotated[dict[str, "GraphNode"], BeforeValidator(_named)] = Field(min_length=1)
    before: Names = ()


class GraphNode(BaseNode):
    """One question to a model, and what becomes of its answer."""

    store: Annotated[dict[str, Value], BeforeValidator(_as_store)] = {}
    """GraphDatabase path to the part of the answer that is stored there: ``answer``, or ``answer.field``."""
    when: Value | None = None
    every: int = Field(default=1, ge=1)
    otherwise: JsonValue = Field(alias="else", default=None)
    """The answer of a node that is skipped and has none yet."""
    branches: tuple[IfBranch, ...] = Field(alias="if", default=())
    loop: EachLoop | None = Field(alias="each", default=None)
    _given: Mapping[str, JsonValue] = PrivateAttr(default_factory=dict)
    _gather: str | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _with_named_loop(cls, written: Any) -> Any:
        if not (isinstance(written, Mapping) and isinstance(loop := written.get("each"), Mapping)):
            return written
        inner = loop.get("node")
        if not isinstance(inner, Mapping) or "name" in inner:
            return written
        name = f"{written.get('name')}:{loop.get('as', 'item')}"
        return {**written, "each": {**loop, "node": {**inner, "name": name}}}

    @classmethod
    def of_item(cls, node: "GraphNode", loop: EachLoop, number: int | str, item: JsonValue) -> "GraphNode":
        """Return the node that is asked for one item of a loop."""
        made = cls.model_construct(**{**dict(loop.node), "name": f"{node.name}:{number}"})
        made._given, made._gather = {**node._given, loop.name: item}, loop.store
        return made

    @property
    def given(self) -> Mapping[str, JsonValue]:
        """Variables of its prompt beside the database and the answers of nodes: the item of its loop."""
        return self._given

    @property
    def gather(self) -> str | None:
        """Of a node of a loop: the list in the database that its answer is added to."""
        return self._gather

    def within(self) -> Iterator["BaseNode"]:
        """Yield the node itself, and all those of its branches and its loop."""
        yield self
        for branch in self.branches:
            for node in branch.nodes.values():
                yield from node.within()
        if self.loop:
            yield self.loop.node

    @property
    def needs(self) -> frozenset[str]:
        """The nodes that must come before it without its being told their answers: condition and prompt use them."""
        names = self.prompt.names | (self.when.names if self.when else frozenset())
        return frozenset(names - {DATABASE, ANSWER, *self._given, *self.after})

    def look_ups(self) -> Iterator[LookUp]:
        """Yield every look-up of its own and of its branches and loop."""
        sources = [self.prompt, self.when, *self.store.values(), *(branch.when for branch in self.branches)]
        sources += [self.loop.items, self.loop.node.prompt] if self.loop else []
        for source in filter(None, sources):
            yield from source.look_ups


class GraphFile(_GraphModel):
    """A graph file. A graph and a database are made anew for each pass or episode that asks for one."""

    name: str
    about: str = ""
    steps: int | None = Field(default=None, ge=1)
    """Passes of an episode at most; None is as many as the episode lasts."""
    manual: str | None = None
    guidance: str | None = None
    inputs: dict[str, str] = {}
    """What whoever runs the graph gives it, by database path, with a description."""
    database: dict[str, JsonValue] = {}
    nodes: Annotated[dict[str, GraphNode], BeforeValidator(_named)] = Field(min_length=1)
    code: str | None = None
    """The node whose answer is the plan code of a step."""
    _hooks: Mapping[str, Callable[..., Any]] = PrivateAttr(default_factory=dict)

    @property
    def hooks(self) -> Mapping[str, Callable[..., Any]]:
        """The functions of the hooks, by the names that nodes have for them."""
        return self._hooks

    @property
    def initial(self) -> dict[str, JsonValue]:
        """The values of the database at the beginning."""
        texts = {"manual": self.manual, "guidance": self.guidance}
        return {**self.database, **{name: text for name, text in texts.items() if text is not None}}

    def new_database(self) -> GraphDatabase:
        """Return a database with the initial values."""
        return GraphDatabase(self.initial)

    @property
    def every_node(self) -> tuple[BaseNode, ...]:
        """All nodes, those of branches and loops among them."""
        return tuple(inner for node in self.nodes.values() for inner in node.within())

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that are asked."""
        return tuple(dict.fromkeys(node.model for node in self.every_node))

    @property
    def looked_up(self) -> tuple[str, ...]:
        """The paths of the database that are looked up; hooks may look up more."""
        nodes = [node for node in self.every_node if isinstance(node, GraphNode)]
        paths = (each.path.partition(".") for node in nodes for each in node.look_ups())
        return tuple(dict.fromkeys(path for first, _, path in paths if first == DATABASE))

    @property
    def known_paths(self) -> tuple[str, ...]:
        """Every path of the database that the file names: given, stored or looked up."""
        nodes = [node for node in self.every_node if isinstance(node, GraphNode)]
        stored = [path for node in nodes for path in node.store]
        stored += [node.loop.store for node in nodes if node.loop and node.loop.store]
        return tuple(dict.fromkeys([*self.inputs, *paths_of(self.initial), *stored, *self.looked_up]))
