"""Plan code that already exists: a given plan, or a procedure from memory.

No model is asked, except to match a goal with the type of a procedure.
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
    """Run the given plan once, as one cell, after the code in ``before``. Give up if that code fails."""
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
    """Run the procedure recalled for the task, if any. Return True if the task is known to be done.

    A procedure that was matched with the goal is dry-run first, and its post-conditions are checked afterwards.
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
    """Run the environment's own plan for the naive baseline (ADaPT, appendix D). Give up if it has none."""
    if code := type(episode.environment).naive:
        given_code(episode, GivenCode(code=code, source="naive", told_params=True))


def code_of(procedure: Procedure) -> GivenCode:
    """Return a procedure as one plan: its file, then the call.

    A procedure written by a model sees only the params that models may know.
    """
    code = f"{procedure.code.rstrip()}\n\n\nsolve(agent, task)\n"
    return GivenCode(code=code, helpers=procedure.helpers, source=procedure.name, told_params=procedure.is_learned)


# Matching a goal with a found task type. If the memory is not sure, a model is asked, and may abstain.

MODEL = "model"
NONE = "none"
_Text = Annotated[str, Field(strict=True, min_length=1)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _TypeAnswer(BaseModel):
    """A model's answer. Other fields of its JSON object are ignored."""

    type: str
    params: dict[str, _Text | StrictInt | _Number] = {}


def match_goal(episode: Episode, recall: Recall, role: str = "") -> Recall:
    """Return the recall for the goal's type, and record the match. If the memory is unsure, ``role`` is asked.

    Without found types, return ``recall`` unchanged. Raises ModelError, BudgetEnded.
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
    """Return the recall for the type that a model names; without a procedure if it names none."""
    if (answer := _ask_for_type(episode, match.candidates, role)).type:
        recall_of_type = episode.recall(answer)
        named = answer if recall_of_type.match is None else recall_of_type.match
        if named.type:  # else the params do not have the forms of the type's parameters
            named = named.model_copy(update={"by": MODEL, "candidates": ()})
            return recall_of_type.model_copy(update={"match": named})
    no_match = match.model_copy(update={"type": "", "params": {}, "by": ""})
    return recall.model_copy(update={"match": no_match, "procedure": None})


def _ask_for_type(episode: Episode, candidates: Sequence[MatchCandidate], role: str) -> Match:
    """Return a model's answer; without a type if it abstains or gives no usable reply."""
    scope, prompt = episode.current_scope.child("match"), PROMPTS["matching/match"]
    shown: Any = [candidate.model_dump(mode="json") for candidate in candidates]
    variables = {"candidates": shown, "goal": episode.task.goal, "observation": episode.observation.text}
    try:
        return scope.ask(role, prompt, read=_reader(candidates), **variables).value
    except UnusableReply:
        return Match()


def _reader(candidates: Sequence[MatchCandidate]) -> Callable[[str], Match]:
    """Return a function that reads an answer. It raises ValueError for a type or parameters that were not offered."""
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
