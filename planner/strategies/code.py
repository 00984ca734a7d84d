"""Plan code that already exists: a given plan, or a procedure from memory. No model is asked."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

from pydantic import Field, JsonValue

from planbook.planner.episode import Episode
from planbook.planner.frames import Frame
from planbook.planner.matching import match_goal
from planbook.planner.memory import Match, Recall
from planbook.planner.procedure import Procedure
from planbook.planner.strategies.base import Method, Options, model_task


class GivenCode(Options):
    """One plan for every task."""

    code: str = Field(description="The plan.")
    helpers: str = Field(default="", description="Code that is run before the plan, to define helpers.")
    before: str = Field(
        default="", description="Plan code that is run first, as a separate cell.", exclude_if=lambda code: not code
    )
    source: str = Field(default="plan", description="Name under which its faults are reported.")
    told_params: bool = Field(
        default=False, description="Show the plan only those params of the task that models may know."
    )


def given_code(episode: Episode, options: GivenCode) -> None:
    """Run the given plan once, as one cell, after the code in ``before``. Give up if that code fails."""
    with _frame(episode, options):
        if options.before and episode.run(options.before, source="before").is_error:
            return
        episode.run(options.code, source=options.source)


def _frame(episode: Episode, plan: GivenCode) -> AbstractContextManager[Frame]:
    return episode.frame("plan", helpers=plan.helpers, task=model_task(episode) if plan.told_params else {})


def procedures(episode: Episode, options: Options, recall: Recall | None = None) -> bool:
    """Run the procedure recalled for the task, if any. Return True if the task is known to be done.

    A procedure that was matched with the goal is dry-run first, and its post-conditions are checked afterwards.
    """
    recall = recall or match_goal(episode, episode.recall())
    if recall.procedure is None:
        return False
    plan, match, is_checked = code_of(recall.procedure), recall.match, False
    with _frame(episode, plan) if match is None else _matched_frame(episode, plan, match):
        feedback = episode.run(plan.code, source=plan.source)
        if match and recall.check and not feedback.is_error:
            feedback, is_checked = episode.run(recall.check, source="post-condition"), True
    if match and feedback.is_error:
        episode.span(match.model_copy(update={"failed": feedback.kind.value})).end()
    return is_checked and not feedback.is_error


def _matched_frame(episode: Episode, plan: GivenCode, match: Match) -> AbstractContextManager[Frame]:
    task: Mapping[str, JsonValue] = {"type": match.type, "params": match.params}
    return episode.frame("plan", helpers=plan.helpers, task=task, dry_run=True)


def naive(episode: Episode, options: Options) -> None:
    """Run the environment's own plan for the naive baseline (ADaPT, appendix D). Give up if it has none."""
    if code := type(episode.environment).naive:
        given_code(episode, GivenCode(code=code, source="naive", told_params=True))


def code_of(procedure: Procedure) -> GivenCode:
    """Return a procedure as one plan: its file, then the call.

    A procedure written by a model sees only the params that models may know.
    """
    code = f"{procedure.code.rstrip()}\n\n\nsolve(agent, task)\n"
    return GivenCode(code=code, helpers=procedure.helpers, source=procedure.name, told_params=procedure.is_learned)


METHODS: Mapping[str, Method] = {
    "code": Method(given_code, GivenCode, "one given plan; no model"),
    "naive": Method(naive, Options, "the environment's own plan for any task; no model"),
    "procedures": Method(
        procedures, Options, "stored plan code with parameters, by task type; no model", spans=(Match,)
    ),
}
