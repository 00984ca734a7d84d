"""Pydantic models for a graph file: its nodes, with their branches and loops, and the file as a whole.

The page docs/graphs.md describes the keys of a graph file. A pass is one run through the graph.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
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

from planbook.planner.graph.database import PATH, GraphDatabase, paths_of
from planbook.planner.graph.shapes import ANY_TEXT, CODE, TEXT, Shape, shape_of
from planbook.planner.graph.template_syntax import LookUp
from planbook.planner.graph.templating import DATABASE, Expression, Template

ROLE = "graph"
"""The role of the model that a node asks if the node does not name a role."""
ANSWER = "answer"
"""The variable that holds a node's own answer. The node's branches, its loop and its ``store`` can use it."""
HOOKS = ("compose", "check", "finish")
DEFAULT_MAX_ITEMS = 20
"""The maximum number of items of a loop, unless the loop sets another."""


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_store(value: Any) -> Any:
    return {value: ANSWER} if isinstance(value, str) else value


_cached_template = lru_cache(maxsize=1_000)(Template)
_cached_expression = lru_cache(maxsize=1_000)(Expression)


def _template(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise ValueError("this is empty; write what the model should be asked")
    return _cached_template(value) if isinstance(value, str) else value


def _expression(value: Any) -> Any:
    return _cached_expression(value) if isinstance(value, str) else value


def _with_names(value: Any) -> Any:
    """Set the ``name`` of each node to its key in the file or, if it has a ``name``, to None, which is refused."""
    if not isinstance(value, Mapping):
        return value
    return {
        key: {**node, "name": None if "name" in node else str(key)} if isinstance(node, Mapping) else node
        for key, node in value.items()
    }


DatabasePath = Annotated[str, Field(pattern=f"^{PATH.pattern}$")]
NameList = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
TemplateField = Annotated[InstanceOf[Template], BeforeValidator(_template)]
ExpressionField = Annotated[InstanceOf[Expression], BeforeValidator(_expression)]
ShapeField = Annotated[InstanceOf[Shape], BeforeValidator(shape_of)]


class _GraphModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


class BaseNode(_GraphModel):
    """The fields that every node has. ``compose``, ``check`` and ``finish`` are names of hooks (Python functions)."""

    name: str = ""
    """Empty for the node of a loop: for each item, it is copied under a new name."""
    prompt: TemplateField
    after: NameList = ()
    """The nodes whose answers are shown above the prompt, in this order."""
    model: str = ROLE
    """The role of the model that is asked."""
    expect: ShapeField = ANY_TEXT
    """The shape (form) that the answer must have."""
    system: TemplateField | None = None
    """The system message, or None if there is none."""
    compose: str | None = None
    check: str | None = None
    finish: str | None = None

    @property
    def hooks(self) -> Mapping[str, str]:
        """Maps each of ``compose``, ``check`` and ``finish`` that the node sets to the name of its hook."""
        return {key: name for key in HOOKS if (name := getattr(self, key))}

    @property
    def texts(self) -> Mapping[str, Template]:
        """The templates of the messages: maps ``prompt`` and, if the node sets it, ``system`` to its template."""
        return {"prompt": self.prompt} | ({"system": self.system} if self.system else {})


class EachLoop(_GraphModel):
    """A loop (``each`` in a graph file). For every item of a list, it adds a node to the current pass."""

    items: ExpressionField = Field(alias="in")
    """The expression that selects the list, such as ``answer.steps`` or ``db.path``."""
    name: str = Field(alias="as", default="item")
    """The variable that holds the item in the prompt of an added node."""
    node: BaseNode
    store: DatabasePath | None = None
    """Database path at which the list of the added nodes' answers is stored, or None if it is not stored."""
    before: NameList = ()
    """The nodes that wait for the added nodes and are shown their answers."""
    max_items: int = Field(alias="most", default=DEFAULT_MAX_ITEMS, ge=1)
    """Maximum number of items. A longer list is refused."""


class IfBranch(_GraphModel):
    """A branch (``if`` in a graph file). If its condition holds, it adds nodes to the current pass."""

    when: ExpressionField
    nodes: Annotated[dict[str, "GraphNode"], BeforeValidator(_with_names)] = Field(min_length=1)
    before: NameList = ()
    """The nodes that wait for the added nodes.

    They are shown the answers of the branch's last nodes: those that no other node of the branch waits for.
    """


