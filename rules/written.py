"""Turns a model's reply into a procedure: the checks, and the header that we write."""

import ast
from collections.abc import Callable

from pydantic import BaseModel

from planbook.envs import Environment, Task
from planbook.planner import TASK, BadProcedure, Procedure, checked_procedure, parse_procedure, procedure_faults
from planbook.sandbox import parse_source, read_reply

LONGEST = 20_000
"""Maximum characters of a procedure."""


def procedure_reader(task: Task, world: type[Environment], options: BaseModel | None = None) -> Callable[[str], str]:
    """Reads the code of a procedure for tasks like this one; raises ValueError with every fault, for the model."""
    barred = {"id": "a procedure must not depend on which task it is: leave task.id out"}
    if not params_told(task, world):
        barred["params"] = "task.params must not be used for tasks of this type: read task.goal"

    def read(text: str) -> str:
        reply = read_reply(text)
        if reply.problem is not None:
            raise ValueError(str(reply.problem))
        if len(reply.code) > LONGEST:
            raise ValueError(f"the procedure has {len(reply.code)} characters; at most {LONGEST} are allowed")
        faults = [str(fault) for fault in procedure_faults(reply.code, world, options)] or _barred(reply.code, barred)
        if faults:
            raise ValueError("the procedure does not pass the check:\n" + "\n".join(faults))
        return _fit_for_header(reply.code, task, world, options)

    return read


def params_told(task: Task, world: type[Environment]) -> bool:
    """Return whether a task has params that prompts may show."""
    return bool(world.told_params(task))


def learnt_procedure(
    code: str, task_type: str, world: type[Environment], source: str, options: BaseModel | None = None
) -> Procedure:
    """Return the procedure: the code under our header. Raises BadProcedure if it does not pass the check."""
    header = (
        f'"""Do a task of type {task_type}.\n\nworld: {world.name}\ntype: {task_type}\nsource: {_plain(source)}\n"""'
    )
    name = f"{task_type.replace('-', '_')}.py"
    return checked_procedure(parse_procedure(f"{header}\n\n\n{code.strip()}\n", name), world, options)


def _barred(code: str, barred: dict[str, str]) -> list[str]:
    """Return what the code reads of ``task`` although it must not."""
    read = {
        node.attr: node.lineno
        for node in ast.walk(parse_source(code))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == TASK
    }
    return [f"line {read[name]}: {why}" for name, why in barred.items() if name in read]


def _fit_for_header(code: str, task: Task, world: type[Environment], options: BaseModel | None) -> str:
    """Return the code without the model's own text at the top, where the header goes.

    Raises ValueError if no header fits.
    """
    tree = parse_source(code)
    if ast.get_docstring(tree) is not None and tree.body[0].end_lineno != tree.body[1].lineno:
        code = "\n".join(code.split("\n")[tree.body[0].end_lineno :])
    try:
        learnt_procedure(code, task.type, world, "still to be said", options)
    except BadProcedure as bad:
        raise ValueError(str(bad)) from bad
    return code


def _plain(text: str) -> str:
    """Return one line that ends no docstring and escapes nothing."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())
