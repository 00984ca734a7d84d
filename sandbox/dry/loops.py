"""Loops and comprehensions: turn by turn over known items, else until another turn changes nothing."""

import ast
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.calls import Calls
from planbook.sandbox.dry.values import UNKNOWN, Value
from planbook.sandbox.dry.walk import LoopExits, PathEnded, WalkState, joined

MAX_TURNS = 300
"""Turns of a loop that are followed individually."""
MAX_ENDLESS_TURNS = 4
"""The same for ``while True``, which only a break ends."""
MAX_ROUNDS = 3
"""Times that the body of a loop over unknown items is followed until nothing changes."""

_FOUND = "<found>"
"""The name of a comprehension's list in its frame."""
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Loops(Calls):
    """Carries out loops and comprehensions."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Value) -> None:
        """Bind a target."""

    def visit_For(self, node: ast.For) -> None:
        over, loop, exits = self.value(node.iter), LoopExits(), list[WalkState]()

        def turn(item: Value) -> None:
            self.bind(node.target, item)
            self._turn_of(node.body, loop)

        self.loops.append(loop)
        with suppress(PathEnded):
            self._all_turns(over, turn, [node])
            exits.append(self.state)
        self.loops.pop()
        self._leave_loop(exits, loop.breaks, node.orelse)

    def visit_While(self, node: ast.While) -> None:
        if not self.catches and effects.is_endless(node, self.acting):
            self.endless[id(node)] = node
        loop, exits = LoopExits(), list[WalkState]()

        def turn() -> bool | None:
            truth = self.truth(self.value(node.test))
            if truth is not True:
                exits.append(self.state.copy())
            if truth is False:
                raise PathEnded
            self._turn_of(node.body, loop)
            return truth

        self.loops.append(loop)
        with suppress(PathEnded):
            most = MAX_ENDLESS_TURNS if isinstance(node.test, ast.Constant) else MAX_TURNS
            while turn() and most > 0:
                most -= 1
            self._repeated(turn, [node])
        self.loops.pop()
        self._leave_loop(exits, loop.breaks, node.orelse)

    def _turn_of(self, body: list[ast.stmt], loop: LoopExits) -> None:
        """Carry out one turn, to the end of the body or a continue. Raises PathEnded if it reaches neither."""
        ways = list[tuple[WalkState, Value]]()
        with suppress(PathEnded):
            self.body(body)
            ways.append((self.state, None))
        ways += [(state, None) for state in loop.continues]
        loop.continues.clear()
        self.meet(ways)

    def _leave_loop(self, exits: list[WalkState], breaks: list[WalkState], orelse: list[ast.stmt]) -> None:
        ways = [(state, None) for state in breaks]
        with suppress(PathEnded):
            self.meet([(state, None) for state in exits])
            self.body(orelse)
            ways.append((self.state, None))
        self.meet(ways)

    # Items and turns.

    def _all_turns(self, over: Value, turn: Callable[[Value], None], nodes: list[ast.AST]) -> None:
        """Carry out every turn of a loop. A list is read again before each turn, since the body may change it.

        Raises PathEnded if no path reaches the end of the loop.
        """
        for position in range(MAX_TURNS):
            items = self.items(over)
            if items is None:
                break
            if position >= len(items):
                return
            turn(items[position])
        self.escape(over)
        self._repeated(lambda: turn(UNKNOWN), nodes)

    def _repeated(self, turn: Callable[[], object], nodes: list[ast.AST]) -> None:
        """Carry out any number of turns. The resulting state holds before and after each of them."""
        for _ in range(MAX_ROUNDS):
            before = self.state.copy()
            try:
                turn()
            except PathEnded:
                self.state = before
                return
            before.drop_unused()
            self.state = joined(before, self.state)
            self.state.drop_unused()
            self.settle()
            if self.state == before:
                return
        self.havoc(nodes)
        left = self.state.copy()
        with suppress(PathEnded):
            turn()
        self.state = left

    # Comprehensions.

    def visit_ListComp(self, node: Comprehension) -> Value:
        self.step()
        if not isinstance(node, ast.GeneratorExp):
            return self._comprehended(node)
        if not effects.is_harmless(node, self.acting):  # nobody knows how far, and when, a generator is consumed
            self.blind = self.blind or id(node) not in self.at_once
            self._repeated(lambda: self.escape(self._comprehended(node)), [node])
        return UNKNOWN

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def _comprehended(self, node: Comprehension) -> Value:
        """Carry out a comprehension as nested loops in a frame of their own, which append to a list."""
        outside, found = self.frame, self.new_container([] if isinstance(node, ast.ListComp) else None)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        append = ast.Attribute(ast.Name(_FOUND, ast.Load()), "append", ast.Load())
        loop: ast.stmt = ast.Expr(ast.Call(append, parts, []))
        for part in reversed(node.generators):
            for test in reversed(part.ifs):
                loop = ast.If(test, [loop], [])
            loop = ast.For(part.target, part.iter, [loop], [])
        own = self.frame = self.open_frame(outside)
        self.assign(_FOUND, found)
        try:
            self.visit(loop)
        finally:
            self.frame = outside
            self.state.frames.pop(own, None)
        return found
