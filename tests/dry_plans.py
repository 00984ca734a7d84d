"""Random plans, their dry runs, and real runs to compare them with.

A dry run evaluates a plan without acting and reports the calls that cannot succeed.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from planbook.envs import Action, Beliefs, Environment, EpisodeEnded, Preconditions, Task
from planbook.planner import functions_to_check, plan_attributes
from planbook.planner.dry_runs import KnownState
from planbook.sandbox import DryRun, dry_run


class Recorder:
    """An ``agent`` for plans that run in this process. It records which calls the environment accepts.

    ``accepted`` maps each line to a list with one item for each of its calls, in order.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.accepted: dict[int, list[bool]] = defaultdict(list)

    def __getattr__(self, name: str) -> Any:
        if name in self._environment.attributes:
            return self._environment.attribute_values()[name]
        if name in self._environment.queries:
            return getattr(self._environment, name)
        spec = self._environment.actions[name]

        def call(*args: Any, **kwargs: Any) -> str:
            line = sys._getframe(1).f_lineno
            action: Action = spec.bind(*args, **kwargs)
            observation = self._environment.act(action)
            self.accepted[line].append(observation.accepted)
            return observation.text

        return call


def run_for_real(environment: Environment, task: Task, plan: str) -> Mapping[int, Sequence[bool]]:
    """Run a plan in the environment until it ends or raises an exception. Return ``Recorder.accepted``."""
    observation = environment.reset(task)
    agent = Recorder(environment)
    shown = type("Task", (), {"params": task.params, "observation": observation.text})
    namespace: dict[str, Any] = {}
    exec(compile(environment.helpers, "<helpers>", "exec"), namespace)
    with suppress(EpisodeEnded, AssertionError, LookupError, ValueError, TypeError):
        exec(compile(plan, "<plan>", "exec"), {**namespace, "agent": agent, "task": shown})
    return agent.accepted


def dry_run_of(
    environment: type[Environment], declared: Preconditions, plan: str, *, helpers: str = "", **values: object
) -> DryRun:
    """Return the dry run of a plan."""
    return dry_run(
        plan,
        functions_to_check(environment),
        KnownState(declared, environment.offered().actions, Beliefs.at_start(declared)),
        attributes=plan_attributes(environment),
        values=values,
        helpers=[environment.helpers, helpers],
    )


Call = Callable[[Random, Sequence[str]], str]
"""Writes one random call. Its arguments may be the variables with these names."""
UNKNOWN_TESTS = ("len(seen) % 2", "len(seen) % 3 == 0", "'a' in seen", "'Nothing' in seen")
KNOWN_TESTS = ("count > 1", "not picked", "len(picked) < 2", "agent.holding == 'nothing'", "picked or count")


