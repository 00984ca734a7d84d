"""Checking an environment for its author: random actions on a few tasks of each split, and a line for each mistake."""

import inspect
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from planbook.envs.base import Environment
from planbook.envs.errors import EnvsError, MissingRequirement, raised_at
from planbook.envs.types import Action, ActionSpec, Observation, Selection, Task, Verdict

TASKS = 3
"""Tasks played of each split."""
ACTIONS = 20
"""Actions taken on each task, unless it ends before."""
SECONDS = 2.0
"""No further action is taken on a task after so long."""
SEEDS = (0, 1, 2)
"""What an environment is asked for that makes its tasks from seeds."""
PLAIN = (str, int, float, bool, None, NoneType, Any, object, dict, list, inspect.Parameter.empty)
JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)
Value = TypeVar("Value")
Steps = list[tuple[Action, Observation]]


class Checked(NamedTuple):
    """Mistakes, a line each, and what was tried."""

    mistakes: tuple[str, ...]
    unchecked: Mapping[str, str]
    """Splits whose tasks are not on this machine, and why."""
    tasks: int
    actions: int


class _Failed(Exception):
    """The author's code failed, and that is noted as a mistake."""


def check_environment(world: type[Environment], options: BaseModel | None = None) -> Checked:
    """Play random actions on a few tasks of each split. Raises MissingRequirement where an episode lacks something."""
    checker = _Checker(world, options)
    checker.check()
    return Checked(checker.mistakes, checker.unchecked, checker.tasks, checker.actions)


