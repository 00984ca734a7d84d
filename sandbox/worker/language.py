"""Stand-in, replaced at merge by the language half: plain compile, plain builtins."""

import ast
import builtins
import random
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType

from sandbox.worker.clock import Clock


@dataclass(frozen=True)
class Problem:
    line: int
    column: int
    name: str
    message: str
    hint: str = ""


class PolicyRefused(Exception):
    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(problems)


@dataclass(frozen=True)
class CompiledCell:
    code: CodeType
    tail: CodeType | None


def preload() -> None:
    import datetime, json, math, re, unicodedata  # noqa: E401, F401, PLC0415


def compile_plain(source: str, name: str) -> CompiledCell:
    tree = ast.parse(source, f"<{name}>")
    tail = None
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        tree.body.pop()
        tail = compile(ast.Expression(last.value), f"<{name}>", "eval")
    return CompiledCell(compile(tree, f"<{name}>", "exec"), tail)


def compile_cell(source: str, name: str) -> CompiledCell:
    tree = ast.parse(source, f"<{name}>")
    problems = [
        Problem(node.lineno, node.col_offset, "attribute", f"{node.attr} is not allowed")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr.startswith("__")
    ]
    if problems:
        raise PolicyRefused(problems)
    return compile_plain(source, name)


def unguarded_namespace(random: random.Random, clock: Clock, write: Callable[[str], None]) -> dict[str, object]:
    space = namespace(random, clock, write)
    ours = space["__builtins__"]["__import__"]  # type: ignore[index]

    def load(name: str, *args: object) -> object:
        return (ours if name in ("random", "time") else builtins.__import__)(name, *args)  # type: ignore[arg-type]

    space["__builtins__"] = {**vars(builtins), "print": space["__builtins__"]["print"], "__import__": load}  # type: ignore[index]
    return space


def namespace(random: random.Random, clock: Clock, write: Callable[[str], None]) -> dict[str, object]:
    def show(*values: object, sep: str = " ", end: str = "\n") -> None:
        write(sep.join(map(str, values)) + end)

    plain = {**vars(builtins), "print": show}
    import re
    from types import SimpleNamespace

    modules = {"random": random, "time": SimpleNamespace(time=clock.now, sleep=clock.sleep), "re": re}

    def load(name: str, *args: object) -> object:
        if name not in modules:
            raise ImportError(name)
        return modules[name]

    return {"__builtins__": {**plain, "__import__": load}, "__name__": "plan"}


def protect(cls: type) -> None:
    pass
