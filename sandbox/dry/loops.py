"""Follow loops and comprehensions: one iteration after another over known items, else until nothing more changes."""

import ast
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.calls import Calls
from planbook.sandbox.dry.values import UNKNOWN, DefinedFunction, UnknownType, Value, same
from planbook.sandbox.dry.walk import LoopExits, PathEnded, WalkState, merge_states

MAX_ITERATIONS = 300
"""Maximum number of iterations of a loop that are followed one by one."""
MAX_ENDLESS_ITERATIONS = 4
"""The same for ``while True``, which only a break ends."""
MAX_ROUNDS = 3
"""Maximum number of iterations over unknown items that are followed; fewer if one changes nothing."""

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_EXITS = (ast.Break, ast.Return, ast.Raise, ast.Assert, ast.Yield, ast.YieldFrom)
_RESULT = ".result"
"""Name of the list that a list comprehension builds."""
_NO_PARAMETERS = ast.arguments([], [], None, [], [], None, [])


class Loops(Calls):
    """Follows loops and comprehensions."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a target."""

    def visit_For(self, node: ast.For) -> None:
        iterated, loop, exits = self._iterated(node.iter), LoopExits(), list[WalkState]()

        def iteration(item: Value) -> None:
            self.bind(node.target, item)
            self._iteration_of(node.body, loop)

        self.loops.append(loop)
        with suppress(PathEnded):
            self._all_iterations(iterated, iteration, [node])
            exits.append(self.state)
        self.loops.pop()
        self._leave_loop(exits, loop.breaks, node.orelse)

    def visit_While(self, node: ast.While) -> None:
        if self._is_endless(node):
            self.endless[id(node)] = node
        loop, exits = LoopExits(), list[WalkState]()

        def iteration() -> bool | UnknownType:
            truth = self.truth(self.value(node.test))
            if truth is not True:
                exits.append(self.fork())
            if truth is False:
                raise PathEnded
            self._iteration_of(node.body, loop)
            return truth

        self.loops.append(loop)
        with suppress(PathEnded):
            for _ in range(MAX_ENDLESS_ITERATIONS if isinstance(node.test, ast.Constant) else MAX_ITERATIONS):
                if iteration() is not True:
                    break
            self._repeat(iteration, [node])
        self.loops.pop()
        self._leave_loop(exits, loop.breaks, node.orelse)

    def _is_endless(self, node: ast.While) -> bool:
        """Return whether only an error can end a loop: it has no exit, and no action in it could end the episode."""
        if self.catches or self.blind or not (isinstance(node.test, ast.Constant) and node.test.value):
            return False
        if any(isinstance(inner, _EXITS) for inner in ast.walk(node)):
            return False
        probe = self.state.copy()
        for name in effects.names_in(node):
            probe.escape(self.look_up(name, self.frame))
        return not probe.escaped

    def _iteration_of(self, body: list[ast.stmt], loop: LoopExits) -> None:
        """Follow one iteration, to the end of the body or a continue. Raises PathEnded if it reaches neither."""
        paths = list[tuple[WalkState, Value]]()
        with suppress(PathEnded):
            self.body(body)
            paths.append((self.state, None))
        paths += [(state, None) for state in loop.continues]
        loop.continues.clear()
        self.meet(paths)

    def _leave_loop(self, exits: list[WalkState], breaks: list[WalkState], orelse: list[ast.stmt]) -> None:
        paths = [(state, None) for state in breaks]
        with suppress(PathEnded):
            self.meet([(state, None) for state in exits])
            self.body(orelse)
            paths.append((self.state, None))
        self.meet(paths)

    # Items and iterations.

    def _iterated(self, node: ast.expr) -> Value:
        """Return the value that a loop iterates over."""
        if not isinstance(node, ast.Call):
            return self.value(node)
        self.consumed_now.add(id(node))
        value = self.value(node)
        self.consumed_now.discard(id(node))
        return value

    def _all_iterations(self, iterated: Value, iteration: Callable[[Value], object], nodes: list[ast.AST]) -> None:
        """Follow every iteration of a loop. The items are read again each time, since the body may change them.

        Raises PathEnded if no path reaches the end of the loop.
        """
        before: tuple[Value, ...] = ()
        for position in range(MAX_ITERATIONS):
            items = self.items(iterated)
            if items is None or not same(items[:position], before[:position]):
                break
            if position >= len(items):
                return
            before = items
            iteration(items[position])
        self.escape(iterated)
        self._repeat(lambda: iteration(UNKNOWN), nodes)

    def _repeat(self, iteration: Callable[[], object], nodes: list[ast.AST]) -> None:
        """Follow any number of iterations. The resulting state holds before and after each of them."""
        for _ in range(MAX_ROUNDS):
            before, known = self.fork(), (self.blind, len(self.exposed))
            try:
                iteration()
            except PathEnded:
                self.state = before
                return
            self.state = merge_states(before, self.state)
            self.settle()
            if known == (self.blind, len(self.exposed)) and not self.state.adds_to(before):
                return
        self.havoc(nodes)
        left = self.fork()
        with suppress(PathEnded):
            iteration()
        self.state = left

    # Comprehensions.

    def visit_ListComp(self, node: ast.ListComp) -> Value:
        append = ast.Call(ast.Attribute(ast.Name(_RESULT, ast.Load()), "append"), [node.elt], [])
        return self._comprehension(node, [ast.Expr(append)], self.new_container([]))

    def visit_SetComp(self, node: ast.SetComp | ast.DictComp) -> Value:
        parts = [node.elt] if isinstance(node, ast.SetComp) else [node.key, node.value]
        return self._comprehension(node, [ast.Expr(ast.Set(parts))])

    visit_DictComp = visit_SetComp

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Value:
        """Follow a generator whose items are read now, maybe not all. Others may be read at any time."""
        if id(node) in self.consumed_now:
            stop = ast.If(ast.Constant(...), [ast.Return(None)], [])
            return self._comprehension(node, [ast.Expr(ast.Set([node.elt])), stop])
        self.expose(node)
        return UNKNOWN

    def _comprehension(self, node: Comprehension, body: list[ast.stmt], result: Value = UNKNOWN) -> Value:
        """Follow a comprehension as the function of nested loops that it stands for, and return ``result``."""
        self.step()
        for part in reversed(node.generators):
            for test in reversed(part.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(part.target, part.iter, body, [])]
        function = ast.FunctionDef(name="", args=_NO_PARAMETERS, body=body, decorator_list=[])
        self.enter(DefinedFunction(function, self.frame), {_RESULT: result}, transparent=True)
        return result
