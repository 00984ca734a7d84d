"""The records of what is learned (AutoManual, sections 3.2 and 3.3)."""

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
"""The purpose of each type, in the words of prompts."""
HOW_IT_IS_DONE = (RuleType.SUCCESS_PROCESS, RuleType.USEFUL_HELPER_METHOD)
"""Types that hold code of successes; all others describe the environment or errors."""


class Learnt(BaseModel):
    """Base of what is kept between episodes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Rule(Learnt):
    """One piece of knowledge about an environment. ``id`` is never reused, even after deletion.

    ``type`` is None only if rules are kept without types (an ablation).
    """

    id: str
    type: RuleType | None
    content: str
    example: str = ""
    log: tuple[str, ...] = ()
    """The validation log, oldest entry first: the origin of the rule and its history. Planners never see it."""
    builds_on: tuple[str, ...] = ()
    """Ids of the rules that it was derived from."""


class Skill(Learnt):
    """The concluding code of a success, with its scene and task."""

    task: Task
    scene: str
    code: str


class Reflection(Learnt):
    """What went wrong in a failure, with its scene and task."""

    task: Task
    scene: str
    text: str


class Knowledge(Learnt):
    """Everything learned about an environment; one skill, reflection and procedure for each task type.

    ``manual`` is the Markdown written from the rules; if empty, the rules are shown as a list. ``example`` is the
    starting example, which also shows the reply format.
    """

    world: str
    rules: tuple[Rule, ...] = ()
    manual: str = ""
    skills: dict[str, Skill] = Field(default_factory=dict)
    reflections: dict[str, Reflection] = Field(default_factory=dict)
    procedures: dict[str, Procedure] = Field(default_factory=dict)
    example: str = ""