class PlanWriter:
    """Writes random plans: calls in branches, loops, functions and try statements, at most one call on a line."""

    def __init__(self, rng: Random, call: Call, words: Sequence[str]) -> None:
        self._rng, self._call, self._words = rng, call, words
        self._number = 0

    def plan(self) -> str:
        """Return a plan of about three dozen lines."""
        lines = ["seen, count, picked = '', 0, []", *self._block((), self._rng.randint(4, 9), 0)]
        return "\n".join(lines) + "\n"

    def _block(self, names: tuple[str, ...], size: int, depth: int, loop: bool = False) -> list[str]:
        lines: list[str] = []
        for _ in range(size):
            write = self._rng.choice(SIMPLE if depth > 2 else (*SIMPLE, *NESTED))
            lines += write(self, names, depth)
        if loop and self._rng.random() < 0.4:
            lines += [f"if {self._test()}:", f"    {self._rng.choice(['break', 'continue'])}"]
        return lines

    def _test(self) -> str:
        return self._rng.choice((*UNKNOWN_TESTS, *KNOWN_TESTS))

    def _inner(self, names: tuple[str, ...], depth: int, loop: bool = False) -> list[str]:
        return [f"    {line}" for line in self._block(names, self._rng.randint(1, 3), depth + 1, loop)]

    def _some(self) -> str:
        return repr([self._rng.choice(self._words) for _ in range(self._rng.randint(1, 3))])

    def _name(self) -> str:
        self._number += 1
        return f"each_{self._number}"

    def one_call(self, names: tuple[str, ...], depth: int) -> list[str]:
        return [f"seen = {self._call(self._rng, names)}"]

    def value(self, names: tuple[str, ...], depth: int) -> list[str]:
        word = repr(self._rng.choice(self._words))
        return [
            self._rng.choice(
                [f"picked.append({word})", "count += 1", f"picked = [{word}]", "picked = (picked + picked[:1])[:4]"]
            )
        ]

    def unseen(self, names: tuple[str, ...], depth: int) -> list[str]:
        name = self._name()
        call = self._call(self._rng, (*names, name))
        return [
            self._rng.choice(
                [
                    f"seen = str([{call} for {name} in {self._some()}])",
                    f"seen = str(any('a' in {call} for {name} in {self._some()}))",
                    f"seen = str(list(map(lambda {name}: {call}, {self._some()})))",
                    f"seen = sorted({self._some()}, key=lambda {name}: len({name}))[0]",
                    f"seen = {call} if {self._test()} else ''".replace(name, repr(self._words[0])),
                ]
            )
        ]

    def branch(self, names: tuple[str, ...], depth: int) -> list[str]:
        lines = [f"if {self._test()}:", *self._inner(names, depth)]
        return [*lines, "else:", *self._inner(names, depth)] if self._rng.random() < 0.5 else lines

    def loop(self, names: tuple[str, ...], depth: int) -> list[str]:
        name = self._name()
        over = self._rng.choice(
            [self._some(), "list(picked)[:3]", "picked[:3]", "sorted(picked, key=len)[:3]", "seen.split()[:3]"]
        )
        return [f"for {name} in {over}:", *self._inner((*names, name), depth, loop=True)]

    def turns(self, names: tuple[str, ...], depth: int) -> list[str]:
        name = self._name()
        test = self._rng.choice([f"{name} < 2", f"{name} < 3 and {self._rng.choice(UNKNOWN_TESTS)}"])
        return [f"{name} = 0", f"while {test}:", f"    {name} += 1", *self._inner(names, depth, loop=True)]

    def caught(self, names: tuple[str, ...], depth: int) -> list[str]:
        lines = ["try:", *self._inner(names, depth), "    seen = [seen][len(seen) % 2]", *self._inner(names, depth)]
        lines += ["except IndexError:", *self._inner(names, depth)]
        return [*lines, "finally:", *self._inner(names, depth)] if self._rng.random() < 0.4 else lines

    def function(self, names: tuple[str, ...], depth: int) -> list[str]:
        name, given = self._name(), self._name()
        leave = ["    if len(seen) % 2:", "        return seen"] if self._rng.random() < 0.4 else []
        lines = [f"def {name}({given}, seen=''):", "    count, picked = 0, []", *leave, *self._inner((given,), depth)]
        calls = [f"seen = str({name}({self._rng.choice(self._words)!r}))" for _ in range(self._rng.randint(0, 2))]
        leak = [f"seen = str([*map({name}, {self._some()})])"] if self._rng.random() < 0.2 else []
        return [*lines, *calls, *leak]


SIMPLE = (PlanWriter.one_call, PlanWriter.one_call, PlanWriter.one_call, PlanWriter.value, PlanWriter.unseen)
NESTED = (PlanWriter.branch, PlanWriter.loop, PlanWriter.turns, PlanWriter.caught, PlanWriter.function)


def wrong_reports(plan: str, run: DryRun, accepted: Mapping[int, Sequence[bool]]) -> list[str]:
    """Return the reports of a dry run that are wrong because the environment accepted a call on the reported line.

    Reports on calls inside a function are not examined, because other callers of the function share the line.
    """
    reported = [fault for fault in run.faults if ", called in " not in fault.message]
    return [f"{fault}\n{plan}" for fault in reported if any(accepted.get(fault.line or 0, ()))]
