"""The words for what is learnt (AutoManual, sections 3.2 and 3.3)."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from planbook.envs import Task
from planbook.planner import Procedure


class RuleType(StrEnum):
    """The six types of a rule."""

    SPECIAL_PHENOMENON = "Special Phenomenon"
    SPECIAL_MECHANISM = "Special Mechanism"
    USEFUL_HELPER_METHOD = "Useful Helper Method"
    SUCCESS_PROCESS = "Success Process"
    CORRECTED_ERROR = "Corrected Error"
    UNRESOLVED_ERROR = "Unresolved Error"


MEANINGS = {
    RuleType.SPECIAL_PHENOMENON: "something that can be observed here and is not what one would expect",
    RuleType.SPECIAL_MECHANISM: "how the world works, where it is particular to this world",
    RuleType.USEFUL_HELPER_METHOD: "a function of use in several tasks; its code is the example",
    RuleType.SUCCESS_PROCESS: "how tasks of a kind are done, step by step",
    RuleType.CORRECTED_ERROR: "a mistake or misunderstanding, and what put it right",
    RuleType.UNRESOLVED_ERROR: "an error that nobody has put right so far",
}
"""What each type is for, as prompts say it."""
HOW_IT_IS_DONE = (RuleType.SUCCESS_PROCESS, RuleType.USEFUL_HELPER_METHOD)
"""The types that hold code of successes; all others say something of the world or of errors."""


class Learnt(BaseModel):
    """Base of what is kept between episodes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Rule(Learnt):
    """One thing known about a world. ``id`` is never used again, even after the rule is deleted.

    ``type`` is None only where rules are kept without types (an ablation).
    """

    id: str
    type: RuleType | None
    content: str
    example: str = ""
    log: tuple[str, ...] = ()
    """The validation log, oldest first: how the rule came about and what became of it. Never shown to a planner."""
    builds_on: tuple[str, ...] = ()
    """Ids of the rules that it was derived from."""


class Skill(Learnt):
    """A success's conclusion code, with the scene and the task it came from."""

    task: Task
    scene: str
    code: str


class Reflection(Learnt):
    """What went wrong in a failure, with the scene and the task it came from."""

    task: Task
    scene: str
    text: str


class Knowledge(Learnt):
    """All that was learnt of a world. Skills, reflections and procedures are by task type, one each.

    ``manual`` is the Markdown that the rules were formulated into; empty, they are shown as a list. ``example`` is the
    start's example, which also shows the form of a reply.
    """

    world: str
    rules: tuple[Rule, ...] = ()
    manual: str = ""
    skills: dict[str, Skill] = Field(default_factory=dict)
    reflections: dict[str, Reflection] = Field(default_factory=dict)
    procedures: dict[str, Procedure] = Field(default_factory=dict)
    example: str = ""
