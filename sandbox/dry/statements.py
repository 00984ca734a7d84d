"""Follow the statements of a plan in a dry run.

At a condition that is unknown, the state is copied for each branch. After the branches, their states are merged. If the
items of a loop are known, the loop is followed iteration by iteration. Otherwise iterations are followed until one of
them changes nothing in the state. Values *escape* when code that the walk cannot follow gets hold of them: they may
change, so they become unknown. If such code may also *act*, that is, call the session's functions, the walk becomes
*blind*: from then on, nothing is known about the environment.
"""

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.calls import Calls
from planbook.sandbox.dry.values import (
    UNKNOWN,
    Container,
    DefinedFunction,
    ErrorRaised,
    PathEnded,
    UnknownType,
    Value,
    WalkState,
    are_same,
    merge_states,
)
from planbook.sandbox.dry.walk import LoopJumps, NotFollowed, Place

MAX_ITERATIONS = 300
"""Maximum number of iterations of a loop that are followed one by one."""
MAX_ENDLESS_ITERATIONS = 4
"""Maximum number of iterations that are followed in a loop with a constant condition, such as ``while True``."""
MAX_UNKNOWN_ITERATIONS = 3
"""Maximum number of iterations that are followed if their number is unknown. Fewer are if one changes nothing."""

_LOOP_EXITS = (ast.Break, ast.Return, ast.Raise, ast.Assert, ast.Yield, ast.YieldFrom)


