"""Follow loops and comprehensions in a dry run.

If the items are known, a loop is followed one iteration after another. Otherwise iterations are followed until one of
them adds nothing new to the state.
"""

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
"""The same maximum for a loop such as ``while True``, whose condition never ends it."""
MAX_UNKNOWN_ITERATIONS = 3
"""Maximum number of iterations over unknown items that are followed. If one changes nothing, it is the last."""

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_EXITS = (ast.Break, ast.Return, ast.Raise, ast.Assert, ast.Yield, ast.YieldFrom)
_RESULT = ".result"
"""Variable that holds the list which a list comprehension builds. No plan can use this name."""
_NO_PARAMETERS = ast.arguments([], [], None, [], [], None, [])


class Loops(Calls):
    """Follows loops and comprehensions."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a target."""

    def visit_For(self, node: ast.For) -> None:
        iterated, loop, exits = self._evaluate_iterable(node.iter), LoopExits(), list[WalkState]()

        def iteration(item: Value) -> None:
            self.bind(node.target, item)
            self._follow_iteration(node.body, loop)

        self.loops.append(loop)
        with suppress(PathEnded):
            self._follow_iterations(iterated, iteration, [node])
            exits.append(self.state)
        self.loops.pop()
        self._leave_loop(exits, loop.breaks, node.orelse)

    def visit_While(self, node: ast.While) -> None:
        if self._is_endless(node):
            self.endless[id(node)] = node
        loop, exits = LoopExits(), list[WalkState]()

        def iteration() -> bool | UnknownType:
            truth = self.truth(self.evaluate(node.test))
            if truth is not True:
                exits.append(self.fork())
            if truth is False:
                raise PathEnded
            self._follow_iteration(node.body, loop)
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
        """Return whether only an error can end a loop: it has no exit, and no action that could end the episode."""
        if self.may_catch_errors or self.blind or not (isinstance(node.test, ast.Constant) and node.test.value):
            return False
        if any(isinstance(inner, _EXITS) for inner in ast.walk(node)):
            return False
        probe = self.state.copy()
        for name in effects.names_in(node):
            probe.escape(self.look_up(name, self.frame))
        return not probe.escaped

    def _follow_iteration(self, body: list[ast.stmt], loop: LoopExits) -> None:
        """Follow one iteration up to the end of the body or a ``continue``.

        Raises PathEnded if no path reaches either.
        """
        paths = list[tuple[WalkState, Value]]()
        with suppress(PathEnded):
            self.follow_body(body)
            paths.append((self.state, None))
        paths += [(state, None) for state in loop.continues]
        loop.continues.clear()
        self.merge_paths(paths)

    def _leave_loop(self, exits: list[WalkState], breaks: list[WalkState], orelse: list[ast.stmt]) -> None:
        """Follow the ``else`` block from the loop's normal ends (``exits``), and merge the result with the breaks."""
        paths = [(state, None) for state in breaks]
        with suppress(PathEnded):
            self.merge_paths([(state, None) for state in exits])
            self.follow_body(orelse)
            paths.append((self.state, None))
        self.merge_paths(paths)

    # Items and iterations.

    def _evaluate_iterable(self, node: ast.expr) -> Value:
        """Evaluate the expression that a loop iterates over."""
        if not isinstance(node, ast.Call):
            return self.evaluate(node)
        self.consumed_ids.add(id(node))
        value = self.evaluate(node)
        self.consumed_ids.discard(id(node))
        return value

    def _follow_iterations(self, iterated: Value, iteration: Callable[[Value], object], nodes: list[ast.AST]) -> None:
        """Follow every iteration of a loop. Raises PathEnded if no path reaches the end of the loop.

        The items are read again for each iteration, since the body may change them.
        """
        previous_items: tuple[Value, ...] = ()
        for position in range(MAX_ITERATIONS):
            items = self.items(iterated)
            if items is None or not same(items[:position], previous_items[:position]):
                break
            if position >= len(items):
                return
            previous_items = items
            iteration(items[position])
        self.escape(iterated)
        self._repeat(lambda: iteration(UNKNOWN), nodes)

    def _repeat(self, iteration: Callable[[], object], nodes: list[ast.AST]) -> None:
        """Follow any number of iterations. The resulting state describes the plan before and after each of them."""
        for _ in range(MAX_UNKNOWN_ITERATIONS):
            state_before, exposure_before = self.fork(), (self.blind, len(self.exposed_names))
            try:
                iteration()
            except PathEnded:
                self.state = state_before
                return
            self.state = merge_states(state_before, self.state)
            self.process_escaped()
            if exposure_before == (self.blind, len(self.exposed_names)) and not self.state.adds_to(state_before):
                return
        self.assume_any_effects(nodes)
        final_state = self.fork()
        with suppress(PathEnded):
            iteration()
        self.state = final_state

    # Comprehensions.

    def visit_ListComp(self, node: ast.ListComp) -> Value:
        append = ast.Call(ast.Attribute(ast.Name(_RESULT, ast.Load()), "append"), [node.elt], [])
        return self._comprehension(node, [ast.Expr(append)], self.new_container([]))

    def visit_SetComp(self, node: ast.SetComp | ast.DictComp) -> Value:
        parts = [node.elt] if isinstance(node, ast.SetComp) else [node.key, node.value]
        return self._comprehension(node, [ast.Expr(ast.Set(parts))])

    visit_DictComp = visit_SetComp

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Value:
        """Follow a generator expression if its items are read immediately, though perhaps not all of them.

        The items of any other generator may be read at any time.
        """
        if id(node) in self.consumed_ids:
            stop = ast.If(ast.Constant(...), [ast.Return(None)], [])
            return self._comprehension(node, [ast.Expr(ast.Set([node.elt])), stop])
        self.expose(node)
        return UNKNOWN

    def _comprehension(self, node: Comprehension, body: list[ast.stmt], result: Value = UNKNOWN) -> Value:
        """Follow a comprehension as a function with nested loops, to which it is equivalent, and return ``result``."""
        self.step()
        for part in reversed(node.generators):
            for test in reversed(part.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(part.target, part.iter, body, [])]
        function = ast.FunctionDef(name="", args=_NO_PARAMETERS, body=body, decorator_list=[])
        self.enter(DefinedFunction(function, self.frame), {_RESULT: result}, is_comprehension=True)
        return result
