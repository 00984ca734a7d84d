"""Check an environment for its author: play a few tasks of each split with random actions, and list the mistakes.

Each task is played several times with the same actions. The observations must be the same each time.
"""

import ast
import inspect
import random
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from planbook.envs.base import Environment
from planbook.envs.errors import EnvsError, MissingRequirement, error_location
from planbook.envs.json_types import is_json_type, random_value
from planbook.envs.selection import list_tasks
from planbook.envs.types import Action, ActionSpec, CheckReport, Observation, Selection, Snapshot, Task, Verdict
from planbook.sandbox import check

OWN_FOLDERS = (Path(__file__).parent, Path(__file__).parent / "tools")
"""Folders of planbook's own code. Mistakes are the author's, so no mistake is attributed to a file in these folders."""
MAX_TASKS = 3
"""Maximum number of tasks to play from each split."""
MAX_ACTIONS = 20
"""Maximum number of actions on each task."""
MAX_SECONDS = 2.0
"""Time limit in seconds for the random actions on one task."""
SEEDS = (0, 1, 2)
"""The seeds to select if an environment makes its tasks from seeds."""
TOOL_FAILED = "raised RuntimeError"
"""A judge's fault that contains these words is not a mistake, since a tool may fail until the task is done."""
REPORT_TYPES = {"state": str, "scene": str, "milestones": Sequence, "measures": Mapping, "attribute_values": Mapping}
"""Maps each method whose result appears in prompts or reports to the type that the result must have."""
SEED_ADVICE = "derive everything that is random from the task's seed"
COPY_ADVICE = "copy the whole state in _save(), and again in _load()"
JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)
Value = TypeVar("Value")
Steps = list[tuple[Action, Observation]]


class _AuthorCodeFailed(Exception):
    """The author's code failed. The failure is already listed as a mistake."""


def check_environment(env: type[Environment], options: BaseModel | None = None) -> CheckReport:
    """Check an environment with random actions on a few tasks of each split.

    Raises MissingRequirement if a package or program that the environment needs is not installed.
    """
    checker = _Checker(env, options)
    checker.check()
    mistakes = tuple(checker.mistakes.values())
    return CheckReport(mistakes, checker.unchecked, checker.tasks, checker.actions, checker.accepted)


