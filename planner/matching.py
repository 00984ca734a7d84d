"""Which found task type a goal is of: a model is asked where the memory is not sure, and may abstain."""

from collections.abc import Callable, Sequence
from typing import Annotated

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
    """A model's answer, whatever else its JSON object has."""

    type: str
    params: dict[str, _Text | StrictInt | _Number] = {}


def matched(episode: Episode, recall: Recall, role: str = "") -> Recall:
    """Return what is known of the goal's type, and record the match; a ``role`` is asked where the memory is unsure.

    Without found types it is the recall itself. Raises ModelError, BudgetEnded.
    """
    match = recall.match
    if match is None:
        return recall
    if match.candidates and role:
        recall = _by_model(episode, recall, match, role)
        match = recall.match or match
    episode.span(match if recall.procedure else match.model_copy(update={"type": "", "params": {}})).end()
    return recall


def _by_model(episode: Episode, recall: Recall, match: Match, role: str) -> Recall:
    """Return what is known of the type that a model finds; without a procedure if it finds none."""
    if (answer := _asked(episode, match.candidates, role)).type:
        known = episode.recall(answer)
        found = answer if known.match is None else known.match
        if found.type:  # else the params do not have the forms of the type's parameters
            return known.model_copy(update={"match": found.model_copy(update={"by": MODEL, "candidates": ()})})
    nothing = match.model_copy(update={"type": "", "params": {}, "by": ""})
    return recall.model_copy(update={"match": nothing, "procedure": None})


def _asked(episode: Episode, candidates: Sequence[MatchCandidate], role: str) -> Match:
    """Return a model's answer; without a type if it abstains, or has no usable one."""
    scope, prompt = episode.current_scope.child("match"), PROMPTS["matching/match"]
    told = [candidate.model_dump(mode="json") for candidate in candidates]
    goal, observation = episode.task.goal, episode.observation.text
    try:
        read = _reader(candidates)
        return scope.ask(role, prompt, read=read, candidates=told, goal=goal, observation=observation).value
    except UnusableReply:
        return Match()


def _reader(candidates: Sequence[MatchCandidate]) -> Callable[[str], Match]:
    """Return a function that reads an answer. It raises ValueError for a type or parameters that were not offered."""
    params = {each.name: set(each.params) for each in candidates}

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
