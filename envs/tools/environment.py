"""The base class of environments that are made of tools: Python functions, or the tools of an MCP server.

Each tool becomes an action. Tasks come from a file (see the module ``tasks``), which also says how each task is judged.
"""

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
from planbook.envs.requirements import file_digest
from planbook.envs.text_matching import BM25
from planbook.envs.tools.schemas import Argument, keyed_arguments
from planbook.envs.tools.tasks import SPLITS, JudgeInput, TaskEntry, judge_file, judge_task, read_task_file
from planbook.envs.types import ActionSpec, EnvironmentOptions, Observation, Offer, Selection, Task, Verdict
from planbook.sandbox import Fault, SandboxError, bound_names, check, did_you_mean

MAX_LISTED_TOOLS = 50
"""Maximum number of tools that prompts list in full. If there are more, prompts list some, and plans can search all."""
MAX_TEXT = 1_000_000
"""Maximum number of characters in a tool's result."""
END_HINT = "Call agent.answer(value) when the task is done."
RESERVED = ("answer", "search", "describe")
"""The names of our own action and queries. A tool with one of these names is renamed, unless it gets a prefix."""
Effect = Literal["", "read", "write", "destroy"]
"""The effect of a tool on the state, as its author declares it. "" if the author declares nothing."""
EFFECTS: Mapping[Effect, str] = {
    "": "",
    "read": "It only reads.",
    "write": "It changes something.",
    "destroy": "It may destroy something.",
}
NOT_READ_ONLY = (
    "is not marked as read-only, as assertions require; mark it (@query() in Python, readOnlyHint "
    "in MCP), or judge by `answer` or `python`"
)


class ToolOptions(EnvironmentOptions):
    """Options of every environment made of tools."""

    tasks: str = Field(default="", description="A YAML or JSON file with tasks and their judges.")
    listed_tokens: int = Field(
        default=4_000,
        ge=200,
        description="Approximate number of tokens for the tools listed in a prompt, if there are more than 50 tools.",
    )

    @field_validator("tasks")
    @classmethod
    def _make_absolute(cls, tasks: str) -> str:
        return str(Path(tasks).resolve()) if tasks else ""


class ToolFailed(Exception):
    """A tool call failed. In the plan, it raises a RuntimeError with the same text."""


class ToolTimeout(ToolFailed):
    """A tool did not return a result in time."""


@dataclass(frozen=True)
class Tool:
    """A tool that plans can call."""

    name: str
    """The name that plans use, without ``agent.``. It may contain dots, as in ``files.read``."""
    arguments: tuple[Argument, ...]
    returns: Any
    doc: str
    source: Any
    """The data that the environment needs to call the tool, such as the tool's name on a server."""
    effect: Effect = ""

    @property
    def signature(self) -> inspect.Signature:
        """The signature that plans see."""
        return inspect.Signature([argument.parameter for argument in self.arguments], return_annotation=self.returns)

    @property
    def spec(self) -> ActionSpec:
        """The specification of the tool as an action."""

        def call(environment: "ToolEnvironment", *values: JsonValue) -> Observation:
            return environment.observe(self, values)

        instance = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = self.signature
        with_self = signature.replace(parameters=[instance, *signature.parameters.values()])
        call.__name__, call.__signature__ = self.name, with_self  # type: ignore[attr-defined]
        return ActionSpec(self.name, call, "\n".join(filter(None, (self.doc, EFFECTS[self.effect]))))