class GraphNode(BaseNode):
    """One question to a model, and the effects of its answer."""

    name: str
    store: Annotated[dict[DatabasePath, ExpressionField], BeforeValidator(_as_store)] = {}
    """Maps database paths to the parts of the answer that are stored there, such as ``answer.field``."""
    when: ExpressionField | None = None
    """If this condition is false, the node is skipped, and its last answer or its ``else`` value is used instead."""
    every: int = Field(default=1, ge=1)
    """The node is asked only in every n-th pass, starting with the first. In all other passes it is skipped."""
    otherwise: JsonValue = Field(alias="else", default=None)
    """The answer to use if the node is skipped before it has ever answered. If it is None, the node is asked."""
    branches: tuple[IfBranch, ...] = Field(alias="if", default=())
    loop: EachLoop | None = Field(alias="each", default=None)
    _loop_variables: Mapping[str, JsonValue] = PrivateAttr(default_factory=dict)
    _answers_path: str | None = PrivateAttr(default=None)

    @field_validator("name", mode="before")
    @classmethod
    def _refuse_name(cls, name: Any) -> Any:
        """Raise ValueError if the node has a ``name`` in the file."""
        if name is None:
            raise ValueError("a node's name is the key before its colon; remove `name`")
        return name

    @field_validator("otherwise")
    @classmethod
    def _check_otherwise(cls, answer: JsonValue, info: ValidationInfo) -> JsonValue:
        """Return the ``else`` value in the form of ``expect``. Text and code may be empty here."""
        expect = info.data.get("expect")  # missing if ``expect`` is faulty
        if answer is None or expect is None or (answer == "" and expect.kind in (TEXT, CODE)):
            return answer
        try:
            value: JsonValue = expect.check(answer)
        except ValueError as error:
            raise ValueError(f"this does not fit `expect`: {error}") from None
        return value

    @classmethod
    def for_item(cls, node: "GraphNode", loop: EachLoop, number: int | str, item: JsonValue) -> "GraphNode":
        """Return the node that is asked for one item of a loop of ``node``."""
        item_node = cls.model_construct(**{**dict(loop.node), "name": f"{node.name}:{number}"})
        item_node._loop_variables, item_node._answers_path = {**node._loop_variables, loop.name: item}, loop.store
        return item_node

    @property
    def loop_variables(self) -> Mapping[str, JsonValue]:
        """For a node that a loop added: maps the loop's variable to the item. Otherwise empty."""
        return self._loop_variables

    @property
    def answers_path(self) -> str | None:
        """For a node that a loop added: the database path of the list to which the answer is appended, if any."""
        return self._answers_path

    def nested_nodes(self) -> Iterator[BaseNode]:
        """Yield the node itself, and all nodes in its branches and its loop."""
        yield self
        for branch in self.branches:
            for node in branch.nodes.values():
                yield from node.nested_nodes()
        if self.loop:
            yield self.loop.node

    @property
    def needs(self) -> frozenset[str]:
        """The nodes that the node's messages and condition use, except those listed in ``after``."""
        names = frozenset[str]().union(*(source.names for source in (*self.texts.values(), self.when) if source))
        return frozenset(names - {DATABASE, ANSWER, *self._loop_variables, *self.after})

    def look_ups(self) -> Iterator[LookUp]:
        """Yield every look-up in the node's messages, condition, ``store``, branch conditions and loop."""
        sources = [*self.texts.values(), self.when, *self.store.values(), *(branch.when for branch in self.branches)]
        sources += [self.loop.items, *self.loop.node.texts.values()] if self.loop else []
        for source in filter(None, sources):
            yield from source.look_ups


class GraphFile(_GraphModel):
    """A graph file. Each episode creates a new graph and database from it."""

    name: str
    """The name of the file, without ``.yaml``."""
    about: str = ""
    steps: int | None = Field(default=None, ge=1)
    """Maximum number of passes (steps) in an episode, or None if only the episode's own limits apply."""
    manual: str | None = None
    guidance: str | None = None
    inputs: dict[DatabasePath, str] = {}
    """Maps the database path of each value that the graph's user supplies to a description of the value."""
    database: dict[str, JsonValue] = {}
    nodes: Annotated[dict[str, GraphNode], BeforeValidator(_with_names)] = Field(min_length=1)
    code: str | None = None
    """The name of the node whose answer is the plan code of a step, or None if the graph writes no plan code."""
    _find_hook: Callable[[str], Callable[..., Any]] = PrivateAttr()

    @cached_property
    def hooks(self) -> Mapping[str, Callable[..., Any]]:
        """Maps the names of the hooks in the file to their functions. The first access executes the hooks' files.

        Raises GraphError if a file cannot be executed.
        """
        names = dict.fromkeys(hook for node in self.all_nodes for hook in node.hooks.values())
        return {name: self._find_hook(name) for name in names}

    @property
    def initial_values(self) -> dict[str, JsonValue]:
        """The initial values of the database, with ``manual`` and ``guidance``."""
        texts = {"manual": self.manual, "guidance": self.guidance}
        return {**self.database, **{name: text for name, text in texts.items() if text is not None}}

    def new_database(self) -> GraphDatabase:
        """Return a database with the initial values."""
        return GraphDatabase(self.initial_values)

    @property
    def all_nodes(self) -> tuple[BaseNode, ...]:
        """All nodes, including those of branches and loops."""
        return tuple(nested for node in self.nodes.values() for nested in node.nested_nodes())

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the models that the nodes ask."""
        return tuple(dict.fromkeys(node.model for node in self.all_nodes))

    @property
    def looked_up_paths(self) -> tuple[str, ...]:
        """The database paths that the file's templates and expressions look up. Hooks may look up others."""
        paths = (look_up.path.partition(".") for node in self._graph_nodes for look_up in node.look_ups())
        return tuple(dict.fromkeys(path for root, _, path in paths if root == DATABASE))

    @property
    def known_paths(self) -> tuple[str, ...]:
        """The database paths of inputs, of initial values, and of values that the file stores or looks up."""
        stored = [path for node in self._graph_nodes for path in node.store]
        stored += [node.loop.store for node in self._graph_nodes if node.loop and node.loop.store]
        return tuple(dict.fromkeys([*self.inputs, *paths_of(self.initial_values), *stored, *self.looked_up_paths]))

    @property
    def _graph_nodes(self) -> list[GraphNode]:
        return [node for node in self.all_nodes if isinstance(node, GraphNode)]
