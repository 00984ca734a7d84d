"""The policy of imports: listed modules, and names that they have."""

import ast
from collections.abc import Iterable

from planbook.sandbox.policy.base import BasePolicy, N
from planbook.sandbox.policy.hints import MEMBER_HINTS, MODULE_HINTS
from planbook.sandbox.policy.rules import IMPORT, did_you_mean, last_name, members, public
from planbook.sandbox.policy.tables import MODULES

MAY_BE_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
"""Who catches one of these expects that a module may be missing."""

MOST_SHOWN = 60
"""Names of a module that a hint lists."""
_KNOWN = f"what a plan is given needs no import; modules are: {', '.join(sorted(MODULES))}"


class ImportPolicy(BasePolicy):
    """Checks import statements, and what is then read from the imported modules."""

    def __init__(
        self, bound: Iterable[str] = (), known: frozenset[str] = frozenset(), modules: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(bound, known, modules)
        self.modules: dict[str, str] = {}
        """Variable to the module that it was imported as."""
        self.members: list[ast.Attribute] = []
        """Attributes read from plain variables: of a module, perhaps."""
        self._caught = 0
        """How many blocks that expect a failing import, or never run, enclose the current node."""

    def visit_Try(self, node: ast.Try) -> ast.AST:  # noqa: N802
        """An import whose failure is caught may fail as in Python, when it runs."""
        caught = any(_catches_import(handler.type) for handler in node.handlers)
        self._caught += caught
        node.body = self._visit_all(node.body)
        self._caught -= caught
        node.handlers, node.orelse = self._visit_all(node.handlers), self._visit_all(node.orelse)
        node.finalbody = self._visit_all(node.finalbody)
        return node

    def visit_TryStar(self, node: ast.AST) -> ast.AST:  # noqa: N802
        """Do as for ``try``."""
        return self.visit_Try(node)  # type: ignore[arg-type]

    def visit_If(self, node: ast.If) -> ast.AST:  # noqa: N802
        """What stands under ``if TYPE_CHECKING`` never runs."""
        never = last_name(node.test) == "TYPE_CHECKING"
        node.test = self.visit(node.test)
        self._caught += never
        node.body = self._visit_all(node.body)
        self._caught -= never
        node.orelse = self._visit_all(node.orelse)
        return node

    def _visit_all(self, nodes: list[N]) -> list[N]:
        return [self.visit(node) for node in nodes]

    def visit_Import(self, node: ast.Import) -> ast.AST:  # noqa: N802
        """Only the listed modules."""
        for alias in node.names:
            top = alias.name.partition(".")[0]
            variable, module = (alias.asname, alias.name) if alias.asname else (top, top)
            self.judge_name(node, variable)
            if not self._may_import(alias.name):
                self._refuse_module(node, alias.name)
            elif self.modules.setdefault(variable, module) != module:
                self.bound.add(variable)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:  # noqa: N802
        """Only names that the listed modules have; ``*`` is written out. Python itself judges ``__future__``."""
        module = "." * node.level + (node.module or "")
        if module == "__future__":
            return node
        if not self._may_import(module):
            self._refuse_module(node, module)
            return node
        for alias in node.names:
            if alias.name == "*" and self._is_listed(module):
                node.names = [ast.copy_location(ast.alias(name), alias) for name in public(module)]
                self.bound.update(name.name for name in node.names)
                return node if node.names else ast.copy_location(ast.Pass(), node)
            self.check_name(node, alias.asname or alias.name)
            self._check_member(node, module, alias.name)
        return node

    def check_members(self) -> None:
        """Judge what is read from modules, once it is known which variables are nothing else."""
        for node in self.members:
            variable = getattr(node.value, "id", "")
            if variable in self.modules and variable not in self.bound:
                self._check_member(node, self.modules[variable], node.attr)

    def _is_listed(self, module: str) -> bool:
        """Return whether it is known what the module has; nothing else is imported here."""
        return module in MODULES or module in self.more_modules

    def _may_import(self, module: str) -> bool:
        return module in MODULES or module.partition(".")[0] in self.more_modules

    def _refuse_module(self, node: ast.AST, name: str) -> None:
        if self._caught:
            return
        hint = MODULE_HINTS.get(name) or MODULE_HINTS.get(name.partition(".")[0])
        hint = hint or did_you_mean(name, MODULES) or _KNOWN
        self.refuse(node, IMPORT, f"there is no module `{name}` in plans", hint)

    def _check_member(self, node: ast.AST, module: str, name: str) -> None:
        if not self._is_listed(module) or name.startswith("__") or f"{module}.{name}" in MODULES:
            return
        if name in members(module) or self._caught:
            return
        shown = public(module)
        hint = MEMBER_HINTS.get(f"{module}.{name}") or did_you_mean(name, shown)
        hint = hint or f"{module} has: {', '.join(shown[:MOST_SHOWN])}"
        self.refuse(node, IMPORT, f"`{module}.{name}` is not available in plans", hint)


def _catches_import(kinds: ast.expr | None) -> bool:
    """Whether an except clause catches a failing import; it may be bare."""
    each = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    return kinds is None or any(last_name(kind) in MAY_BE_MISSING for kind in each)