class _Checker:
    def __init__(self, world: type[Environment], options: BaseModel | None) -> None:
        self._world, self._options = world, options
        self._file = Path(getattr(sys.modules.get(world.__module__), "__file__", None) or world.__name__).name
        self._mistakes: dict[tuple[str, str], str] = {}
        self.unchecked: dict[str, str] = {}
        self._faulty = set[str]()
        """Actions with a parameter that no value can be made for."""
        self.tasks = self.actions = self._noted = 0

    def check(self) -> None:
        """Note every mistake that can be found."""
        self._check_class()
        if self._world.__abstractmethods__:
            return
        tasks: list[Task] = []
        for split in self._world.splits or ("",):
            try:
                tasks += self._tasks_of(split)
            except MissingRequirement as missing:
                self.unchecked[split] = str(missing)
        for task in tasks:
            self.tasks += 1
            try:
                self._check_task(task)
            except _Failed:
                continue

    @property
    def mistakes(self) -> tuple[str, ...]:
        """What was noted, in order."""
        return tuple(self._mistakes.values())

    def _note(self, mistake: str, function: Callable[..., Any] | None = None, *, kind: str = "") -> None:
        """Note a mistake at a function; of one kind at one place only the first is kept."""
        code = getattr(inspect.unwrap(function), "__code__", None) if function else None
        place = f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code else self._file
        self._mistakes.setdefault((place, kind or mistake), f"{place}: {mistake}")
        self._noted += 1

    def _call(self, what: str, function: Callable[..., Value], *arguments: Any) -> Value:
        """Call the author's code. Raises _Failed where it fails, MissingRequirement."""
        try:
            return function(*arguments)
        except MissingRequirement:
            raise
        except EnvsError as error:
            told = str(error) if self._file in str(error) else f"{self._file}: {error}"
            self._mistakes.setdefault((self._file, told), told)
            raise _Failed from error
        except (Exception, SystemExit) as error:
            place = raised_at(error, [Path(__file__).parent])[0] or self._file
            told = f"{place}: {what} raised {type(error).__name__}: {' '.join(str(error).split())}"
            self._mistakes.setdefault((place, type(error).__name__), told)
            raise _Failed from error

    # The class.

    def _check_class(self) -> None:
        world = self._world
        for name in sorted(world.__abstractmethods__):
            self._note(f"{world.__name__} has no {name}(); define it")
        if not world.about:
            self._note(f"{world.__name__} has no docstring; say in it what the environment is, for prompts")
        if not world.splits:
            self._note(f'{world.__name__} has no splits; name at least one, such as splits = ("all",)')
        if not world.actions:
            self._note(f"{world.__name__} has no action; mark a method with @action()")
        for spec in (*world.actions.values(), *world.queries.values()):
            self._check_spec(spec)

    def _check_spec(self, spec: ActionSpec) -> None:
        if not spec.doc:
            self._note(f"{spec.name} has no docstring; say in it what it does, for prompts", spec.function)
        try:
            parameters = spec.signature.parameters.values()
        except (NameError, TypeError) as error:
            self._note(f"the types of {spec.name}'s parameters cannot be read: {error}", spec.function)
            return
        for parameter in parameters:
            if parameter.annotation is parameter.empty:
                told = f"parameter {parameter.name} of {spec.name} has no type; write it, such as {parameter.name}: str"
                self._note(told, spec.function)
                self._faulty.add(spec.name)
            elif not _is_json(parameter.annotation):
                told = f"parameter {parameter} of {spec.name} is nothing that JSON can hold"
                self._note(f"{told}; use str, int, float, bool, list, dict or Literal", spec.function)
                self._faulty.add(spec.name)

    # Tasks.

    def _tasks_of(self, split: str) -> Sequence[Task]:
        """Return the tasks of a split to play; note what is wrong with those that are listed."""
        world, seeded = self._world, self._world.takes_seeds(split)
        asked = Selection(split=split or None, seeds=SEEDS if seeded else ())
        try:
            listed = self._listed(asked)
            if listed != self._listed(asked):
                self._note("tasks() lists other tasks when it is asked again; make them from seeds", world.tasks)
                return listed[:TASKS]
            before = self._noted
            self._check_tasks(listed, asked)
            if self._noted > before:
                return listed[:TASKS]
            few = asked.model_copy(update={"limit": TASKS})
            fitting = self._call("tasks()", world.select, few, self._options)
            for task in () if seeded else fitting:
                if self._call("tasks()", world.select, Selection(ids=(task.id,)), self._options) != [task]:
                    self._note(f"the task {task.id!r} is another one when it is asked for by its id", world.tasks)
        except _Failed:
            return ()
        return fitting

    def _listed(self, selection: Selection) -> list[Task]:
        listed = list(self._call("tasks()", self._world.tasks, selection, self._options))
        for task in listed:
            if not isinstance(task, Task):
                self._note(f"tasks() must list Task objects, and lists a {type(task).__name__}", self._world.tasks)
                raise _Failed
        return listed

    def _check_tasks(self, tasks: Sequence[Task], selection: Selection) -> None:
        world = self._world
        for id, times in Counter(task.id for task in tasks).items():
            if times > 1:
                told = f"the task id {id!r} is listed {times} times; give every task an id of its own"
                self._note(told, world.tasks, kind="ids")
        splits = {*world.splits, *(part for parts in world.parts.values() for part in parts)}
        for what, declared, there in (
            ("split", splits, {task.split for task in tasks}),
            ("type", {*world.types}, {task.type for task in tasks}),
            ("env", {world.name}, {task.env for task in tasks}),
        ):
            for name in sorted(there - declared if declared else ()):
                known = ", ".join(map(repr, sorted(declared))) or "none"
                self._note(f"a task has the {what} {name!r}, and the class declares {known}", world.tasks)
        if selection.seeds and selection.split not in world.parts:
            seeds = {task.seed for task in tasks} - {*world.seeds_of(selection.split or "", selection.seeds)}
            if seeds:
                told = f"asked for the seeds {SEEDS}, tasks() lists a task of seed {min(seeds)}"
                self._note(f"{told}; read selection.seeds, or leave out seeded = True", world.tasks, kind="seeds")

    # Episodes.

    def _check_task(self, task: Task) -> None:
        world = self._call("__init__()", self._world, self._options)
        try:
            first = self._played(world, task, None)
            self.actions += len(first) - 1
            if not (world.task or task).goal.strip():
                self._note("a task has no goal; say in a sentence what is to be done", self._world.tasks)
            self._check_reports(world)
            verdict = self._verdict(world)
            for what, other in (("reset", world), ("made anew", None)):
                again = other or self._call("__init__()", self._world, self._options)
                self._check_same(first, self._played(again, task, first), task, f"the environment was {what}")
                if self._verdict(again) != verdict:
                    told = f"verdict() is another one on {task.id} after the same actions"
                    self._note(told, self._world.verdict, kind="same")
                if other is None:
                    again.close()
            self._check_restoring(world, task, first)
        finally:
            world.close()

    def _played(self, world: Environment, task: Task, script: Steps | None) -> Steps:
        """Return the steps of an episode: of random actions, or of those of a script."""
        dice = random.Random(f"{self._world.name}/{task.id}")
        begun = self._call("begin()", world.reset, task)
        steps: Steps = [(Action("begin"), begun)]
        until = time.monotonic() + SECONDS
        while not world.ended and (len(steps) < len(script) if script else len(steps) <= ACTIONS):
            if script is None and time.monotonic() > until:
                break
            action = script[len(steps)][0] if script else self._drawn(world, task, steps[-1][1], dice)
            if action is None:
                break
            steps.append((action, self._call(str(action), world.act, action)))
        return steps

    def _drawn(self, world: Environment, task: Task, seen: Observation, dice: random.Random) -> Action | None:
        """Return one of the actions that are possible now, else one with arguments that the goal or the view names."""
        if possible := self._call("possible_actions()", world.possible_actions):
            return dice.choice(possible)
        specs = [spec for spec in world.offer.actions.values() if spec.name not in self._faulty]
        if not specs:
            return None
        spec = dice.choice(specs)
        words = sorted({*re.findall(r"\w+", f"{task.goal} {seen.text} {task.params}"), "nothing"})
        parameters = spec.signature.parameters.values()
        return Action(spec.name, tuple(_value(each.annotation, words, dice) for each in parameters))

    def _check_same(self, first: Steps, again: Steps, task: Task, why: str) -> None:
        for number, ((action, expected), (_, actual)) in enumerate(zip(first, again, strict=False)):
            if expected != actual:
                spec = self._world.actions.get(action.name)
                what = f"{action} (action {number} on {task.id})" if number else f"begin() of {task.id}"
                told = f"{what} is answered otherwise after {why}: {_short(expected)}, then {_short(actual)}"
                told += "; draw what is random from the task's seed"
                self._note(told, spec.function if spec else None, kind="same")
                raise _Failed

    def _check_restoring(self, world: Environment, task: Task, first: Steps) -> None:
        half = len(first) // 2
        before = self._played(world, task, first[: half + 1])
        snapshot = self._call("snapshot()", world.snapshot)
        self._played_on(world, first[half + 1 :])
        seen = self._call("restore()", world.restore, snapshot)
        if world.restores:  # the class says itself that not all comes back
            return
        if seen != before[-1][1]:
            told = f"restore() shows {_short(seen)} on {task.id}, and the snapshot was made at {_short(before[-1][1])}"
            self._note(told, world._load, kind="restored")
            return
        rest = self._played_on(world, first[half + 1 :])
        self._check_same(first[half + 1 :], rest, task, "restore()")

    def _played_on(self, world: Environment, script: Steps) -> Steps:
        return [(action, self._call(str(action), world.act, action)) for action, _ in script]

    def _verdict(self, world: Environment) -> Verdict:
        verdict = self._call("verdict()", world.verdict)
        if not isinstance(verdict, Verdict):
            self._note(f"verdict() must return a Verdict, and returns {type(verdict).__name__}", type(world).verdict)
            raise _Failed
        if not 0 <= verdict.score <= 1:
            self._note(f"the score of a verdict lies between 0 and 1, and is {verdict.score}", type(world).verdict)
        return verdict

    def _check_reports(self, world: Environment) -> None:
        """Call what prompts and reports ask for."""
        for name, kind in (("state", str), ("scene", str), ("milestones", Sequence), ("measures", Mapping)):
            told = self._call(f"{name}()", getattr(world, name))
            if not isinstance(told, kind):
                self._note(f"{name}() returns {type(told).__name__}, and not a {kind.__name__}", getattr(world, name))
        values = self._call("attribute_values()", world.attribute_values)
        for name in world.attributes:
            if name not in values:
                self._note(f"attribute_values() has no {name!r}, which attributes declares", world.attribute_values)
        answers = {f"attribute {name}": value for name, value in values.items()}
        for name, spec in world.offer.queries.items():
            if not spec.signature.parameters:
                answers[f"query {name}"] = self._call(f"{name}()", getattr(world, name))
        for what, value in answers.items():
            try:
                JSON.validate_python(value, strict=True)
            except ValidationError:
                self._note(f"the {what} is a {type(value).__name__}, which JSON cannot hold")