class _Checker:
    def __init__(self, env: type[Environment], options: BaseModel | None) -> None:
        self._env, self._options = env, options
        path = Path(getattr(sys.modules.get(env.__module__), "__file__", None) or env.__name__)
        self._file = env.name if path.parent == OWN_FOLDERS[1] else path.name
        self.mistakes: dict[tuple[str, str], str] = {}
        """Maps the place and kind of each mistake to its line in the report. Mistakes found first come first."""
        self.unchecked: dict[str, str] = {}
        self._untestable_actions = set[str]()
        """The names of the actions that cannot be tried because a parameter has no usable type."""
        self._start_verdict = Verdict(False, 0.0)
        """The verdict on the current task before the first action."""
        self.tasks = self.actions = self.accepted = self._note_count = 0

    def check(self) -> None:
        """Find and note all mistakes in the environment."""
        self._check_class()
        if self._env.__abstractmethods__:
            return
        tasks: dict[tuple[str, str], Task] = {}  # a dict, since combined splits repeat tasks of other splits
        for split in self._env.task_splits(self._options) or ("",):
            try:
                tasks |= {(task.split, task.id): task for task in self._tasks_to_play(split)}
            except MissingRequirement as missing:
                self.unchecked[split] = str(missing)
        for task in tasks.values():
            self.tasks += 1
            with suppress(_AuthorCodeFailed):
                self._check_task(task)

    def _note(self, mistake: str, function: Callable[..., Any] | None = None, *, kind: str = "") -> None:
        """Note a mistake in a function. If several mistakes have the same kind and place, only the first is kept."""
        code = getattr(inspect.unwrap(function), "__code__", None) if function else None
        path = Path(code.co_filename) if code else Path()
        is_planbook_code = path.parent in OWN_FOLDERS and path.name != self._file
        place = f"{path.name}:{code.co_firstlineno}" if code and not is_planbook_code else self._file
        self.mistakes.setdefault((place, kind or mistake), f"{place}: {mistake}")
        self._note_count += 1

    def _call(self, call: str, function: Callable[..., Value], *arguments: Any) -> Value:
        """Call the author's code and return its result.

        If the code raises an error other than MissingRequirement, note a mistake and raise _AuthorCodeFailed.
        """
        try:
            return function(*arguments)
        except MissingRequirement:
            raise
        except EnvsError as error:
            fault = str(error) if self._file in str(error) else f"{self._file}: {error}"
            self.mistakes.setdefault((self._file, fault), fault)
            raise _AuthorCodeFailed from error
        except (Exception, SystemExit) as error:
            place = error_location(error, OWN_FOLDERS)[0] or self._file
            fault = f"{place}: {call} raised {type(error).__name__}: {' '.join(str(error).split())}"
            self.mistakes.setdefault((place, type(error).__name__), fault)
            raise _AuthorCodeFailed from error

    def _check_class(self) -> None:
        env = self._env
        for name in sorted(env.__abstractmethods__):
            self._note(f"{env.__name__} has no {name}(); define it")
        if not env.about:
            self._note(f"{env.__name__} has no docstring; write one that tells models what the environment is")
        if not env.splits:
            self._note(f'{env.__name__} has no splits; name at least one, such as splits = ("all",)')
        if not env.actions:
            self._note(f"{env.__name__} has no action; mark a method with @action()")
        specs = (*env.actions.values(), *env.queries.values())
        for spec in specs:
            self._check_spec(spec)
        attributes = [f"agent.{name}" for name in env.attributes]
        functions = {f"agent.{spec.name}": partial(spec.function, None) for spec in specs}
        examples = [(f"the example of {spec.name}", spec.example.partition(" -> ")[0], spec.function) for spec in specs]
        for subject, code, function in () if self._untestable_actions else (*examples, ("helpers", env.helpers, None)):
            faults = check(code, functions, attributes=attributes, modules=env.modules, allow_definitions_only=True)
            for fault in faults if code.strip() else ():
                self._note(f"{subject}, line {fault.line}: {fault.summary}", function)

    def _check_spec(self, spec: ActionSpec) -> None:
        if not spec.doc:
            self._note(f"{spec.name} has no docstring; write one that tells models what it does", spec.function)
        for parameter in spec.signature.parameters.values():
            if not is_json_type(parameter.annotation):
                fault = "a type that JSON does not have; use str, int, float, bool, list, dict or Literal"
                if parameter.annotation is parameter.empty:
                    fault = f"no type; add one, such as {parameter.name}: str"
                self._note(f"parameter {parameter} of {spec.name} has {fault}", spec.function)
                self._untestable_actions.add(spec.name)

    def _tasks_to_play(self, split: str) -> Sequence[Task]:
        """Return the tasks to play from a split, and note mistakes in the list that ``tasks()`` returns."""
        env, seeded = self._env, self._env.takes_seeds(split, self._options)
        selection = Selection(split=split or None, seeds=SEEDS if seeded else ())
        try:
            tasks = self._call("tasks()", partial(list_tasks, unique=False), env, selection, self._options)
            notes_before = self._note_count
            self._check_tasks(tasks, selection)
            if tasks != self._call("tasks()", list_tasks, env, selection, self._options):
                self._note("tasks() returns different tasks when it is called again; make them from seeds", env.tasks)
            if self._note_count > notes_before:
                return tasks[:MAX_TASKS]
            limited = selection.model_copy(update={"limit": MAX_TASKS})
            return self._call("tasks()", env.select, limited, self._options)
        except _AuthorCodeFailed:
            return ()

    def _check_tasks(self, tasks: Sequence[Task], selection: Selection) -> None:
        env = self._env
        splits = {*env.splits, *(part for parts in env.combined_splits.values() for part in parts)}
        for field, declared, used in (
            ("split", splits, {task.split for task in tasks}),
            ("type", {*env.task_types(self._options)}, {task.type for task in tasks}),
            ("env", {env.name}, {task.env for task in tasks}),
        ):
            for name in sorted(used - declared if declared else ()):
                known = ", ".join(map(repr, sorted(declared))) or "none"
                self._note(f"a task has the {field} {name!r}, but the class declares {known}", env.tasks)
        wrong_seeds = {task.seed for task in tasks} - {*selection.seeds}
        if wrong_seeds and selection.seeds and selection.split not in env.combined_splits:
            fault = f"for the seeds {SEEDS}, tasks() lists a task with seed {min(wrong_seeds)}"
            self._note(f"{fault}; read selection.seeds, or leave out seeded = True", env.tasks, kind="seeds")

    def _check_task(self, task: Task) -> None:
        env = self._call("__init__()", self._env, self._options)
        try:
            steps = self._play(env, task)
            if not (env.task or task).goal.strip():
                self._note("a task has no goal; say in a sentence what the agent must do", self._env.tasks)
            self._check_reports(env)
            verdict = self._call("verdict()", env.valid_verdict)
            if verdict.fault and self._start_verdict.fault and TOOL_FAILED not in self._start_verdict.fault:
                fault = self._start_verdict.fault
                advice = "It also raised after random actions; write an assertion that is false instead of raising"
                self.mistakes.setdefault((fault, "judge"), f"{fault}. {advice}")
            half = len(steps) // 2
            repeated, saved = self._begin(env, task), []
            for part in (steps[1 : half + 1], steps[half + 1 :]):
                repeated += self._continue(env, part)
                snapshot = self._call("snapshot()", env.snapshot)
                if snapshot.saved_state is not None:  # otherwise restore() just repeats actions, as done above
                    saved.append((snapshot, self._check_reports(env)))
            self._check_same(steps, repeated, task, "the environment was reset")
            if self._call("verdict()", env.valid_verdict) != verdict:
                self._note(f"verdict() differs on {task.id} after the same actions", self._env.verdict, kind="same")
            for snapshot, reports in saved * 2:  # twice: actions after restore() must not change a snapshot
                self._check_restoring(env, task, steps, snapshot, reports)
        finally:
            self._call("close()", env.close)

    def _play(self, env: Environment, task: Task) -> Steps:
        """Play an episode with random actions, and return its steps. The first step is ``begin()``."""
        rng = random.Random(f"{self._env.name}/{task.id}")
        steps = self._begin(env, task)
        self._start_verdict = self._call("verdict()", env.valid_verdict)
        if self._start_verdict.solved:
            self._note(f"the task {task.id!r} is solved before the first action", env.tasks, kind="solved")
        deadline = time.monotonic() + MAX_SECONDS
        while not env.ended and len(steps) <= MAX_ACTIONS and time.monotonic() <= deadline:
            action = self._random_action(env, task, steps[-1][1], rng)
            if action is None:
                break
            self.actions += 1
            steps.append((action, self._call(str(action), env.act, action)))
            self.accepted += steps[-1][1].accepted
        return steps

    def _begin(self, env: Environment, task: Task) -> Steps:
        return [(Action("begin"), self._call("begin()", env.reset, task))]

    def _continue(self, env: Environment, script: Steps) -> Steps:
        """Take the actions of a script until the episode ends, and return the steps."""
        steps: Steps = []
        for action, _ in script:
            if env.ended:
                break
            steps.append((action, self._call(str(action), env.act, action)))
        return steps

    def _random_action(self, env: Environment, task: Task, last: Observation, rng: random.Random) -> Action | None:
        """Return a random element of ``possible_actions()``.

        If there is none, return a random call of a random action, or None if no action can be tried. Half of the
        arguments are those of the action's example. Other strings are words of the goal, the params or the last
        observation.
        """
        possible: object = self._call("possible_actions()", env.possible_actions)
        possible = () if possible is None else possible
        if not isinstance(possible, Sequence) or not all(isinstance(action, Action) for action in possible):
            self._note("possible_actions() must return a list of Action objects", env.possible_actions)
            raise _AuthorCodeFailed
        if possible:
            chosen: Action = rng.choice(possible)
            return chosen
        specs = [spec for spec in env.offer.actions.values() if spec.name not in self._untestable_actions]
        if not specs:
            return None
        spec = rng.choice(specs)
        words = sorted({*re.findall(r"\w+", f"{task.goal} {last.text} {task.params}"), "nothing"})
        annotations = [parameter.annotation for parameter in spec.signature.parameters.values()]
        values = [random_value(annotation, words, rng) for annotation in annotations]
        example = _example_arguments(spec) or values
        return Action(spec.name, tuple(map(rng.choice, zip(values, example, strict=True))))

    def _check_same(self, steps: Steps, repeated: Steps, task: Task, event: str) -> None:
        for number, ((action, expected), (_, actual)) in enumerate(zip(steps, repeated, strict=False)):
            if expected != actual:
                spec = self._env.actions.get(action.name)
                source = f"{action} (action {number} on {task.id})" if number else f"begin() of {task.id}"
                fault = f"{source} returned a different result after {event}: {_format(expected)}, "
                fault += f"then {_format(actual)}; {COPY_ADVICE if event == 'restore()' else SEED_ADVICE}"
                self._note(fault, spec.function if spec else None, kind="same")
                raise _AuthorCodeFailed

    def _check_restoring(
        self, env: Environment, task: Task, steps: Steps, snapshot: Snapshot, reports: Mapping[str, str]
    ) -> None:
        """Check that restore() restores a snapshot and its reports, and that later steps have the same results."""
        expected, remaining = steps[len(snapshot.history)][1], steps[len(snapshot.history) + 1 :]
        actual = self._call("restore()", env.restore, snapshot)
        if env.restore_caveat:  # the class declares that restore() does not restore everything
            return
        if actual != expected:
            fault = f"restore() returns {_format(actual)} on {task.id}, but the snapshot was made after"
            self._note(f"{fault} {_format(expected)}", env._load, kind="restored")
            return
        for name, report in self._check_reports(env).items():
            if report != reports[name]:
                fault = f"restore() on {task.id} restores a different {name}: {report:.60}, not {reports[name]:.60}"
                self._note(f"{fault}; {COPY_ADVICE}", env._load, kind="restored")
                return
        self._check_same(remaining, self._continue(env, remaining), task, "restore()")

    def _check_reports(self, env: Environment) -> dict[str, str]:
        """Check the results of the methods in REPORT_TYPES, the attributes' values, and queries without parameters.

        Return these results and the verdict, each as text.
        """
        reports: dict[str, Any] = {"verdict": self._call("verdict()", env.valid_verdict)}
        for name, expected in REPORT_TYPES.items():
            report = reports[name] = self._call(f"{name}()", getattr(env, name))
            if not isinstance(report, expected):
                self._note(f"{name}() returns {type(report).__name__}, not a {expected.__name__}", getattr(env, name))
            elif name == "measures":
                self._call("measures()", env.finite_measures)
        if not isinstance(values := reports.pop("attribute_values"), Mapping):
            return {}
        for name in env.attributes:
            if name not in values:
                self._note(f"attribute_values() has no {name!r}, which `attributes` declares", env.attribute_values)
        answers = {f"attribute {name}": value for name, value in values.items()}
        for name, spec in env.offer.queries.items():
            if not spec.signature.parameters:
                answers[f"query {name}"] = self._call(f"{name}()", getattr(env, name))
        for source, value in answers.items():
            try:
                JSON.validate_python(value, strict=True)
            except ValidationError:
                kind = type(value).__name__
                if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
                    kind = "dict with keys that are not strings"
                self._note(f"the {source} is a {kind}, which JSON cannot represent")
        return {name: repr(report) for name, report in (reports | answers).items()}


def _example_arguments(spec: ActionSpec) -> tuple[JsonValue, ...]:
    """Return the arguments of an action's example, or () if it is not one call with literal arguments."""
    try:
        call = ast.parse(spec.example.partition(" -> ")[0].strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        keywords = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
        return spec.bind(*map(ast.literal_eval, call.args), **keywords).args
    except (AssertionError, SyntaxError, TypeError, ValueError):
        return ()


def _format(observation: Observation) -> str:
    """Return the start of an observation's text, and say whether the observation ended the episode."""
    text = observation.text if len(observation.text) <= 60 else f"{observation.text[:57]}..."
    flags = [name for name in ("terminated", "truncated") if getattr(observation, name)]
    return " and ".join([repr(text), *flags])
