"""Plays the ground truth of BFCL's tasks as plan code, with or without one of its calls."""

import ast

from bfcl import entries
from pydantic import BaseModel

from planbook.planner import Episode, Method, Options


class Truth(Options):
    """The change of the ground truth."""

    left_out: int = -1
    """Number of the call to leave out; -1 leaves out none."""


def play(episode: Episode, options: BaseModel) -> None:
    """Run the whole ground truth as one plan."""
    left_out = Truth.model_validate(options).left_out
    episode.run(plan_of(episode.task.id, left_out))


def plan_of(task_id: str, left_out: int = -1) -> str:
    """Return the ground truth of a task as plan code."""
    entry = entries()[task_id]
    turns = calls_of(task_id, left_out)
    owners = {name: owner for owner in entry["involved_classes"] for name in functions(owner)}
    lines = []
    for number, calls in enumerate(turns):
        lines += ["agent.next_request()"] * bool(number)
        lines += [
            f"try:\n    {ast.unparse(Owned(owners).visit(ast.parse(call)))}\nexcept RuntimeError:\n    pass"
            for call in calls
        ]
    return "\n".join([*lines, "agent.answer()"])


def calls_of(task_id: str, left_out: int) -> list[list[str]]:
    """Return the calls of each turn, without the one that is left out."""
    number, turns = 0, []
    for calls in entries()[task_id]["ground_truth"]:
        turns.append([call for place, call in enumerate(calls, number) if place != left_out])
        number += len(calls)
    return turns


def functions(owner: str) -> list[str]:
    import bfcl

    return [name for name in vars(getattr(bfcl, owner)) if name[0] != "_"]


class Owned(ast.NodeTransformer):
    """Qualifies the name of each called function with its API."""

    def __init__(self, owners: dict[str, str]) -> None:
        self._owners = owners

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self._owners:
            node.func = ast.parse(f"agent.{self._owners[node.func.id]}.{node.func.id}", mode="eval").body
        return node


truth = Method(play, Truth, "BFCL's ground truth; no model")
