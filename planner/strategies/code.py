"""Methods that run existing plan code: a given plan, an environment's naive plan, or a stored procedure.

A procedure is plan code that solves all tasks of one type. No model is asked, except to find the task type, and so the
procedure, that fits a goal.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictInt, ValidationError

from planbook.planner.episode import Episode
from planbook.planner.errors import UnusableReply
from planbook.planner.frames import Frame
from planbook.planner.memory import Match, MatchCandidate, Recall
from planbook.planner.procedure import Procedure
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import as_json
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
    """Run the code in ``before``, if any, and then the given plan. Give up if the code in ``before`` fails."""
    with _frame(episode, options):
        if options.before and episode.run(options.before, source="before").is_error:
            return
        episode.run(options.code, source=options.source)


def _frame(episode: Episode, plan: GivenCode, match: Match | None = None) -> AbstractContextManager[Frame]:
    task = model_task(episode) if plan.told_params else {}
    if match:
        task = {"type": match.type, "params": match.params}
    return episode.frame("plan", helpers=plan.helpers, task=task, dry_run=match is not None)


def procedures(episode: Episode, options: Options, recall: Recall | None = None) -> bool:
    """Run the procedure that the memory has for the task, if any. Return True if checks show that the task is done.

    If the procedure was found by matching the goal, it is dry-run first, and its post-conditions are checked
    afterwards. Any other procedure is only run.
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
    """Run the environment's own plan for the naive baseline (ADaPT paper, appendix D). Give up if it has none."""
    if code := type(episode.environment).naive:
        given_code(episode, GivenCode(code=code, source="naive", told_params=True))


def code_of(procedure: Procedure) -> GivenCode:
    """Return the plan that runs a procedure: the procedure's code, followed by a call of its ``solve``.

    A procedure that a model wrote sees only those params of the task that models may know.
    """
    code = f"{procedure.code.rstrip()}\n\n\nsolve(agent, task)\n"
    return GivenCode(code=code, helpers=procedure.helpers, source=procedure.name, told_params=procedure.is_learned)


# Matching a goal with one of the task types that planbook found. If the memory is not sure, a model is asked. The model
# may answer that none of the types fits.

MODEL = "model"
NONE = "none"
_Text = Annotated[str, Field(strict=True, min_length=1)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _TypeAnswer(BaseModel):
    """A model's answer: the task type and its parameters. Other fields of the JSON object are ignored."""

    type: str
    params: dict[str, _Text | StrictInt | _Number] = {}


def match_goal(episode: Episode, recall: Recall, role: str = "") -> Recall:
    """Match the goal with a task type, record the match, and return what the memory has for that type.

    If the memory is not sure, ``role`` is asked. If there are no types to match, return ``recall`` unchanged.
    Raises ModelError if the model fails, or BudgetEnded if the run's budget does not allow the question.
    """
    match = recall.match
    if match is None:
        return recall
    if match.candidates and role:
        recall = _match_by_model(episode, recall, match, role)
        match = recall.match or match
    episode.span(match if recall.procedure else match.model_copy(update={"type": "", "params": {}})).end()
    return recall


def _match_by_model(episode: Episode, recall: Recall, match: Match, role: str) -> Recall:
    """Return what the memory has for the type that a model names. If it names none, there is no procedure."""
    if (answer := _ask_for_type(episode, match.candidates, role)).type:
        recall_of_type = episode.recall(answer)
        new_match = answer if recall_of_type.match is None else recall_of_type.match
        if new_match.type:  # the answer's params have the forms of the type's parameters
            new_match = new_match.model_copy(update={"by": MODEL, "candidates": ()})
            return recall_of_type.model_copy(update={"match": new_match})
    no_match = match.model_copy(update={"type": "", "params": {}, "by": ""})
    return recall.model_copy(update={"match": no_match, "procedure": None})


def _ask_for_type(episode: Episode, candidates: Sequence[MatchCandidate], role: str) -> Match:
    """Ask a model for the task type. The match has no type if the model names none, or if no reply is usable."""
    scope, prompt = episode.current_scope.child("match"), PROMPTS["matching/match"]
    shown: Any = [candidate.model_dump(mode="json") for candidate in candidates]
    variables = {"candidates": shown, "goal": episode.task.goal, "observation": episode.observation.text}
    try:
        return scope.ask(role, prompt, read=_type_reader(candidates), **variables).value
    except UnusableReply:
        return Match()


def _type_reader(candidates: Sequence[MatchCandidate]) -> Callable[[str], Match]:
    """Return a function that reads a reply. It raises ValueError for a type or parameters that were not offered."""
    params = {candidate.name: set(candidate.params) for candidate in candidates}

    def read(text: str) -> Match:
        try:
            answer = _TypeAnswer.model_validate(as_json(text, dict))
        except ValidationError as error:
            raise ValueError(f"the JSON object cannot be read: {error}") from error
        if answer.type == NONE:
            return Match()
        if set(answer.params) != params.get(answer.type):
            raise ValueError(f"{answer.type!r} with {sorted(answer.params)} is none of the types with their parameters")
        return Match(type=answer.type, params=dict(answer.params), by=MODEL)

    return read


METHODS: Mapping[str, Method] = {
    "code": Method(given_code, GivenCode, "one given plan; no model"),
    "naive": Method(naive, Options, "the environment's own plan for any task; no model"),
    "procedures": Method(
        procedures, Options, "stored plan code with parameters, by task type; no model", spans=(Match,)
    ),
}
