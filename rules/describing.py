"""Ask the Builder to name and describe found task types.

A found type is a group of solved tasks whose plans have the same shape, or whose goals have the same wording. Its first
name is made of the words of a goal, and it keeps that name if the Builder (the model that writes rules) gives no usable
answer.
"""

import json
import re
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, ValidationError

from planbook.planner import Scope, UnusableReply, as_json, fence_around
from planbook.rules.builder import BUILDER_ROLE
from planbook.rules.rendering import PROMPTS
from planbook.rules.types import FoundType

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


class TypeDescription(BaseModel):
    """The Builder's answer: the name of a type, a summary of its tasks, and the meaning of each parameter."""

    name: str
    summary: str
    parameters: dict[str, str] = {}


def describe_type(scope: Scope, found: FoundType, used_names: Collection[str]) -> FoundType:
    """Return the type with the Builder's name and descriptions.

    ``used_names`` are the names of other types. Raises ModelError or BudgetEnded if the Builder cannot be asked.
    """

    def read(text: str) -> TypeDescription:
        try:
            answer = TypeDescription.model_validate(as_json(text, dict))
        except ValidationError as error:
            raise ValueError(f"answer with one JSON object as asked: {error}") from error
        if not _NAME.fullmatch(answer.name) or answer.name in used_names:
            raise ValueError(f"the name {answer.name!r} is taken, or is not made of lower-case words and underscores")
        return answer

    goals = [goal for wording in found.wordings for goal in wording.goals]
    params = {param.name: found.examples[0].params.get(param.name) for param in found.parameters}
    values: dict[str, Any] = {
        "goals": goals,
        "params": json.dumps(params, ensure_ascii=False),
        "code": found.code,
        "fence": fence_around(found.code),
        "names": sorted(used_names),
    }
    try:
        answer = scope.ask(BUILDER_ROLE, PROMPTS["found_type"], read=read, **values).value
    except UnusableReply:
        return found
    parameters = tuple(
        param.model_copy(update={"summary": answer.parameters.get(param.name, "")}) for param in found.parameters
    )
    return found.model_copy(update={"name": answer.name, "summary": answer.summary, "parameters": parameters})
