"""Match the goal of a task with one of the task types that planbook has found by itself.

The memory compares the goal with the types. If it is not sure, a model is asked, which may answer that no type fits.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictInt, ValidationError

from planbook.planner.episode import Episode
from planbook.planner.errors import UnusableReply
from planbook.planner.memory import Match, MatchCandidate, Recall
from planbook.planner.prompts import PROMPTS
from planbook.planner.replies import as_json

MODEL, NONE = "model", "none"
_Text = Annotated[str, Field(strict=True, min_length=1)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _TypeAnswer(BaseModel):
    """A model's answer: the task type and its parameters. Other fields of the JSON object are ignored."""

    type: str
    params: dict[str, _Text | StrictInt | _Number] = {}


def match_goal(episode: Episode, recall: Recall, role: str = "") -> Recall:
    """Match the goal with a task type, record the match, and return what the memory has for that type.

    If the memory is not sure and ``role`` is not empty, the model of this role is asked. If planbook has found no task
    types, return ``recall`` unchanged. Raises ModelError if the model does not answer, or BudgetEnded if the run's
    budget does not allow the question.
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
    """Return what the memory has for the type that a model names. If the model names no type, there is no procedure."""
    if (answer := _ask_for_type(episode, match.candidates, role)).type:
        recall_of_type = episode.recall(answer)
        new_match = answer if recall_of_type.match is None else recall_of_type.match
        if new_match.type:  # the memory accepts the values that the model gave for the type's parameters
            new_match = new_match.model_copy(update={"by": MODEL, "candidates": ()})
            return recall_of_type.model_copy(update={"match": new_match})
    no_match = match.model_copy(update={"type": "", "params": {}, "by": ""})
    return recall.model_copy(update={"match": no_match, "procedure": None})


def _ask_for_type(episode: Episode, candidates: Sequence[MatchCandidate], role: str) -> Match:
    """Ask a model for the task type. The match has no type if the model names no type, or if no reply is usable."""
    scope, prompt = episode.current_scope.child("match"), PROMPTS["matching/match"]
    shown: Any = [candidate.model_dump(mode="json") for candidate in candidates]
    variables = {"candidates": shown, "goal": episode.task.goal, "observation": episode.observation.text}
    try:
        return scope.ask(role, prompt, read=_type_reader(candidates), **variables).value
    except UnusableReply:
        return Match()


def _type_reader(candidates: Sequence[MatchCandidate]) -> Callable[[str], Match]:
    """Return a function that reads a reply. It raises ValueError if the type or its parameters were not offered."""
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
