"""The base of environments made of tools: actions, ``agent.answer``, finding tools, tasks from a file, verdicts."""

import inspect
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field, JsonValue, field_validator

from planbook.envs.base import Environment, action, query
from planbook.envs.errors import BadSelection, EnvironmentBroken
from planbook.envs.resources import file_digest
from planbook.envs.text_matching import BM25
from planbook.envs.tools.judging import Situation, judge_task
from planbook.envs.tools.schemas import Argument, keyed_arguments
from planbook.envs.tools.tasks import SPLITS, TaskGoal, read_goals, tasks_of
from planbook.envs.types import ActionSpec, EnvironmentOptions, Observation, Offered, Selection, Task, Verdict
from planbook.sandbox import Fault, SandboxError, bound_names, check, did_you_mean

MANY = 50
"""Maximum number of tools that prompts list in full. With more, they list some, and plans may search."""
MAX_TEXT = 1_000_000
"""Maximum characters in a tool's result."""
ENDING = "Call agent.answer(value) when the task is done."
RESERVED = ("answer", "search", "describe")
Effect = Literal["", "read", "write", "destroy"]
EFFECTS: Mapping[Effect, str] = {
    "": "",
    "read": "It only reads.",
    "write": "It changes something.",
    "destroy": "It may destroy something.",
}
UNMARKED = (
    "is not marked as read-only, as assertions require; mark it (@query() in Python, readOnlyHint "
    "in MCP), or judge by `answer` or `python`"
)


class ToolOptions(EnvironmentOptions):
    """Options of every environment made of tools."""

    tasks: str = Field(default="", description="A YAML or JSON task file: goals, and how they are judged.")
    listed_tokens: int = Field(
        default=4_000,
        ge=200,
        description="Approximate number of tokens for the tools that a prompt lists, if there are more than 50 tools.",
    )

    @field_validator("tasks")
    @classmethod
    def _make_absolute(cls, tasks: str) -> str:
        return str(Path(tasks).resolve()) if tasks else ""


class ToolFailed(Exception):
    """A tool call failed. The plan gets the text as a RuntimeError."""


class ToolSilent(ToolFailed):
    """A tool did not answer in time."""


@dataclass(frozen=True)
class Tool:
    """A tool: its dotted name in plans, and its parameters."""

    name: str
    arguments: tuple[Argument, ...]
    returns: Any
    doc: str
    source: Any
    """What the environment needs for calling it."""
    effect: Effect = ""

    @property
    def signature(self) -> inspect.Signature:
        """The signature as plans see it."""
        return inspect.Signature([argument.parameter for argument in self.arguments], return_annotation=self.returns)

    @property
    def spec(self) -> ActionSpec:
        """The tool as an action."""

        def call(environment: "ToolEnvironment", *values: JsonValue) -> Observation:
            return environment.observe(self, values)

        myself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = self.signature
        own = signature.replace(parameters=[myself, *signature.parameters.values()])
        call.__name__, call.__signature__ = self.name, own  # type: ignore[attr-defined]
        return ActionSpec(self.name, call, "\n".join(filter(None, (self.doc, EFFECTS[self.effect]))))


