"""Ask the Builder to name and describe found types; without a usable answer, a type keeps its plain name."""

import json
import re
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, ValidationError

from planbook.planner import Scope, UnusableReply, as_json, fence_around
from planbook.rules.builder import BUILDER_ROLE
from planbook.rules.telling import PROMPTS
from planbook.rules.types import FoundType

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


class TypeDescription(BaseModel):
    """The Builder's description of a type: its name, what its tasks are, and what each parameter is."""

    name: str
    summary: str
    parameters: dict[str, str] = {}


def describe_type(scope: Scope, found: FoundType, taken: Collection[str]) -> FoundType:
    """Return the type with the Builder's name and descriptions. Raises ModelError, BudgetEnded.

    ``taken`` are the names of other types.
    """

    def read(text: str) -> TypeDescription:
        try:
            answer = TypeDescription.model_validate(as_json(text, dict))
        except ValidationError as error:
            raise ValueError(f"answer with one JSON object as asked: {error}") from error
        if not _NAME.fullmatch(answer.name) or answer.name in taken:
            raise ValueError(f"the name {answer.name!r} is taken, or is not made of lower-case words and underscores")
        return answer

    goals = [goal for wording in found.wordings for goal in wording.goals]
    params = {each.name: found.examples[0].params.get(each.name) for each in found.parameters}
    values: dict[str, Any] = {
        "goals": goals,
        "params": json.dumps(params, ensure_ascii=False),
        "code": found.code,
        "fence": fence_around(found.code),
        "names": sorted(taken),
    }
    try:
        answer = scope.ask(BUILDER_ROLE, PROMPTS["found_type"], read=read, **values).value
    except UnusableReply:
        return found
    parameters = tuple(
        each.model_copy(update={"summary": answer.parameters.get(each.name, "")}) for each in found.parameters
    )
    return found.model_copy(update={"name": answer.name, "summary": answer.summary, "parameters": parameters})
