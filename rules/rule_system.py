"""The object ``rule_system``, through which a model's code edits rules: it calls ``rule_system.write_rule`` and so on.

All edits in one piece of code form a batch, which is applied as a whole or not at all. Each edit is checked against the
rules as they are after the previous edits.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from planbook.rules.book import Batch, ChangedRule, RuleBook, RuleChange, cited_ids
from planbook.rules.edit_faults import (
    BatchRefused,
    Denial,
    EditFault,
    attribute_faults,
    delete_faults,
    dependence_faults,
    type_of,
    update_faults,
    write_faults,
)
from planbook.rules.permissions import Permissions
from planbook.rules.types import Rule, rule_id, rule_number
from planbook.sandbox import CellResult, Sandbox, check

SYSTEM_NAME = "rule_system"
"""The name of the object in a model's code."""
TryCheck = Callable[[str], str]
"""A function that returns the problem with a rule's check, or "" if the check can be used."""
Trajectories = Callable[[list[str]], str]
"""A function that returns the episodes with the given ids as text. It raises LookupError for an unknown id."""


class RuleSystem:
    """Collects the edits of one piece of code into a batch. The book itself is never changed.

    A new rule gets its id as soon as it is written, so that later edits can name the rule. If the author of ``batch``
    is the Builder, edits that are not permitted are left out; for any other author, they invalidate the whole batch. If
    ``trajectories`` is None, the code cannot read earlier episodes. If ``try_check`` is None, checks of rules are
    accepted without a trial.
    """

    def __init__(
        self,
        book: RuleBook,
        permissions: Permissions,
        batch: Batch,
        trajectories: Trajectories | None = None,
        try_check: TryCheck | None = None,
    ) -> None:
        self._original, self._permissions, self._batch = book, permissions, batch
        self._trajectories, self._try_check = trajectories, try_check
        self.calls = 0
        """Number of calls so far, including refused ones."""
        self.stopped = False
        """True after ``stop_generating`` was called. No edit may follow."""
        self.trajectories_shown: list[str] = []
        """The results of ``get_trajectory`` so far."""
        self.faults: list[EditFault] = []
        """The faults of single edits so far. Faults of the batch as a whole are not included."""
        self.left_out: list[EditFault] = []
        """The reasons why edits of the Builder were left out."""
        self._edits: list[str] = []
        """All edits so far, such as ``update_rule rule_3``, including refused ones. They are numbered from 1."""
        self._rules = {rule.id: rule for rule in book.active}
        self._next = book.next_number
        self._assigned: list[str] = []
        self._last_edits: dict[str, int] = {}
        """Maps the id of each edited rule to the number of its last edit."""
        self._deleted: dict[str, int] = {}
        self._refused: set[str] = set()
        """Ids of refused new rules. Later edits of these rules are ignored, and ``builds_on`` omits these ids."""
        self._has_valid_edit = False

    def functions(self) -> dict[str, Callable[..., object]]:
        """Return the permitted functions, keyed by their names in the code, such as ``rule_system.write_rule``."""
        functions: dict[str, tuple[object, Callable[..., object]]] = {
            "write_rule": (self._permissions.writes, self.write_rule),
            "update_rule": (self._permissions.updates, self.update_rule),
            "delete_rule": (self._permissions.deletes, self.delete_rule),
            "get_trajectory": (self._trajectories, self.get_trajectory),
            "stop_generating": (True, self.stop_generating),
        }
        return {f"{SYSTEM_NAME}.{name}": function for name, (permitted, function) in functions.items() if permitted}

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
        self._begin_edit("write_rule", check)
        id = rule_id(self._next)
        self._next += 1
        self._assigned.append(id)
        texts = {"content": content} | _non_empty(type=type, example=example, log=log, check=check)
        return self._end_edit(id, self._write(id, texts, builds_on or []))

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
        self._begin_edit(f"update_rule {rule_id}", check)
        texts = _non_empty(content=content, type=type, example=example, log=log, check=check)
        return self._end_edit(rule_id, self._update(rule_id, texts, builds_on))

    def delete_rule(self, rule_id: str) -> str:
        """Delete a rule."""
        self._begin_edit(f"delete_rule {rule_id}")
        return self._end_edit(rule_id, self._delete(rule_id))

    def get_trajectory(self, episode_ids: list[str]) -> str:
        """Return earlier episodes as text."""
        self._count_call("get_trajectory")
        assert self._trajectories is not None, "this function is offered only if there are trajectories"
        self.trajectories_shown.append(self._trajectories(episode_ids))
        return self.trajectories_shown[-1]

    def stop_generating(self) -> None:
        """End the editing."""
        self.calls += 1
        self.stopped = True

    def change(self) -> RuleChange:
        """Return the change that all edits make. Raises BatchRefused if there are faults."""
        if faults := sorted(self.faults + self._batch_faults(), key=lambda fault: fault.number):
            raise BatchRefused(faults)
        return self._build_change()

    def valid_part(self) -> RuleChange | None:
        """Return the change that the valid edits make if the others are left out.

        Return None if there are no valid edits, or if they cannot be applied alone, for example because one of them
        names a refused rule.
        """
        self._assigned = [id for id in self._assigned if id in self._rules]
        return self._build_change() if self._has_valid_edit and not self._batch_faults() else None

    def _build_change(self) -> RuleChange:
        before = {rule.id: rule for rule in self._original.active}
        ids = sorted({*before, *self._rules}, key=rule_number)
        rules = [ChangedRule(id=id, before=before.get(id), after=self._rules.get(id)) for id in ids]
        changed = tuple(rule for rule in rules if rule.before != rule.after)
        return RuleChange(batch=self._batch, assigned=tuple(self._assigned), touched=changed, next_number=self._next)

    @property
    def _book(self) -> RuleBook:
        """The book after the edits so far."""
        return RuleBook.from_rules(self._rules.values(), self._next)

    # One edit.

    def _begin_edit(self, edit: str, check: str = "") -> None:
        """Give an edit its number. Raises ValueError if the editing has ended, or if the check cannot be used."""
        self._count_call(edit)
        if check and self._try_check and (problem := self._try_check(check)):
            self._refuse(edit, problem)
        self._edits.append(edit)

    def _count_call(self, call: str) -> None:
        self.calls += 1
        if self.stopped:
            self._refuse(call, "stop_generating was called before this call: call it last")

    def _refuse(self, call: str, message: str) -> NoReturn:
        self._edits.append(call)
        self.faults.append(self._fault(len(self._edits), message))
        raise ValueError(message)

    def _end_edit(self, id: str, messages: list[str]) -> str:
        """Record the faults of the current edit, which edits the rule ``id``. Return the id.

        Raises ValueError if there are faults, unless the edit is left out.
        """
        number = len(self._edits)
        faults = [self._fault(number, message) for message in messages]
        if self._batch.who == "builder" and faults and all(isinstance(message, Denial) for message in messages):
            self._leave_out(id, faults)
            return id
        if id not in self._refused:
            self._last_edits[id] = number
            self._has_valid_edit = self._has_valid_edit or not faults
        self.faults += faults
        if faults:
            raise ValueError("; ".join(messages))
        return id

    def _leave_out(self, id: str, faults: list[EditFault]) -> None:
        self.left_out += faults
        self._deleted.pop(id, None)
        if id in self._refused:
            self._assigned.remove(id)

    def _write(self, id: str, texts: Mapping[str, str], builds_on: list[str]) -> list[str]:
        known = self._not_refused(builds_on)
        messages = [*attribute_faults(texts, self._permissions.form), *dependence_faults(id, known, self._book)]
        type = None
        try:
            type = type_of(texts, self._permissions.form)
        except ValueError as error:
            messages.append(str(error))
        else:
            messages += write_faults(type, self._permissions)
        if messages:
            self._refused.add(id)
        else:
            self._rules[id] = Rule(id=id, type=type, builds_on=known, log=_entries(texts), **_trimmed_texts(texts))
        return messages

    def _update(self, id: str, texts: Mapping[str, str], builds_on: list[str] | None) -> list[str]:
        if id in self._refused:
            return []
        if id in self._deleted:
            return [f"edit {self._deleted[id]} in this batch deletes {id}: either update it or delete it"]
        if (rule := self._rules.get(id)) is None:
            return [self._book.missing_rule_message(id)]
        adds_log_only = texts.keys() <= {"log"} and builds_on is None
        if adds_log_only and not _entries(texts):
            return ["no attributes were given: pass those that should change"]
        messages = [*attribute_faults(texts, self._permissions.form)]
        messages += [] if adds_log_only else update_faults(rule, texts, self._permissions)
        messages += dependence_faults(id, self._not_refused(builds_on or []), self._book)
        if messages:
            return messages
        self._rules[id] = updated = self._updated(rule, texts, builds_on)
        return [] if updated != rule else ["this changes nothing: every attribute is as it was"]

    def _updated(self, rule: Rule, texts: Mapping[str, str], builds_on: list[str] | None) -> Rule:
        new: dict[str, object] = {"log": (*rule.log, *_entries(texts)), **_trimmed_texts(texts)}
        if "type" in texts:
            new["type"] = type_of(texts, self._permissions.form)
        if builds_on is not None:
            new["builds_on"] = self._not_refused(builds_on)
        return rule.model_copy(update=new)

    def _delete(self, id: str) -> list[str]:
        if id in self._refused:
            return []
        if id in self._deleted:
            return [f"edit {self._deleted[id]} in this batch already deletes {id}: delete it only once"]
        if (rule := self._rules.get(id)) is None:
            return [self._book.missing_rule_message(id)]
        messages = list(delete_faults(rule, self._permissions))
        if id in self._last_edits:
            messages.append(f"edit {self._last_edits[id]} in this batch changes {id}: either update it or delete it")
        self._deleted[id] = len(self._edits)
        if not messages:
            del self._rules[id]
        return messages

    def _not_refused(self, ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(id for id in dict.fromkeys(ids) if id not in self._refused)

    # The batch as a whole.

    def _batch_faults(self) -> list[EditFault]:
        return [*self._orphaned_citations(), *self._unknown_citations(), *self._duplicates()]

    def _orphaned_citations(self) -> list[EditFault]:
        """Return a fault for each deleted rule that other rules still cite."""
        book = self._book
        return [
            self._fault(
                number,
                f"{', '.join(citing)} would still name {id}: update {'it' if len(citing) == 1 else 'them'} in the same "
                f"batch so that {id} is no longer named (content, example, builds_on), or keep {id}",
            )
            for id, number in self._deleted.items()
            if id not in self._rules and (citing := book.cited_by(id))
        ]

    def _unknown_citations(self) -> list[EditFault]:
        """Return a fault for each id that an edited rule newly cites, although no rule in this batch has had it.

        Without this check, a later rule might get this id, and the text would name the wrong rule.
        """
        cited_before = {rule.id: set(cited_ids(rule)) for rule in self._original.active}
        known_ids = {*self._rules, *self._deleted, *self._assigned}
        return [
            self._fault(number, f"the text names {cited}, but {self._missing_rule_message(cited)}")
            for id, number in self._last_edits.items()
            if id in self._rules
            for cited in cited_ids(self._rules[id])
            if cited not in known_ids | cited_before.get(id, set())
        ]

    def _missing_rule_message(self, id: str) -> str:
        if id in self._refused:
            return "this rule is not permitted, and was left out: do not name it"
        return self._book.missing_rule_message(id)

    def _duplicates(self) -> list[EditFault]:
        """Return a fault for each new or changed rule with the same content as another rule."""
        content_before = {rule.id: rule.content for rule in self._original.active}
        first_ids: dict[str, str] = {}
        faults = []
        for rule in sorted(self._book.active, key=lambda rule: rule.content != content_before.get(rule.id)):
            twin = first_ids.setdefault(" ".join(rule.content.split()).casefold(), rule.id)
            if twin != rule.id and rule.content != content_before.get(rule.id):
                message = f"its content is the same as that of {twin}: update {twin} instead, or say how they differ"
                faults.append(self._fault(self._last_edits[rule.id], message))
        return faults

    def _fault(self, number: int, message: str) -> EditFault:
        return EditFault(number, self._edits[number - 1], message)


def _non_empty(**texts: str) -> dict[str, str]:
    """Return the texts that are not empty. An empty text means that the attribute was not given."""
    return {name: text for name, text in texts.items() if text}


def _trimmed_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the given content, example and check, trimmed. The first line of code keeps its indentation."""
    trimmed = {name: re.sub(r"\A\s*\n", "", texts[name]).rstrip() for name in ("example", "check") if name in texts}
    return trimmed | ({"content": texts["content"].strip()} if "content" in texts else {})


def _entries(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the entry that an edit adds to a rule's log, or nothing."""
    entry = texts.get("log", "").strip()
    return (entry,) if entry else ()


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
            "The code made no calls", [f"call {names}; {SYSTEM_NAME}.stop_generating() if there is nothing to do"]
        )
    try:
        change = system.change()
    except BatchRefused as refused:
        return _refused("The calls do not fit together", [str(fault) for fault in refused.faults])
    left_out = tuple(f"{fault}. It was left out." for fault in system.left_out)
    return EditResult(change, _output(system, result), system.stopped, left_out)


def _problems(system: RuleSystem, result: CellResult) -> list[str]:
    """Return the reasons to refuse the edits. A refused call is a reason even if the code caught its exception."""
    problems = [str(fault) for fault in result.faults]
    problems += [str(fault) for fault in system.faults if not any(fault.message in problem for problem in problems)]
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
    not_printed = [text for text in system.trajectories_shown if text.strip() not in result.output]
    return "\n\n".join(part for part in (result.output.rstrip(), *not_printed) if part)