def _is_json(annotation: Any) -> bool:
    """Whether values of a type are plain data."""
    origin = get_origin(annotation)
    if origin is Literal or annotation is JsonValue:
        return True
    if origin in (Union, UnionType, list, dict):
        return all(map(_is_json, get_args(annotation)))
    return annotation in PLAIN or (isinstance(annotation, type) and hasattr(annotation, "__total__"))


def _value(annotation: Any, words: Sequence[str], dice: random.Random) -> Any:
    """Return a value of a type, drawn from words where it is free."""
    if get_origin(annotation) is Literal:
        return dice.choice(get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        return _value(dice.choice(get_args(annotation)), words, dice)
    numbers = [int(word) for word in words if word.isdecimal() and len(word) < 6] or [0, 1, 2]
    made: Mapping[Any, Callable[[], Any]] = {
        bool: lambda: dice.random() < 0.5,
        int: lambda: dice.choice(numbers),
        float: lambda: float(dice.choice(numbers)),
        list: lambda: [_value(each, words, dice) for each in get_args(annotation)],
        dict: dict,
        NoneType: lambda: None,
    }
    return made.get(get_origin(annotation) or annotation, lambda: dice.choice(words))()


def _short(observation: Observation) -> str:
    text = observation.text if len(observation.text) <= 60 else f"{observation.text[:57]}..."
    flags = [name for name in ("terminated", "truncated") if getattr(observation, name)]
    return " and ".join([repr(text), *flags])
