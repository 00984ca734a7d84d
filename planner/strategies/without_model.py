"""Methods that ask no model: random actions, a given plan, an environment's naive plan, and stored procedures.

A cell is a piece of plan code that is run as a unit. A procedure is stored plan code for all tasks of one type.
"""

import inspect
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import product
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from planbook.envs import Action, ActionSpec, Environment
from planbook.planner.agent import format_call
from planbook.planner.episode import Episode
from planbook.planner.frames import Frame
from planbook.planner.memory import Match, Recall
from planbook.planner.procedure_files import Procedure
from planbook.planner.strategies.base import Method, Options, match_goal, public_task_fields

# Random actions, the baseline of the AgentKit paper (table 1). Each cell takes one action.

RANDOM = "random"
CELLS_PER_ACTION = 3
"""Number of cells for each allowed action. It is more than 1, since a cell may fail before it acts."""


def play_random(episode: Episode, options: Options) -> None:
    """Take random actions, which depend only on the seed of the run and on the task.

    ``possible_choices`` returns the actions to draw from.
    """
    rng = random.Random(f"{episode.settings.seed}/{episode.task.id}")
    with episode.frame("plan"):
        for _ in range(CELLS_PER_ACTION * episode.settings.actions):
            choices = possible_choices(episode.environment)
            if not choices:
                raise episode.no_plan(RANDOM, f"{RANDOM} cannot play {episode.environment.name}: {NOTHING_LISTED}")
            episode.run(format_call(rng.choice(choices)), source=RANDOM)


NOTHING_LISTED = (
    "it lists neither possible actions nor goals, and every action takes an argument that could be anything"
)


def fault_of_random(environment: type[Environment], options: BaseModel | None) -> str:
    """Return why ``random`` can never choose an action (see ``possible_choices``), or "" if it may be able to."""
    members = ("possible_actions", "goals")
    lists_actions = any(getattr(environment, name) is not getattr(Environment, name) for name in members)
    if lists_actions or any(any(_calls(spec)) for spec in environment.offered(options).actions.values()):
        return ""
    return f"{RANDOM} cannot play {environment.name}: {NOTHING_LISTED}; define possible_actions() in the environment"


def possible_choices(environment: Environment) -> Sequence[Action]:
    """Return the actions to draw from, with their arguments.

    An argument is free if its values cannot be enumerated, for example if it may be any text. If no action has a free
    argument, return all actions with all combinations of arguments. Otherwise return the actions that the environment
    lists as possible or, if it provides no list (None), its goals, provided that they are actions. If this gives
    nothing, return all actions without free arguments.
    """
    calls = [list(_calls(spec)) for spec in environment.offer.actions.values()]
    enumerable = [action for actions in calls for action in actions]
    if all(calls):
        return enumerable
    listed_actions = environment.possible_actions()
    if listed_actions is None and environment.goals.direct:
        listed_actions = list(environment.goals.list_goals())
    return listed_actions or enumerable


def _calls(spec: ActionSpec) -> Iterator[Action]:
    """Yield the action with every combination of its arguments, or nothing if an argument is free."""
    values = [_values(parameter) for parameter in spec.signature.parameters.values()]
    return (Action(spec.name, arguments) for arguments in product(*values))


def _values(parameter: inspect.Parameter) -> Sequence[Any]:
    """Return the values to choose from for an argument.

    For an argument of a Literal or bool type, return the values of the type. For any other argument, return only its
    default. If it has no default, it is free: return nothing.
    """
    if get_origin(parameter.annotation) is Literal:
        return get_args(parameter.annotation)
    if parameter.annotation is bool:
        return (True, False)
    return () if parameter.default is inspect.Parameter.empty else (parameter.default,)


# Plan code that was given or stored.


class GivenCode(Options):
    """The options of a method that runs the same given plan for every task."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    code: str = Field(description="The plan.")
    helpers: str = Field(default="", description="Code that is run before the plan, to define helpers.")
    before: str = Field(
        default="", description="Plan code that is run first, as a separate cell.", exclude_if=lambda code: not code
    )
    source: str = Field(default="plan", description="Name under which its faults are reported.")
    public_params_only: bool = Field(
        default=False, description="Show the plan only those task params that models may know.", alias="told_params"
    )


def given_code(episode: Episode, options: GivenCode) -> None:
    """Run the given plan. If there is code in ``before``, run it first, and give up if it fails."""
    with _frame(episode, options):
        if options.before and episode.run(options.before, source="before").is_error:
            return
        episode.run(options.code, source=options.source)


def _frame(episode: Episode, plan: GivenCode, match: Match | None = None) -> AbstractContextManager[Frame]:
    task = public_task_fields(episode) if plan.public_params_only else {}
    if match:
        task = {"type": match.type, "params": match.params}
    return episode.frame("plan", helpers=plan.helpers, task=task, dry_run=match is not None)


def procedures(episode: Episode, options: Options, recall: Recall | None = None) -> bool:
    """Run the procedure that the memory has for the task, if any. Return True if a check has shown that it succeeded.

    If the procedure was found by matching the goal, a dry run checks its actions first, and afterwards its
    post-conditions are checked. Any other procedure is only run, so the result is False.
    """
    recall = recall or match_goal(episode, episode.recall())
    if recall.procedure is None:
        return False
    plan, match, is_checked = code_of(recall.procedure), recall.match, False
    with _frame(episode, plan, match):
        feedback = episode.run(plan.code, source=plan.source)
        if match and recall.check and not feedback.is_error:
            feedback, is_checked = episode.run(recall.check, source="post-condition"), True
    if match and feedback.is_error:
        episode.span(match.model_copy(update={"failed": feedback.kind.value})).end()
    return is_checked and not feedback.is_error


def naive(episode: Episode, options: Options) -> None:
    """Run the plan that the environment defines for the naive baseline (ADaPT paper, appendix D), if there is one."""
    if code := type(episode.environment).naive:
        given_code(episode, GivenCode(code=code, source="naive", public_params_only=True))


def code_of(procedure: Procedure) -> GivenCode:
    """Return the plan that runs a procedure: the procedure's code, followed by a call of its ``solve``.

    A procedure that a model wrote sees only those params of the task that models may know.
    """
    code = f"{procedure.code.rstrip()}\n\n\nsolve(agent, task)\n"
    return GivenCode(
        code=code, helpers=procedure.helpers, source=procedure.name, public_params_only=procedure.is_learned
    )


METHODS: Mapping[str, Method] = {
    "code": Method(given_code, GivenCode, "one given plan; no model"),
    "naive": Method(naive, Options, "the environment's own plan for any task; no model"),
    "procedures": Method(
        procedures, Options, "stored plan code with parameters, by task type; no model", spans=(Match,)
    ),
    "random": Method(
        play_random,
        Options,
        "random actions; those with free arguments only if the environment lists them; no model",
    ),
}
