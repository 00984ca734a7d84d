"""The policy of imports: listed names of listed modules."""

import ast
from collections.abc import Iterable

from sandbox.policy.base import BasePolicy
from sandbox.policy.rules import IMPORT, closest
from sandbox.policy.tables import FUTURES, MODULE_HINTS, MODULES, READABLE_ATTRIBUTES


class ImportPolicy(BasePolicy):
    """Checks import statements, and what is then read from the imported modules."""

    def __init__(self, bound: Iterable[str] = ()) -> None:
        super().__init__(bound)
        self.modules: dict[str, str] = {}
        """Variable to the module that it was imported as."""
        self.members: list[ast.Attribute] = []
        """Attributes read from plain variables: of a module, perhaps."""

    def visit_Import(self, node: ast.Import) -> ast.AST:  # noqa: N802
        """Only the listed modules."""
        for alias in node.names:
            top = alias.name.partition(".")[0]
            variable, module = (alias.asname, alias.name) if alias.asname else (top, top)
            self.judge_name(node, variable, frozenset())
            if alias.name not in MODULES:
                self._refuse_module(node, alias.name)
            elif self.modules.setdefault(variable, module) != module:
                self.bound.add(variable)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:  # noqa: N802
        """Only the listed names of the listed modules."""
        module = "." * node.level + (node.module or "")
        if module == "__future__" and FUTURES.issuperset(alias.name for alias in node.names):
            return ast.copy_location(ast.Pass(), node)
        if module not in MODULES:
            self._refuse_module(node, module)
            return node
        for alias in node.names:
            if alias.name == "*":
                hint = f"write `import {module}`, or list the names"
                self.refuse(node, IMPORT, "`import *` is not available in plans", hint)
            else:
                self.check_name(node, alias.asname or alias.name)
                self._check_member(node, module, alias.name)
        return node

    def check_members(self) -> None:
        """Judge what is read from modules, once it is known which variables are nothing else."""
        for node in self.members:
            variable = getattr(node.value, "id", "")
            if variable in self.modules and variable not in self.bound and node.attr not in READABLE_ATTRIBUTES:
                self._check_member(node, self.modules[variable], node.attr)

    def _refuse_module(self, node: ast.AST, name: str) -> None:
        known = ", ".join(sorted(MODULES))
        hint = MODULE_HINTS.get(name.partition(".")[0]) or closest(name, MODULES) or f"there are: {known}"
        self.refuse(node, IMPORT, f"there is no module `{name}` in plans", hint)

    def _check_member(self, node: ast.AST, module: str, name: str) -> None:
        if name not in (known := MODULES[module]):
            hint = closest(name, known) or f"{module} has: {', '.join(sorted(known))}"
            self.refuse(node, IMPORT, f"`{module}.{name}` is not available in plans", hint)
