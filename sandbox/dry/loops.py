"""Follow loops and comprehensions: turn by turn over known items, else until a turn changes nothing more."""

import ast
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.calls import Calls
from planbook.sandbox.dry.values import UNKNOWN, BuiltinFunction, Container, NotKnown, UnknownType, Value
from planbook.sandbox.dry.walk import LoopExits, PathEnded, WalkState, merge_states

MAX_TURNS = 300
"""Maximum number of turns of a loop that are followed one by one."""
MAX_ENDLESS_TURNS = 4
"""The same for ``while True``, which only a break ends."""
MAX_ROUNDS = 3
"""Maximum number of turns over unknown items that are followed; fewer if one changes nothing."""

Turn = Callable[[], None]
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Loops(Calls):
    """Follows loops and comprehensions."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a target."""

    def visit_For(self, node: ast.For) -> None:
        iterated, loop, exits = self._iterated(node.iter), LoopExits(), list[WalkState]()

        def turn(item: Value) -> None:
            self.bind(node.target, item)
            self._turn_of(node.body, loop)

        self.loops.append(loop)
        with suppress(PathEnded):
            self._all_turns(iterated, turn, [node])
            exits.append(self.state)
        self.loops.pop()
        self._leave_loop(exits, loop.breaks, node.orelse)

    def visit_While(self, node: ast.While) -> None:
        if not self.catches and effects.is_endless(node, self.acting):
            self.endless[id(node)] = node
        loop, exits = LoopExits(), list[WalkState]()

        def unknown_turn() -> None:
            truth = self.truth(self.value(node.test))
            if truth is not True:
                exits.append(self.state.copy())
            if truth is False:
                raise PathEnded
            self._turn_of(node.body, loop)

        self.loops.append(loop)
        with suppress(PathEnded):
            if self._counted_turns(node, loop):
                exits.append(self.state)
            else:
                self._repeat(unknown_turn, [node])
        self.loops.pop()
        self._leave_loop(exits, loop.breaks, node.orelse)

    def _counted_turns(self, node: ast.While, loop: LoopExits) -> bool:
        """Follow turns while the condition is known. Return whether the loop ended; if not, more turns may follow."""
        for _ in range(MAX_ENDLESS_TURNS if isinstance(node.test, ast.Constant) else MAX_TURNS):
            self.state.drop_unused()
            before = self.state.copy()
            truth = self.truth(self.value(node.test))
            if truth is False:
                return True
            if isinstance(truth, UnknownType):
                self.state = before
                return False
            self._turn_of(node.body, loop)
            self.state.drop_unused()
            if self.state.equals(before):
                return False
        return False

    def _turn_of(self, body: list[ast.stmt], loop: LoopExits) -> None:
        """Follow one turn, to the end of the body or a continue. Raises PathEnded if it reaches neither."""
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

    # Items and turns.

    def _iterated(self, node: ast.expr) -> Value:
        """Return the value that a loop iterates over. Iterators are expanded here, since they are used once."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            function = self.look_up(node.func.id, self.frame)
            if (
                isinstance(function, BuiltinFunction)
                and node.args
                and function.name in ("enumerate", "zip", "reversed")
            ):
                return self._expand_iterator(function.name, self.unpack(node.args))
        return self.value(node)

    def _expand_iterator(self, name: str, arguments: list[Value] | None) -> Value:
        rows = [self.items(argument) for argument in arguments or ()]
        known = [row for row in rows if row is not None]
        if len(known) < len(rows) or arguments is None or (len(known) != 1 and name != "zip"):
            self.escape(*(arguments or ()))
            return UNKNOWN
        if name == "enumerate":
            return self.tuple_of(enumerate(known[0]))
        return self.tuple_of(zip(*known, strict=False)) if name == "zip" else known[0][::-1]

    def _all_turns(self, iterated: Value, turn: Callable[[Value], None], nodes: list[ast.AST]) -> None:
        """Follow every turn of a loop. A list is read again before each turn, since the body may change it.

        Raises PathEnded if no path reaches the end of the loop.
        """
        for position in range(MAX_TURNS):
            items = self.items(iterated)
            if items is None:
                break
            if position >= len(items):
                return
            turn(items[position])
        self.escape(iterated)
        self._repeat(lambda: turn(UNKNOWN), nodes)

    def _repeat(self, turn: Turn, nodes: list[ast.AST]) -> None:
        """Follow any number of turns. The resulting state holds before and after each of them."""
        for _ in range(MAX_ROUNDS):
            before = self.state.copy()
            try:
                turn()
            except PathEnded:
                self.state = before
                return
            before.drop_unused()
            self.state = merge_states(before, self.state)
            self.state.drop_unused()
            self.settle()
            if self.state.equals(before):
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
            return self._comprehension(node)
        if not effects.is_harmless(node, self.acting):  # it is unknown how far, and when, a generator is consumed
            self.blind = self.blind or id(node) not in self.consumed_now
            self._repeat(lambda: self.escape(self._comprehension(node)), [node])
        return UNKNOWN

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def _comprehension(self, node: Comprehension) -> Value:
        iterated = self._iterated(node.generators[0].iter)
        self.frame = self.open_frame(self.frame)
        frame = self.frame
        self.transparent.add(frame)
        result: Container = self.new_container([] if isinstance(node, ast.ListComp) else None)
        try:
            self._run_generators(node, iterated, 0, result)
        finally:
            self.frame = self.parents[frame]
            self.state.frames.pop(frame, None)
        return result

    def _run_generators(self, node: Comprehension, iterated: Value, depth: int, result: Container) -> None:
        part = node.generators[depth]

        def turn(item: Value) -> None:
            self._bind_target(part.target, item)
            self._filter(part.ifs, go_on)

        def go_on() -> None:
            if depth + 1 < len(node.generators):
                self._run_generators(node, self._iterated(node.generators[depth + 1].iter), depth + 1, result)
            elif isinstance(node, ast.DictComp):
                self.escape(self.value(node.key), self.value(node.value))
            else:
                self._collect(result, self.value(node.elt))

        self._all_turns(iterated, turn, [node])

    def _collect(self, result: Container, value: Value) -> None:
        try:
            self.container_method(result, "append", [value], {})
        except NotKnown:
            self.escape(value)

    def _bind_target(self, target: ast.expr, value: Value) -> None:
        """Bind a comprehension's target in its own frame, unlike a name assigned by ``:=``."""
        self.transparent.discard(self.frame)
        self.bind(target, value)
        self.transparent.add(self.frame)

    def _filter(self, tests: list[ast.expr], go_on: Turn) -> None:
        if not tests:
            go_on()
            return
        truth = self.truth(self.value(tests[0]))
        if isinstance(truth, UnknownType):
            self.branches(lambda: self._filter(tests[1:], go_on), lambda: None)
        elif truth:
            self._filter(tests[1:], go_on)