class ToolEnvironment(Environment):
    """Tools as an environment. Subclasses override ``start`` and ``call``."""

    name = "tools"
    splits = SPLITS
    parts = {SPLITS[0]: SPLITS}
    action_limit = 100
    answering = "answer"
    Options: ClassVar[type[BaseModel]] = ToolOptions
    options: ToolOptions
    tools: ClassVar[Mapping[str, Tool]] = {}

    @abstractmethod
    def start(self, task: Task) -> str:
        """Set up the tools for a task, and return the first observation."""

    @abstractmethod
    def call(self, tool: Tool, arguments: dict[str, Any]) -> JsonValue:
        """Call a tool with arguments by key, and return its result. Raises ToolFailed, EnvironmentBroken."""

    @property
    def judged_state(self) -> object:
        """The ``state`` that a judge's Python function gets."""
        return self

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._answers: list[JsonValue] = []
        self._last_verdict: tuple[int, Verdict] | None = None

    # Tasks.

    @classmethod
    def file_goals(cls, options: BaseModel | None) -> Mapping[str, TaskGoal]:
        """Return the goals in the task file, by id. Raises BadSelection."""
        path = ToolOptions.read(options).tasks
        if not path:
            raise BadSelection(f"{cls.name} has no tasks of its own; name a file with tasks: --option tasks=FILE.yaml")
        return read_goals(Path(path), cls.assertion_faults)

    @classmethod
    def assertion_faults(cls, assertions: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Yield the index of each of a judge's assertions that cannot be run, and the reason."""
        functions, names = cls.read_only_tools(cls.call), {"answer", "task"}
        for number, code in enumerate(assertions):
            acting = (name for name in cls.tools if f"agent.{name}" not in functions and _calls(code, name))
            if name := next(acting, ""):
                yield number, f"agent.{name} {UNMARKED}"
            elif faults := check(code, functions, names=names):
                yield from ((number, _fault_text(fault, code)) for fault in faults)
            names |= bound_names(code)

    @classmethod
    def read_only_tools(cls, call: Callable[..., JsonValue]) -> dict[str, Callable[..., JsonValue]]:
        """Return the read-only tools, which a judge's assertions may call, by their names in plans."""
        return {f"agent.{tool.name}": _read_only(tool, call) for tool in cls.tools.values() if tool.effect == "read"}

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the tasks of the file."""
        return tasks_of(cls.file_goals(options), cls.name)

    @classmethod
    def has_tasks(cls, options: BaseModel | None) -> bool:
        """Return whether there are tasks, which come from a file."""
        return bool(ToolOptions.read(options).tasks)

    @classmethod
    def task_types(cls, options: BaseModel | None = None) -> tuple[str, ...]:
        """Return the types of the file's tasks."""
        if not ToolOptions.read(options).tasks:
            return cls.types
        return tuple(dict.fromkeys(goal.type for goal in cls.file_goals(options).values()))

    @classmethod
    def task_splits(cls, options: BaseModel | None = None) -> tuple[str, ...]:
        """Return the split that has all tasks, then the other splits that have some."""
        if not ToolOptions.read(options).tasks:
            return cls.splits
        named = {goal.split for goal in cls.file_goals(options).values()}
        return tuple(name for name in SPLITS if name == SPLITS[0] or name in named)

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the digest of the task file."""
        path = ToolOptions.read(options).tasks
        return {"tasks": file_digest(Path(path))} if path else {}

    # Actions.

    @classmethod
    def with_tools(cls, name: str, about: str, tools: Iterable[Tool], **members: object) -> type["ToolEnvironment"]:
        """Return a subclass with these tools, which plans can search if there are more than MANY."""
        by_name = {tool.name: tool for tool in tools}
        environment: type[ToolEnvironment] = type(
            "Tools",
            (cls,),
            {"__module__": cls.__module__, "name": name, "about": about, "tools": by_name, **members},
        )
        environment.actions = {**{tool_name: tool.spec for tool_name, tool in by_name.items()}, **environment.actions}
        environment.queries = environment.queries if len(by_name) > MANY else {}
        return environment

    @classmethod
    def listed(cls, options: BaseModel | None = None, goal: str = "") -> Offered:
        """Return what prompts list: with many tools, those that match the goal best, up to ``listed_tokens``."""
        offer = cls.offered(options)
        if len(cls.tools) <= MANY:
            return offer
        left, names = ToolOptions.read(options).listed_tokens, {"answer"}
        for name in cls._nearest(goal) if goal else list(cls.tools):
            tokens = len(cls._description(name)) // 4
            if tokens <= left:
                left -= tokens
                names.add(name)
        return Offered({name: spec for name, spec in offer.actions.items() if name in names}, offer.queries)

    @action("agent.answer('42') -> 'The task ended with the answer \"42\".'")
    def answer(self, value: Any = None) -> Observation:
        """End the task, with an answer if the goal asks for one. Nothing can be done after it."""
        self._answers.append(value)
        return Observation(f"The task ended with the answer {_json(value)}.", terminated=True)

    @query("agent.search('delete a file') -> ['files.remove(path: str)', ...]")
    def search(self, words: str) -> list[JsonValue]:
        """Find tools by words: the calls that fit best, at most 10."""
        return [f"{name}{self.tools[name].signature}" for name in self._nearest(words)[:10]]

    @query("agent.describe('files.remove') -> 'agent.files.remove(path: str) ...'")
    def describe(self, name: str) -> str:
        """Return the documentation of a tool."""
        name = name.removeprefix("agent.").partition("(")[0]
        if name not in self.tools:
            return f"There is no {name!r}{did_you_mean(name, list(self.tools)[:MANY])}"
        return self._description(name)

    @classmethod
    def _description(cls, name: str) -> str:
        return f"agent.{name}{cls.tools[name].signature}\n{cls.actions[name].doc}"

    @classmethod
    def _nearest(cls, words: str) -> list[str]:
        """Return the names of the tools that share a word with the text, best match first."""
        names = list(cls.tools)
        index = BM25([words_of(cls._description(name)) for name in names])
        scores = index.scores(words_of(words))
        best = sorted(range(len(names)), key=lambda place: -scores[place])
        return [names[place] for place in best if scores[place] > 0]

    def observe(self, tool: Tool, values: Sequence[JsonValue]) -> Observation:
        """Call a tool, and return its result as the plan receives it: text as text, anything else as plain data."""
        try:
            result = self.call(tool, keyed_arguments(tool.arguments, deepcopy(values)))
            return _observation(tool.name, result)
        except ToolFailed as error:
            return Observation(str(error)[:MAX_TEXT], accepted=False, failed=True)

    # Episodes.

    def begin(self, task: Task) -> Observation:
        """Set up the tools, and return the first text with the goal."""
        self._answers, self._last_verdict = [], None
        return Observation("\n".join(filter(None, (self.start(task), f"Your task is to: {task.goal}"))))

    def verdict(self) -> Verdict:
        """Return the judge's verdict. A task without a judge is not solved."""
        judge = self._goal.judge if self._goal else None
        if judge is None or self.task is None:
            return Verdict(False, 0.0)
        if self._last_verdict is None or self._last_verdict[0] != len(self.history):
            case, tools = self._situation(self.task), self.read_only_tools(self.call)
            self._last_verdict = len(self.history), judge_task(judge, case, self.judged_state, tools, self.sandbox)
        return self._last_verdict[1]

    def unjudged(self) -> str:
        """Return a note with the answer if the task has no judge, else ""."""
        if self._goal.judge if self._goal else self.has_tasks(self.options):
            return ""
        return f"not judged; the answer is {_json(self._answers[-1])}" if self._answers else "not judged"

    @property
    def _goal(self) -> TaskGoal | None:
        if self.task is None or not self.options.tasks:
            return None
        return self.file_goals(self.options).get(self.task.id)

    def _situation(self, task: Task) -> Situation:
        answer = self._answers[-1] if self._answers else None
        file = Path(self.options.tasks)
        return Situation(task=task, answered=bool(self._answers), answer=answer, file=file)

    def take_back_answer(self) -> bool:
        """Continue the episode if an answer ended it. The tools are unchanged. Return whether one did."""
        answered = self.ended and bool(self.history) and self.history[-1][0].name == self.answering
        if answered:
            self._last = replace(self._last, terminated=False)
        return answered

    def _save(self) -> object:
        """Return a copy of the tools' state and the answers."""
        state = self.save_state()
        return None if state is None else (state, list(self._answers))

    def _load(self, native: Any) -> None:
        state, answers = native
        self.load_state(state)
        self._answers, self._last_verdict = list(answers), None

    def save_state(self) -> object:
        """Return a copy of the tools' state; None if it can be restored only by repeating the actions."""
        return None

    def load_state(self, state: Any) -> None:
        """Restore a copy of the tools' state."""


def _read_only(tool: Tool, call: Callable[..., JsonValue]) -> Callable[..., JsonValue]:
    def look(*args: JsonValue, **kwargs: JsonValue) -> JsonValue:
        bound = tool.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        try:
            return call(tool, keyed_arguments(tool.arguments, deepcopy(list(bound.arguments.values()))))
        except (EnvironmentBroken, ToolSilent) as error:
            raise SandboxError(str(error)) from error  # no assertion can catch this error, and it is not a verdict

    look.__signature__ = tool.signature  # type: ignore[attr-defined]
    return look


def _fault_text(fault: Fault, code: str) -> str:
    where = f"line {fault.line} of it: " if "\n" in code.strip() else ""
    return where + "; ".join(filter(None, (fault.message, fault.hint)))


def _calls(code: str, name: str) -> bool:
    return re.search(rf"\bagent\.{re.escape(name)}\b", code) is not None


def _observation(name: str, result: JsonValue) -> Observation:
    structured = not isinstance(result, str)
    text = result if isinstance(result, str) else _json(result)
    if len(text) > MAX_TEXT:
        raise ToolFailed(f"{name}: the result has {len(text):,} characters; at most {MAX_TEXT:,} are allowed")
    return Observation(text, structured=structured)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def words_of(text: str) -> list[str]:
    """Return the words of a text, split at the punctuation in names."""
    return re.findall(r"[^\W_]+", text.lower())
