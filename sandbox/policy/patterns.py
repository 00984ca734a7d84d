"""The policy of match statements. Patterns can't be rewritten, so they may only read what needs no guard."""

import ast

from sandbox.policy.base import BasePolicy
from sandbox.policy.rules import is_plain


class PatternPolicy(BasePolicy):
    """Checks the names that patterns bind and the attributes that they read."""

    def visit_Match(self, node: ast.Match) -> ast.AST:  # noqa: N802
        """Allowed; what it consists of is checked."""
        return self.node_contents_visit(node)

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Allowed; what it consists of is checked."""
        return self.node_contents_visit(node)

    def visit_MatchSequence(self, node: ast.MatchSequence) -> ast.AST:  # noqa: N802
        """Allowed; what it consists of is checked."""
        return self.node_contents_visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> ast.AST:  # noqa: N802
        """Allowed; what it consists of is checked."""
        return self.node_contents_visit(node)

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> ast.AST:  # noqa: N802
        """None, True or False."""
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:  # noqa: N802
        """Check the name."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:  # noqa: N802
        """Check the name."""
        self.check_name(node, node.name)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:  # noqa: N802
        """Check the name of the rest, and the keys."""
        self.check_name(node, node.rest)
        for key in node.keys:
            self._check_value(key)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:  # noqa: N802
        """A constant, or a dotted name."""
        self._check_value(node.value)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:  # noqa: N802
        """The class is a dotted name; each keyword reads an attribute."""
        self._check_value(node.cls)
        for name in node.kwd_attrs:
            if not is_plain(name):
                self.refuse_attribute(node, "match", name)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        node.kwd_patterns = [self.visit(pattern) for pattern in node.kwd_patterns]
        return node

    def _check_value(self, node: ast.expr) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and not is_plain(part.attr):
                self.refuse_attribute(part, "match", part.attr)
            elif isinstance(part, ast.Name):
                self.visit_Name(part)
