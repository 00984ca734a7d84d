"""The models of a graph file: nodes with their branches and loops, and the file as a whole."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    JsonValue,
    PrivateAttr,
    ValidationInfo,
    field_validator,
)

from planbook.planner.graph.answers import ANY_TEXT, CODE, TEXT, Shape, shape_of
from planbook.planner.graph.database import GraphDatabase, paths_of
from planbook.planner.graph.templating import DATABASE, Expression, LookUp, Template

ROLE = "graph"
"""The role of a node that names no model."""
ANSWER = "answer"
"""The name of a node's own answer in its branches, its loop and its ``store``."""
HOOKS = ("compose", "check", "finish")
DEFAULT_MAX_ITEMS = 20
"""Default for the maximum number of a loop's items."""
OLD_LOOK_UP = re.compile(r"\$db(\.[\w-]+)*(\|[^$\n]*)?\$")
"""A look-up in the format of planbook 0.1. It would reach the model unfilled."""


def _as_list(written: Any) -> Any:
    return [written] if isinstance(written, str) else written


def _as_store(written: Any) -> Any:
    return {written: ANSWER} if isinstance(written, str) else written


def _template(written: Any) -> Any:
    if isinstance(written, str) and not written.strip():
        raise ValueError("this is empty; write what the model is asked")
    if isinstance(written, str) and (old := OLD_LOOK_UP.search(written)):
        raise ValueError(f"{old[0]} is a look-up of planbook 0.1; write it in Jinja, such as {{{{ db.plan }}}}")
    return Template.of(written) if isinstance(written, str) else written


def _expression(written: Any) -> Any:
    return Expression.of(written) if isinstance(written, str) else written


def _with_names(written: Any) -> Any:
    """Give each node its name. Raises ValueError if one has a key ``name``."""
    if not isinstance(written, Mapping):
        return written
    for name, node in written.items():
        if isinstance(node, Mapping) and "name" in node:
            raise ValueError(f"{name}: a node's name is what stands before its colon; leave `name` out")
    return {name: {**node, "name": str(name)} if isinstance(node, Mapping) else node for name, node in written.items()}


Names = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
Prompt = Annotated[InstanceOf[Template], BeforeValidator(_template)]
Value = Annotated[InstanceOf[Expression], BeforeValidator(_expression)]
Expect = Annotated[InstanceOf[Shape], BeforeValidator(shape_of)]


class _GraphModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


class BaseNode(_GraphModel):
    """The fields of every node. Hooks are named as in a graph file."""

    name: str = ""
    """Empty for the node of a loop; its nodes are named by item."""
    prompt: Prompt
    after: Names = ()
    """The nodes whose answers precede its prompt, in this order."""
    model: str = ROLE
    expect: Expect = ANY_TEXT
    compose: str | None = None
    check: str | None = None
    finish: str | None = None

    @property
    def hooks(self) -> Mapping[str, str]:
        """The names of its hooks, by key."""
        return {key: name for key in HOOKS if (name := getattr(self, key))}


class EachLoop(_GraphModel):
    """FOR: a node for every item of a list."""

    items: Value = Field(alias="in")
    """The place of the list: ``answer.steps`` or ``db.path``."""
    name: str = Field(alias="as", default="item")
    """The variable of the item."""
    node: BaseNode
    store: str | None = None
    """Database path at which the list of the answers is stored."""
    before: Names = ()
    most: int = Field(default=DEFAULT_MAX_ITEMS, ge=1)


class IfBranch(_GraphModel):
    """IF: nodes that are added for this pass if the condition holds.

    The nodes in ``before`` wait for them, and get the answers of those that no other node of the branch waits for.
    """

    when: Value
    nodes: Annotated[dict[str, "GraphNode"], BeforeValidator(_with_names)] = Field(min_length=1)
    before: Names = ()


