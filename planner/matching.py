"""Which found task type a goal is of: a model is asked where the memory is not sure, and may abstain."""

import json
import re
from collections.abc import Callable, Sequence

from pydantic import ValidationError

from planbook.planner.episode import Episode
from planbook.planner.errors import UnusableReply
from planbook.planner.memory import Match, MatchCandidate, Recall
from planbook.planner.templates import PROMPTS

MODEL = "model"
NONE = "none"
_JSON = re.compile(r"\{.*\}", re.DOTALL)


def matched(episode: Episode, recall: Recall, role: str = "") -> Recall:
    """Return what is known of the goal's type, and record the match; a ``role`` is asked where the memory is unsure.

    Without found types it is the recall itself. Raises ModelError, BudgetEnded.
    """
    match = recall.match
    if match is None:
        return recall
    if not match.type and match.candidates and role and (answer := _asked(episode, match.candidates, role)).type:
        recall = episode.recall(answer)
        match = answer if recall.match is None else recall.match.model_copy(update={"by": MODEL})
        recall = recall.model_copy(update={"match": match})
    episode.span(match if recall.procedure else match.model_copy(update={"type": "", "params": {}})).end()
    return recall


def _asked(episode: Episode, candidates: Sequence[MatchCandidate], role: str) -> Match:
    """Return a model's answer; without a type if it abstains, or has no usable one."""
    with episode.frame("match") as frame:
        try:
            told = [candidate.model_dump(mode="json") for candidate in candidates]
            prompt = PROMPTS["matching/match"]
            return frame.scope.ask(
                role, prompt, read=_reader(candidates), candidates=told, goal=episode.task.goal
            ).value
        except UnusableReply:
            return Match()


def _reader(candidates: Sequence[MatchCandidate]) -> Callable[[str], Match]:
    """Return a function that reads an answer. It raises ValueError for a type or parameters that were not offered."""
    params = {each.name: set(each.params) for each in candidates}

    def read(text: str) -> Match:
        found = _JSON.search(text)
        if found is None:
            raise ValueError('answer with one JSON object: {"type": ..., "params": {...}}')
        try:
            match = Match.model_validate({**json.loads(found[0]), "by": MODEL})
        except (ValidationError, ValueError, TypeError) as error:
            raise ValueError(f"the JSON object cannot be read: {error}") from error
        if match.type == NONE:
            return Match()
        if set(match.params) != params.get(match.type):
            raise ValueError(f"{match.type!r} with {sorted(match.params)} is none of the types with their parameters")
        return match

    return read