class DryWalk(Calls):
    """The complete walk: follows statements and, through its base classes, everything in them."""

    def follow_body(self, nodes: Sequence[ast.stmt]) -> None:
        """Follow statements in order. Raises PathEnded if no path reaches the end of the statements."""
        for node in nodes:
            self.step()
            place: Place = (*self.call_chain, node)
            try:
                self.visit(node)
            except ErrorRaised as error:
                # a statement without a line is a part of a comprehension; one that another path has completed is not
                # at fault, since an earlier action may end the episode
                is_certain = hasattr(node, "lineno") and place not in self.completed_places
                self.error = (place, error) if is_certain else None
                raise PathEnded from None
            self.error = None
            self.completed_places.add(place)

    def generic_visit(self, node: ast.AST) -> Value:
        """Visit a node whose type has no visit method.

        If the node is an expression, only evaluate its parts. If it is a statement, such as ``match`` or ``with``,
        assume that anything may have happened. Raises NotFollowed if the statement may leave a loop or function.
        """
        if not isinstance(node, ast.stmt):
            return self.visit_parts(node)
        if effects.has_jump(node):
            raise NotFollowed
        self.blind = True
        self.assume_any_effects([node])
        return None

    def visit_Expr(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def visit_Pass(self, node: ast.Pass | ast.Global | ast.Nonlocal) -> None:
        pass

    visit_Global = visit_Nonlocal = visit_Pass

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.bind(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.evaluate(node.value))
        else:
            self.visit_parts(node.target)
        self._assume_annotation_effects([node.annotation])

    def _assume_annotation_effects(self, annotations: list[ast.expr]) -> None:
        """If an annotation contains a call or binds a name, assume that anything may have happened."""
        if any(map(effects.is_computed, annotations)):
            self.blind = True
            self.assume_any_effects(annotations)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            left = self.look_up(target.id, self.frame)
            self.assign(target.id, self._augment(node.op, left, self.evaluate(node.value)), self.frame)
        elif isinstance(target, ast.Subscript):
            base, key = self.evaluate(target.value), self.evaluate(target.slice)
            left = self.item(base, key)
            self.change_item(base, "__setitem__", key, self._augment(node.op, left, self.evaluate(node.value)))
        else:
            self.bind(target, self.evaluate(node.value))

    def _augment(self, operation: ast.operator, left: Value, right: Value) -> Value:
        """Return the new value of the target of a statement such as ``left += right``. A list is changed in place."""
        if not isinstance(left, Container):
            return self.operate(type(operation), left, right)
        content, added = self.content(left), self.items(right)
        if isinstance(operation, ast.Add) and isinstance(content, list) and added is not None:
            self.set_content(left.number, [*content, *added])
            return left
        self.escape(left, right)
        return UNKNOWN

    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a target, which may be a name, an item, an attribute, or a tuple or list of targets."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value, self.frame)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Subscript):
            self.change_item(self.evaluate(target.value), "__setitem__", self.evaluate(target.slice), value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value)
        else:
            self.escape(value)
            self.visit_parts(target)

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        items, starred = self.items(value), any(isinstance(target, ast.Starred) for target in targets)
        if items is not None and not starred and len(items) != len(targets):
            raise ErrorRaised(ValueError(f"cannot unpack {len(items)} values into {len(targets)} targets"))
        if items is None or starred:
            self.escape(value)
            items = (UNKNOWN,) * len(targets)
        for target, item in zip(targets, items, strict=True):
            self.bind(target, item)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._delete(target)

    def _delete(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, UNKNOWN, self.frame)
        elif isinstance(target, ast.Subscript):
            self.change_item(self.evaluate(target.value), "__delitem__", self.evaluate(target.slice))
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._delete(part)
        else:
            self.visit_parts(target)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name in effects.bound_names([node]):
            self.assign(name, UNKNOWN, self.frame)

    visit_ImportFrom = visit_Import

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        value = self.visit_Lambda(node)
        arguments = [inner.annotation for inner in ast.walk(node.args) if isinstance(inner, ast.arg)]
        self._assume_annotation_effects([annotation for annotation in (*arguments, node.returns) if annotation])
        for decorator in node.decorator_list:
            self.escape(self.evaluate(decorator), value)
            value = UNKNOWN
        self.assign(node.name, value, self.frame)

    def visit_Lambda(self, node: ast.FunctionDef | ast.Lambda) -> Value:
        """Evaluate the defaults of a function or lambda, and return the function as a value."""
        args = node.args
        positional = [arg.arg for arg in (*args.posonlyargs, *args.args)]
        pairs = list(zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True))
        pairs += [(arg.arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default]
        return DefinedFunction(node, self.frame, tuple((name, self.evaluate(default)) for name, default in pairs))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Follow a class definition.

        Any use of an instance, for example with an operator, may run a method of the class. So from now on, anything
        may happen at any time. A class without methods is harmless: its instances only hold values.
        """
        if all(map(effects.is_plain_field, node.body)) and not node.keywords:
            for part in (*node.bases, *node.decorator_list):
                self.escape(self.evaluate(part))
            self.assign(node.name, UNKNOWN, self.frame)
            return
        self.expose(node)
        self.blind = True
        self.assume_any_effects([node])

    def visit_If(self, node: ast.If) -> None:
        self.choose_branch(node.test, lambda: self.follow_body(node.body), lambda: self.follow_body(node.orelse))

    def visit_Assert(self, node: ast.Assert) -> None:
        if self.truth(self.evaluate(node.test)) is False:
            self.error = None
            raise PathEnded

    def visit_Raise(self, node: ast.Raise) -> None:
        self.visit_parts(node)
        self.error = None
        raise PathEnded

    def visit_Return(self, node: ast.Return) -> None:
        value = self.evaluate(node.value) if node.value else None
        self.returns[-1].append((self.state, value))
        raise PathEnded

    def visit_Break(self, node: ast.Break) -> None:
        self.loops[-1].breaks.append(self.state)
        raise PathEnded

    def visit_Continue(self, node: ast.Continue) -> None:
        self.loops[-1].continues.append(self.state)
        raise PathEnded

    def visit_Try(self, node: ast.Try) -> None:
        """Follow a ``try`` statement.

        A handler may run after any statement of the body, so nothing is known when it begins. The same is true of a
        ``finally`` block that runs after an error. If a ``return``, ``break`` or ``continue`` may also lead to the
        ``finally`` block, the walk is blind from the beginning of the ``try`` statement. While the walk is blind, the
        values of names that ``finally`` blocks bind are unknown (see ``look_up``).
        """

        def handle(handler: ast.ExceptHandler) -> None:
            self.blind = True  # the body may have created functions that act
            self.assume_any_effects(node.body)
            if handler.name:
                self.assign(handler.name, UNKNOWN, self.frame)
            self.follow_body(handler.body)

        def follow_finally() -> None:
            self.blind = True
            self.assume_any_effects([node])
            self.follow_body(node.finalbody)
            raise PathEnded

        self.blind = self.blind or (bool(node.finalbody) and effects.has_jump(node))
        handlers = (partial(handle, handler) for handler in node.handlers)
        finals = [follow_finally] * bool(node.finalbody)
        self.follow_branches(lambda: self.follow_body([*node.body, *node.orelse]), *handlers, *finals)

    def visit_For(self, node: ast.For) -> None:
        iterable = self._evaluate_iterable(node.iter)

        def iteration(item: Value) -> None:
            self.bind(node.target, item)
            self._follow_iteration(node.body)

        def follow() -> None:
            self._follow_iterations(iterable, iteration, [node])
            self.loops[-1].ends.append(self.state)

        self._follow_loop(follow, node.orelse)

    def visit_While(self, node: ast.While) -> None:
        if self._is_endless(node):
            self.endless_loops.add(node)

        def iteration() -> bool | UnknownType:
            truth = self.truth(self.evaluate(node.test))
            if truth is not True:
                self.loops[-1].ends.append(self.fork())
            if truth is False:
                raise PathEnded
            self._follow_iteration(node.body)
            return truth

        def follow() -> None:
            for _ in range(MAX_ENDLESS_ITERATIONS if isinstance(node.test, ast.Constant) else MAX_ITERATIONS):
                if iteration() is not True:
                    break
            self._repeat(iteration, [node])

        self._follow_loop(follow, node.orelse)

    def _follow_loop(self, follow: Callable[[], None], orelse: list[ast.stmt]) -> None:
        """Follow a loop, and its ``else`` block where it ends without a ``break``. Merge all paths that leave it."""
        self.loops.append(loop := LoopJumps())
        with suppress(PathEnded):
            follow()
        self.loops.pop()
        paths = [(state, None) for state in loop.breaks]
        with suppress(PathEnded):
            self.merge_paths([(state, None) for state in loop.ends])
            self.follow_body(orelse)
            paths.append((self.state, None))
        self.merge_paths(paths)

    def _is_endless(self, node: ast.While) -> bool:
        """Return whether only an error can end a loop: it has no ``break`` or ``return``, and takes no action.

        An action could end the episode.
        """
        if self.may_catch_errors or self.blind or not (isinstance(node.test, ast.Constant) and node.test.value):
            return False
        if any(isinstance(inner, _LOOP_EXITS) for inner in ast.walk(node)):
            return False
        state = self.state.copy()
        for name in effects.names_in(node):
            state.escape(self.look_up(name, self.frame))
        return not state.escaped

    def _follow_iteration(self, body: list[ast.stmt]) -> None:
        """Follow one iteration, up to the end of the body or a ``continue``, and merge the states there.

        Raises PathEnded if no path reaches the end of the body or a ``continue``.
        """
        paths = list[tuple[WalkState, Value]]()
        with suppress(PathEnded):
            self.follow_body(body)
            paths.append((self.state, None))
        continues = self.loops[-1].continues
        paths += [(state, None) for state in continues]
        continues.clear()
        self.merge_paths(paths)

    def _evaluate_iterable(self, node: ast.expr) -> Value:
        """Evaluate the expression that a loop iterates over."""
        if not isinstance(node, ast.Call):
            return self.evaluate(node)
        self.consumed_nodes.add(node)
        value = self.evaluate(node)
        self.consumed_nodes.discard(node)
        return value

    def _follow_iterations(self, iterable: Value, iteration: Callable[[Value], object], nodes: list[ast.AST]) -> None:
        """Follow every iteration of a loop over ``iterable``. Raises PathEnded if no path reaches the end of the loop.

        The items are read again for each iteration, since the body may change them. If they become unknown, the
        remaining iterations are followed with unknown items.
        """
        previous_items: tuple[Value, ...] = ()
        for position in range(MAX_ITERATIONS):
            items = self.items(iterable)
            if items is None or not are_same(items[:position], previous_items[:position]):
                break
            if position >= len(items):
                return
            previous_items = items
            iteration(items[position])
        self.escape(iterable)
        self._repeat(lambda: iteration(UNKNOWN), nodes)

    def _repeat(self, iteration: Callable[[], object], nodes: list[ast.AST]) -> None:
        """Follow a loop with an unknown number of iterations. The resulting state holds for any number of them."""
        for _ in range(MAX_UNKNOWN_ITERATIONS):
            state_before, exposure_before = self.fork(), (self.blind, len(self.exposed_names))
            try:
                iteration()
            except PathEnded:
                self.state = state_before
                return
            self.state = merge_states(state_before, self.state)
            self.process_escaped()
            if exposure_before == (self.blind, len(self.exposed_names)) and not self.state.differs_from(state_before):
                return
        self.assume_any_effects(nodes)
        final_state = self.fork()
        with suppress(PathEnded):
            iteration()
        self.state = final_state