class GraphNode(BaseNode):
    """One question to a model, and the uses of its answer."""

    name: str
    store: Annotated[dict[str, Value], BeforeValidator(_as_store)] = {}
    """Parts of the answer, such as ``answer.field``, by the database path at which they are stored."""
    when: Value | None = None
    every: int = Field(default=1, ge=1)
    otherwise: JsonValue = Field(alias="else", default=None)
    """The answer of a node that is skipped and has none yet."""
    branches: tuple[IfBranch, ...] = Field(alias="if", default=())
    loop: EachLoop | None = Field(alias="each", default=None)
    _loop_variables: Mapping[str, JsonValue] = PrivateAttr(default_factory=dict)
    _gather: str | None = PrivateAttr(default=None)

    @field_validator("otherwise")
    @classmethod
    def _as_expected(cls, answer: JsonValue, info: ValidationInfo) -> JsonValue:
        """Return the answer in the form of ``expect``. A text or code may be empty here."""
        expect = info.data.get("expect")  # missing if it is faulty itself
        if answer is None or expect is None or (answer == "" and expect.kind in (TEXT, CODE)):
            return answer
        try:
            value: JsonValue = expect.check(answer)
        except ValueError as error:
            raise ValueError(f"this does not fit `expect`: {error}") from None
        return value

    @classmethod
    def of_item(cls, node: "GraphNode", loop: EachLoop, number: int | str, item: JsonValue) -> "GraphNode":
        """Return the node that is asked for one item of a loop."""
        item_node = cls.model_construct(**{**dict(loop.node), "name": f"{node.name}:{number}"})
        item_node._loop_variables, item_node._gather = {**node._loop_variables, loop.name: item}, loop.store
        return item_node

    @property
    def loop_variables(self) -> Mapping[str, JsonValue]:
        """The items of the loops that it is in, by name, for its prompt."""
        return self._loop_variables

    @property
    def gather(self) -> str | None:
        """Database path of the list to which a node of a loop appends its answer; None for other nodes."""
        return self._gather

    def nested_nodes(self) -> Iterator["BaseNode"]:
        """Yield the node itself, and all nodes of its branches and its loop."""
        yield self
        for branch in self.branches:
            for node in branch.nodes.values():
                yield from node.nested_nodes()
        if self.loop:
            yield self.loop.node

    @property
    def needs(self) -> frozenset[str]:
        """The nodes that its prompt or its condition uses, without those in ``after``."""
        names = self.prompt.names | (self.when.names if self.when else frozenset())
        return frozenset(names - {DATABASE, ANSWER, *self._loop_variables, *self.after})

    def look_ups(self) -> Iterator[LookUp]:
        """Yield every look-up of the node, its branches and its loop."""
        sources = [self.prompt, self.when, *self.store.values(), *(branch.when for branch in self.branches)]
        sources += [self.loop.items, self.loop.node.prompt] if self.loop else []
        for source in filter(None, sources):
            yield from source.look_ups


class GraphFile(_GraphModel):
    """A graph file. Each episode creates its own graph and database from it."""

    name: str
    about: str = ""
    steps: int | None = Field(default=None, ge=1)
    """Maximum number of passes in an episode; None if only the episode limits them."""
    manual: str | None = None
    guidance: str | None = None
    inputs: dict[str, str] = {}
    """Descriptions of the values that the user of the graph gives, by database path."""
    database: dict[str, JsonValue] = {}
    nodes: Annotated[dict[str, GraphNode], BeforeValidator(_with_names)] = Field(min_length=1)
    code: str | None = None
    """The node whose answer is the plan code of a step."""
    _find_hook: Callable[[str], Callable[..., Any]] = PrivateAttr()

    @cached_property
    def hooks(self) -> Mapping[str, Callable[..., Any]]:
        """The hook functions, by their names in the file. The first use executes their files. Raises GraphError."""
        names = dict.fromkeys(hook for node in self.every_node for hook in node.hooks.values())
        return {name: self._find_hook(name) for name in names}

    @property
    def initial(self) -> dict[str, JsonValue]:
        """The initial values of the database."""
        texts = {"manual": self.manual, "guidance": self.guidance}
        return {**self.database, **{name: text for name, text in texts.items() if text is not None}}

    def new_database(self) -> GraphDatabase:
        """Return a database with the initial values."""
        return GraphDatabase(self.initial)

    @property
    def every_node(self) -> tuple[BaseNode, ...]:
        """All nodes, including those of branches and loops."""
        return tuple(inner for node in self.nodes.values() for inner in node.nested_nodes())

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that are asked."""
        return tuple(dict.fromkeys(node.model for node in self.every_node))

    @property
    def looked_up(self) -> tuple[str, ...]:
        """The paths of the database that are looked up; hooks may look up more."""
        paths = (look_up.path.partition(".") for node in self._graph_nodes for look_up in node.look_ups())
        return tuple(dict.fromkeys(path for first, _, path in paths if first == DATABASE))

    @property
    def known_paths(self) -> tuple[str, ...]:
        """Every path of the database in the file: given, stored or looked up."""
        stored = [path for node in self._graph_nodes for path in node.store]
        stored += [node.loop.store for node in self._graph_nodes if node.loop and node.loop.store]
        return tuple(dict.fromkeys([*self.inputs, *paths_of(self.initial), *stored, *self.looked_up]))

    @property
    def _graph_nodes(self) -> list[GraphNode]:
        return [node for node in self.every_node if isinstance(node, GraphNode)]
