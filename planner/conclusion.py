"""The planner's conclusion after an episode (AutoManual, section 3.2): the whole plan, or the mistakes."""

import ast
from typing import Any

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner.agent import action_docs
from planbook.planner.errors import UnusableReply
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS, Prompt
from planbook.planner.roles import PLANNER_ROLE, as_text
from planbook.planner.scope import Scope
from planbook.planner.thought import as_plan
from planbook.planner.trajectory import Trajectory, tell_trajectory
from planbook.planner.types import Outcome, Record
from planbook.sandbox import bound_names, carry, carryable, parse_source


class Conclusion(Record):
    """A conclusion. ``code`` is the whole plan of a success; ``text`` names mistakes, or the cause of a failure."""

    text: str
    code: str = ""


def conclude(
    scope: Scope, trajectory: Trajectory, environment: type[Environment], options: BaseModel, *, always: bool = False
) -> Conclusion:
    """Ask for the conclusion; it is empty if no reply is usable. Raises ModelError, BudgetEnded.

    A success with a single plan needs no question, since that plan is the whole code; ``always`` asks anyway.
    """
    cells = [cell for played in trajectory.rounds for cell in played.cells]
    if not always and trajectory.ending.outcome is Outcome.DIRECT_SUCCESS and len(cells) == 1:
        return Conclusion(text="", code=standalone(cells[0].code, trajectory.helpers))
    history = [about_the_environment(environment, options)]
    variables: dict[str, Any] = {"trajectory": tell_trajectory(trajectory)}
    try:
        if trajectory.ending.outcome.solved:
            plan = scope.ask(PLANNER_ROLE, _prompt(trajectory), read=as_plan, history=history, **variables).value
            return Conclusion(text=plan.thought.text, code=standalone(plan.code, trajectory.helpers))
        variables["knowledge"] = trajectory.knowledge
        return scope.ask(PLANNER_ROLE, _prompt(trajectory), read=_as_reflection, history=history, **variables).value
    except UnusableReply:
        return Conclusion(text="")


def standalone(code: str, helpers: str) -> str:
    """Return the code preceded by the helpers that it uses and does not define itself."""
    used = {node.id for node in ast.walk(parse_source(code)) if isinstance(node, ast.Name)} - bound_names(code)
    names = used & carryable(helpers)
    return f"{carry(helpers, names)}\n\n{code}" if names else code


def about_the_environment(environment: type[Environment], options: BaseModel) -> Message:
    """Return the system message of questions about episodes: the environment and its action docs."""
    return PROMPTS["automanual/concluding"].system(
        about=environment.about, action_docs=action_docs(environment, options)
    )


def _prompt(trajectory: Trajectory) -> Prompt:
    outcome = trajectory.ending.outcome
    kinds = {Outcome.DIRECT_SUCCESS: "direct", Outcome.INDIRECT_SUCCESS: "indirect"}
    return PROMPTS[f"automanual/conclusion_{kinds.get(outcome, 'failure')}"]


def _as_reflection(text: str) -> Conclusion:
    return Conclusion(text=as_text(text))
