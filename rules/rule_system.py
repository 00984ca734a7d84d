"""The object ``rule_system``, through which a model's code edits rules: it calls ``rule_system.write_rule`` and so on.

All edits in one piece of code form a batch, which is applied as a whole or not at all.
"""

from collections.abc import Callable
from dataclasses import dataclass

from planbook.rules.book import Batch, DeleteRule, Edit, RuleBook, RuleChange, UpdateRule, WriteRule
from planbook.rules.edit_batch import BatchRefused, Draft
from planbook.rules.permissions import Permissions
from planbook.sandbox import CellResult, Sandbox, check

SYSTEM = "rule_system"
TryCheck = Callable[[str], str]
"""A function that returns the problem with a rule's check, or "" if the check can be used."""
Trajectories = Callable[[list[str]], str]
"""A function that returns the episodes with the given ids as text. It raises LookupError for an unknown id."""


class RuleSystem:
    """Collects the edits of one piece of code into a batch. The book itself is never changed.

    ``batch`` has no edits yet. If its author is the Builder, edits that are not permitted are left out; for any other
    author, they invalidate the whole batch. If ``trajectories`` is None, the code cannot read earlier episodes. If
    ``verify`` is None, checks of rules are accepted without trying them.
    """

    def __init__(
        self,
        book: RuleBook,
        permissions: Permissions,
        batch: Batch,
        trajectories: Trajectories | None = None,
        verify: TryCheck | None = None,
    ) -> None:
        self.batch, self._permissions, self._trajectories, self._verify = batch, permissions, trajectories, verify
        self.draft = Draft(book, permissions, lenient=batch.who == "builder")
        self.calls = 0
        """Number of calls so far, including refused ones."""
        self.stopped = False
        """True after ``stop_generating`` was called. No edit may follow."""
        self.shown: list[str] = []
        """The results of ``get_trajectory`` so far."""

    def functions(self) -> dict[str, Callable[..., object]]:
        """Return the permitted functions, keyed by their names in the code, such as ``rule_system.write_rule``."""
        functions: dict[str, tuple[object, Callable[..., object]]] = {
            "write_rule": (self._permissions.writes, self.write_rule),
            "update_rule": (self._permissions.updates, self.update_rule),
            "delete_rule": (self._permissions.deletes, self.delete_rule),
            "get_trajectory": (self._trajectories, self.get_trajectory),
            "stop_generating": (True, self.stop_generating),
        }
        return {f"{SYSTEM}.{name}": function for name, (permitted, function) in functions.items() if permitted}

    def write_rule(
        self,
        content: str,
        type: str = "",
        example: str = "",
        log: str = "",
        builds_on: list[str] | None = None,
        check: str = "",
    ) -> str:
        """Write a new rule and return its id, which later calls may name."""
        ids = tuple(builds_on or ())
        return self._edit(WriteRule(content=content, type=type, example=example, log=log, builds_on=ids, check=check))

    def update_rule(
        self,
        rule_id: str,
        content: str = "",
        type: str = "",
        example: str = "",
        log: str = "",
        builds_on: list[str] | None = None,
        check: str = "",
    ) -> str:
        """Replace the given attributes of a rule and append ``log`` to its log. Other attributes stay unchanged."""
        return self._edit(
            UpdateRule(
                id=rule_id,
                content=content or None,
                type=type or None,
                example=example or None,
                log=log,
                builds_on=None if builds_on is None else tuple(builds_on),
                check=check or None,
            )
        )

    def delete_rule(self, rule_id: str) -> str:
        """Delete a rule."""
        return self._edit(DeleteRule(id=rule_id))

    def get_trajectory(self, episode_ids: list[str]) -> str:
        """Return earlier episodes as text."""
        self._count_call("get_trajectory")
        assert self._trajectories is not None, "this function is offered only if there are trajectories"
        self.shown.append(self._trajectories(episode_ids))
        return self.shown[-1]

    def stop_generating(self) -> None:
        """End the editing."""
        self.calls += 1
        self.stopped = True

    def _edit(self, edit: Edit) -> str:
        self._count_call(str(edit))
        rule_check = None if isinstance(edit, DeleteRule) else edit.check
        if rule_check and self._verify and (problem := self._verify(rule_check)):
            self.draft.refuse(str(edit), problem)
            raise ValueError(problem)
        id, faults = self.draft.add(edit)
        if faults:
            raise ValueError("; ".join(fault.message for fault in faults))
        return id

    def _count_call(self, call: str) -> None:
        self.calls += 1
        if self.stopped:
            message = "stop_generating was called before this call: call it last"
            self.draft.refuse(call, message)
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class EditResult:
    """The result of running a model's edits.

    If the edits were refused, ``change`` is None, and ``message`` explains the faults to the model. Otherwise
    ``message`` holds what the code printed, followed by the episodes that it requested but did not print.
    """

    change: RuleChange | None
    message: str
    stopped: bool = False
    left_out: tuple[str, ...] = ()
    """Messages about edits that were not permitted, and therefore left out."""


def run_edits(sandbox: Sandbox, system: RuleSystem, code: str) -> EditResult:
    """Run a model's code in a new session of the sandbox, and accept or refuse its edits as a whole.

    ``system`` must be new, without edits of other code.
    """
    functions = system.functions()
    if faults := check(code, functions):
        return _refused("The code was not run", [str(fault) for fault in faults])
    with sandbox.session(functions) as session:
        result = session.run(code, "edits")
    if problems := _problems(system, result):
        return _refused("The code did not run to its end" if result.faults else "Some calls are invalid", problems)
    if not system.calls:
        names = ", ".join(functions)
        return _refused(
            "The code made no calls", [f"call {names}; {SYSTEM}.stop_generating() if there is nothing to do"]
        )
    try:
        change = system.draft.change(system.batch)
    except BatchRefused as refused:
        return _refused("The calls do not fit together", [str(fault) for fault in refused.faults])
    left_out = tuple(f"{fault}. It was left out." for fault in system.draft.left_out)
    return EditResult(change, _output(system, result), system.stopped, left_out)


def _problems(system: RuleSystem, result: CellResult) -> list[str]:
    """Return the reasons to refuse the edits. A refused call is a reason even if the code caught its exception."""
    problems = [str(fault) for fault in result.faults]
    problems += [
        str(fault) for fault in system.draft.faults if not any(fault.message in problem for problem in problems)
    ]
    if not result.faults and (invalid := result.host_calls - system.calls):
        problems.append(
            f"calls with invalid arguments: {invalid}; the code caught the errors and went on: correct the arguments, "
            "and do not catch the errors"
        )
    return problems


def _refused(reason: str, problems: list[str]) -> EditResult:
    lines = "\n".join(f"- {problem}" for problem in problems)
    return EditResult(None, f"{reason}, and nothing was changed:\n{lines}\nWrite the whole block again.")


def _output(system: RuleSystem, result: CellResult) -> str:
    not_printed = [text for text in system.shown if text.strip() not in result.output]
    return "\n\n".join(part for part in (result.output.rstrip(), *not_printed) if part)
