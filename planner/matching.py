"""Match a goal with a found task type. If the memory is not sure, a model is asked, and may abstain."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictInt, ValidationError

from planbook.planner.episode import Episode
from planbook.planner.errors import UnusableReply
from planbook.planner.memory import Match, MatchCandidate, Recall
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import as_json

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