class ToolEnvironment(Environment):
    """The base class of environments made of tools. Subclasses override ``start`` and ``call``."""

    name = "tools"
    splits = SPLITS
    combined_splits = {SPLITS[0]: SPLITS}
    action_limit = 100
    answer_action = "answer"
    submits = True
    Options: ClassVar[type[BaseModel]] = ToolOptions
    options: ToolOptions
    tools: ClassVar[Mapping[str, Tool]] = {}

    @abstractmethod
    def start(self, task: Task) -> str:
        """Set up the tools for a task, and return the beginning of the first observation, or ""."""

    @abstractmethod
    def call(self, tool: Tool, arguments: dict[str, Any]) -> JsonValue:
        """Call a tool, and return its result. ``arguments`` maps the key of each parameter to its value.

        Raises ToolFailed if the call fails, or EnvironmentBroken if no more calls are possible.
        """

    @property
    def judged_state(self) -> object:
        """The object that a judge written as a Python function receives as ``state``."""
        return self

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._answers: list[JsonValue] = []
        self._last_verdict: tuple[int, Verdict] | None = None

    @classmethod
    def file_tasks(cls, options: BaseModel | None) -> Mapping[str, TaskEntry]:
        """Return the tasks of the task file, keyed by id, or {} if the option ``tasks`` names no file.

        Raises BadSelection if the file is faulty.
        """
        path = ToolOptions.read(options).tasks
        return read_task_file(Path(path), cls.assertion_faults) if path else {}

    @classmethod
    def assertion_faults(cls, assertions: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Check the assertions of a judge. Yield (index, reason) for each reason why one of them cannot be run."""
        functions, names = cls.read_only_tools(cls.call), {"answer", "task"}
        for index, code in enumerate(assertions):
            not_read_only = (name for name in cls.tools if f"agent.{name}" not in functions and _calls(code, name))
            if name := next(not_read_only, ""):
                yield index, f"agent.{name} {NOT_READ_ONLY}"
            elif faults := check(code, functions, names=names):
                yield from ((index, _fault_text(fault, code)) for fault in faults)
            names |= bound_names(code)

    @classmethod
    def read_only_tools(cls, call: Callable[..., JsonValue]) -> dict[str, Callable[..., JsonValue]]:
        """Return the functions that assertions may call: one for each read-only tool, keyed by ``agent.NAME``."""
        return {f"agent.{tool.name}": _as_function(tool, call) for tool in cls.tools.values() if tool.effect == "read"}

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the tasks of the task file.

        Raises BadSelection if the option ``tasks`` names no file, or if the file is faulty.
        """
        tasks = cls.file_tasks(options).values()
        if not tasks:
            raise BadSelection(f"{cls.name} has no tasks of its own; name a file with tasks: --option tasks=FILE.yaml")
        fields = {"id", "type", "goal", "params", "seed"}
        return [Task(env=cls.name, split=task.split or SPLITS[0], **task.model_dump(include=fields)) for task in tasks]

    @classmethod
    def has_tasks(cls, options: BaseModel | None) -> bool:
        """Return whether the environment has tasks. By default, it does if the option ``tasks`` names a file."""
        return bool(ToolOptions.read(options).tasks)

    @classmethod
    def task_types(cls, options: BaseModel | None = None) -> tuple[str, ...]:
        """Return the types of the tasks in the file."""
        return tuple(dict.fromkeys(task.type for task in cls.file_tasks(options).values())) or cls.types

    @classmethod
    def task_splits(cls, options: BaseModel | None = None) -> tuple[str, ...]:
        """Return the split that contains all tasks, followed by the other splits that contain tasks."""
        used = {task.split for task in cls.file_tasks(options).values()}
        return tuple(name for name in SPLITS if name == SPLITS[0] or name in used) if used else cls.splits

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the digest of the task file."""
        path = ToolOptions.read(options).tasks
        return {"tasks": file_digest(Path(path))} if path else {}

    @classmethod
    def code_files(cls, options: BaseModel | None = None) -> Mapping[str, Path]:
        """Return the files of the judges that are Python functions."""
        folder = Path(ToolOptions.read(options).tasks).parent
        judges = (task.judge.python for task in cls.file_tasks(options).values() if task.judge and task.judge.python)
        files = {name.rpartition(":")[0]: judge_file(name, folder) for name in judges}
        return {f"judge {name}": path for name, path in files.items() if path.is_file() or path.is_dir()}

    @classmethod
    def with_tools(cls, name: str, about: str, tools: Iterable[Tool], **members: object) -> type["ToolEnvironment"]:
        """Return a subclass with these tools and class attributes.

        If there are more than MAX_LISTED_TOOLS tools, plans can search them.
        """
        by_name = {tool.name: tool for tool in tools}
        environment: type[ToolEnvironment] = type(
            "Tools",
            (cls,),
            {"__module__": cls.__module__, "name": name, "about": about, "tools": by_name, **members},
        )
        environment.actions = {**{tool_name: tool.spec for tool_name, tool in by_name.items()}, **environment.actions}
        environment.queries = environment.queries if len(by_name) > MAX_LISTED_TOOLS else {}
        return environment

    @classmethod
    def listed(cls, options: BaseModel | None = None, goal: str = "") -> Offer:
        """Return the actions and queries that prompts list.

        If there are more than MAX_LISTED_TOOLS tools, only the best matches for the goal are listed (without a goal,
        the first tools). The option ``listed_tokens`` limits the total length of their descriptions.
        """
        offer = cls.offered(options)
        if len(cls.tools) <= MAX_LISTED_TOOLS:
            return offer
        remaining, names = ToolOptions.read(options).listed_tokens, {"answer"}
        for name in cls._best_matches(goal) if goal else list(cls.tools):
            tokens = len(cls._description(name)) // 4
            if tokens <= remaining:
                remaining -= tokens
                names.add(name)
        return Offer({name: spec for name, spec in offer.actions.items() if name in names}, offer.queries)

    @action("agent.answer('42') -> 'The task ended with the answer \"42\".'")
    def answer(self, value: Any = None) -> Observation:
        """End the task. Pass an answer if the goal asks for one. No action is possible afterwards."""
        self._answers.append(value)
        return Observation(f"The task ended with the answer {_json(value)}.", terminated=True)

    @query("agent.search('delete a file') -> ['files.remove(path: str)', ...]")
    def search(self, words: str) -> list[JsonValue]:
        """Search for tools by words. Return the names and signatures of the best matches, at most 10."""
        return [f"{name}{self.tools[name].signature}" for name in self._best_matches(words)[:10]]

    @query("agent.describe('files.remove') -> 'agent.files.remove(path: str) ...'")
    def describe(self, name: str) -> str:
        """Return the documentation of a tool."""
        name = name.removeprefix("agent.").partition("(")[0]
        if name not in self.tools:
            return f"There is no {name!r}{did_you_mean(name, list(self.tools)[:MAX_LISTED_TOOLS])}"
        return self._description(name)

    @classmethod
    def _description(cls, name: str) -> str:
        return f"agent.{name}{cls.tools[name].signature}\n{cls.actions[name].doc}"

    @classmethod
    def _best_matches(cls, words: str) -> list[str]:
        """Return the names of the tools whose descriptions share a word with ``words``, best matches first."""
        names = list(cls.tools)
        index = BM25([words_of(cls._description(name)) for name in names])
        scores = index.scores(words_of(words))
        ranked = sorted(range(len(names)), key=lambda position: -scores[position])
        return [names[position] for position in ranked if scores[position] > 0]

    def observe(self, tool: Tool, values: Sequence[JsonValue]) -> Observation:
        """Call a tool, and return its result as an observation. A result that is not text is written as JSON."""
        try:
            arguments = keyed_arguments(tool.arguments, deepcopy(values))
        except ValueError as error:
            return Observation(f"{tool.name}(): {error}"[:MAX_TEXT], accepted=False, failed=True)
        try:
            return _observation(tool.name, self.call(tool, arguments))
        except ToolFailed as error:
            return Observation(str(error)[:MAX_TEXT], accepted=False, failed=True)

    def begin(self, task: Task) -> Observation:
        """Set up the tools, and return the first observation, which ends with the goal."""
        self._answers, self._last_verdict = [], None
        return Observation("\n".join(filter(None, (self.start(task), f"Your task is to: {task.goal}"))))

    def verdict(self) -> Verdict:
        """Return the judge's verdict. A task without a judge counts as not solved."""
        judge = self._task_entry.judge if self._task_entry else None
        if judge is None or self.task is None:
            return Verdict(False, 0.0)
        if self._last_verdict is None or self._last_verdict[0] != len(self.history):
            case = JudgeInput(self.task, self._answers, Path(self.options.tasks))
            tools = self.read_only_tools(self.call)
            self._last_verdict = len(self.history), judge_task(judge, case, self.judged_state, tools, self.sandbox)
        return self._last_verdict[1]

    def unjudged_result(self) -> str:
        """Return a note with the agent's answer if the task has no judge, or "" if it has one."""
        if self._task_entry.judge if self._task_entry else self.has_tasks(self.options):
            return ""
        return f"not judged; the answer is {_json(self._answers[-1])}" if self._answers else "not judged"

    @property
    def _task_entry(self) -> TaskEntry | None:
        return self.file_tasks(self.options).get(self.task.id) if self.task else None

    def withdraw_answer(self) -> bool:
        """If an answer ended the episode, let the episode continue and return True. Otherwise return False.

        The state of the tools does not change.
        """
        if not self.answered:
            return False
        self._last_observation = replace(self._last_observation, terminated=False)
        return True


def _as_function(tool: Tool, call: Callable[..., JsonValue]) -> Callable[..., JsonValue]:
    def call_tool(*args: JsonValue, **kwargs: JsonValue) -> JsonValue:
        bound = tool.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        try:
            return call(tool, keyed_arguments(tool.arguments, deepcopy(list(bound.arguments.values()))))
        except (EnvironmentBroken, ToolTimeout) as error:
            raise SandboxError(str(error)) from error  # assertions cannot catch this, so judging ends

    call_tool.__signature__ = tool.signature  # type: ignore[attr-defined]
    return call_tool


def _fault_text(fault: Fault, code: str) -> str:
    if fault.type == "empty":
        return "this is always true or always false; write an assertion that reads the state, `answer` or `task`"
    where = f"line {fault.line} of the assertion: " if "\n" in code.strip() else ""
    return where + fault.summary


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
    """Return the words of a text in lower case. Names such as ``files.read_text`` are split into words."""
    return re.findall(r"[^\W_]+", text.lower())
