"""The policy of class statements, and of the special names whose values are judged where they are assigned."""

import ast

from sandbox.policy.base import BasePolicy
from sandbox.policy.rules import NAME, STATEMENT, is_plain, last_name, may_write
from sandbox.policy.tables import HOOKS, LITERAL_NAMES, WRAPPED_NAMES

JUDGED_NAMES = LITERAL_NAMES | WRAPPED_NAMES
_WRITTEN_OUT = "write the names out, as a tuple of texts"


class ClassPolicy(BasePolicy):
    """Checks class statements and assignments."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # noqa: N802
        """Check the name; of the metaclasses there is ABCMeta, which is the same as deriving from ABC."""
        self.check_name(node, node.name)
        metaclasses = [keyword for keyword in node.keywords if keyword.arg == "metaclass"]
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "metaclass"]
        node = self.node_contents_visit(node)
        for keyword in metaclasses:
            if last_name(keyword.value) == "ABCMeta":
                base = ast.copy_location(ast.Name(HOOKS["ABCMeta"], ast.Load()), keyword.value)
                node.bases = [each for each in node.bases if last_name(each) != "object"] + [base]
            else:
                hint = "derive from ABC, define __init_subclass__ in a base class, or use a class decorator"
                self.refuse(keyword.value, STATEMENT, "class statements take no `metaclass=` in plans", hint)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802
        """Unpacking iterates, and iteration needs no guard; the value of some special names is judged or wrapped."""
        special = [each.id for each in node.targets if isinstance(each, ast.Name) and each.id in JUDGED_NAMES]
        if not special:
            return self.node_contents_visit(node)
        if len(node.targets) > 1:
            self.refuse(node, NAME, f"`{special[0]}` must be assigned by itself", "write one assignment for each name")
        elif special[0] in WRAPPED_NAMES:
            node.value = self.hook(special[0], node.value, self.visit(node.value))
        else:
            self._check_texts(node, special[0])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802
        """Check the name, drop the annotation; wrap what Python calls too early, or for names that libraries trust."""
        node.returns = None
        if node.name not in WRAPPED_NAMES:
            self.check_name(node, node.name, allow_magic_methods=True)
            return self.node_contents_visit(node)
        node = self.node_contents_visit(node)
        node.decorator_list.insert(0, ast.copy_location(ast.Name(HOOKS[node.name], ast.Load()), node))
        return node

    def _check_texts(self, node: ast.Assign, name: str) -> None:
        """The value of ``__slots__`` or ``__match_args__``: nothing but names that plans may use."""
        match node.value:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.Dict(keys=parts):
                pass
            case single:
                parts = [single]
        for part in parts:
            if not isinstance(part, ast.Constant) or not isinstance(part.value, str):
                self.refuse(node, NAME, f"`{name}` must be a tuple of texts", _WRITTEN_OUT)
            elif not (may_write if name == "__slots__" else is_plain)(part.value):
                self.refuse_attribute(node, "name", part.value)
