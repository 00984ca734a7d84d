"""Collects the faults of one plan, with their lines."""

import ast

from planbook.sandbox.policy.base import MAX_PROBLEMS
from planbook.sandbox.protocol import MAX_FAULT_TEXT
from planbook.sandbox.reading.syntax import code_lines, shown_line
from planbook.sandbox.suggest import Guesses
from planbook.sandbox.types import Fault, FaultKind


class Report:
    """The faults found so far, up to MAX_PROBLEMS, as the policy does."""

    def __init__(self, code: str) -> None:
        self.lines = code_lines(code)
        self.faults: list[Fault] = []
        self.guess = Guesses().closest

    @property
    def full(self) -> bool:
        """Whether there is no use in looking for more."""
        return len(self.faults) >= MAX_PROBLEMS

    def add(self, node: ast.AST | None, name: str, message: str, hint: str = "") -> None:
        """Note a fault at a node; None: at the plan as a whole."""
        if node is None or not hasattr(node, "lineno"):
            self.faults.append(Fault(FaultKind.CHECK, name, _cut(message), hint=_cut(hint)))
            return
        line, bytes_before = node.lineno, getattr(node, "col_offset", 0)
        source = self.lines[line - 1] if line <= len(self.lines) else ""
        column = len(source.encode()[:bytes_before].decode("utf-8", "ignore"))
        shown = shown_line(self.lines, line)
        self.faults.append(Fault(FaultKind.CHECK, name, _cut(message), line, column, shown, _cut(hint)))

    def sorted(self) -> tuple[Fault, ...]:
        """All faults by place, each said once."""
        unique = dict.fromkeys(self.faults)
        return tuple(sorted(unique, key=lambda fault: (fault.line or 0, fault.column or 0)))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_FAULT_TEXT else f"{text[: MAX_FAULT_TEXT - 3]}..."
