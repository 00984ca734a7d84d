"""The records of learned knowledge (AutoManual, sections 3.2 and 3.3).

Rules, skills and reflections come from the paper. Procedures and found task types are additions of planbook.
"""

import re
from collections.abc import Collection
from enum import StrEnum

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

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


HOW_TO_TYPES = (RuleType.SUCCESS_PROCESS, RuleType.USEFUL_HELPER_METHOD)
"""The types of rules about how tasks are done. Rules of all other types are about the environment or about errors."""


class Learned(BaseModel):
    """Base class of everything that is kept between episodes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Rule(Learned):
    """One piece of knowledge about an environment. Its ``id`` is never used again, even after the rule is deleted.

    ``type`` is None only in the ablation without types.
    """

    id: str
    type: RuleType | None
    content: str
    example: str = ""
    log: tuple[str, ...] = ()
    """The validation log: the rule's origin and history, oldest entry first. Planners never see it."""
    builds_on: tuple[str, ...] = ()
    """Ids of the rules from which this one was derived."""
    check: str = Field(default="", exclude_if=lambda check: not check)
    """Code that tells whether an episode followed the rule (see ``planbook.rules.evidence``). Hidden from planners."""


class Skill(Learned):
    """The final code of a solved task, with the task and its first observation (``scene``)."""

    task: Task
    scene: str
    code: str


class Reflection(Learned):
    """An explanation of a failure, with the task and its first observation (``scene``)."""

    task: Task
    scene: str
    text: str


class TypeParameter(Learned):
    """A parameter of a found type. ``form`` names the entry of ``FORMS`` that converts words of a goal to its value."""

    name: str
    form: str
    summary: str = ""


class Example(Learned):
    """A solved task of a found type: its goal, and the constants of its plan as Python source.

    ``joined`` is true if the task belongs to the type only because of its goal. Its plan then had a different shape,
    and ``constants`` is empty.
    """

    task_id: str
    goal: str
    constants: tuple[str, ...] = ()
    params: dict[str, JsonValue] = Field(default_factory=dict)
    joined: bool = False
    read: dict[str, JsonValue] | None = Field(default=None, exclude_if=lambda read: read is None)
    """Maps expressions of plan code to the values that they had after the procedure solved the task."""


class Wording(Learned):
    """A pattern of goals, such as ``put {object} in {target}``, and the goals that it was made from.

    ``{*}`` in a pattern matches any words, or none. ``joined`` lists the patterns that were merged into this one, if
    any.
    """

    pattern: str
    goals: tuple[str, ...]
    joined: tuple[str, ...] = Field(default=(), exclude_if=lambda joined: not joined)

    @property
    def alternatives(self) -> "list[Wording]":
        """This wording, and those that were merged into it."""
        return [self, *(Wording(pattern=pattern, goals=self.goals) for pattern in self.joined)]

    @property
    def parts(self) -> list[str]:
        """The words and slots of the pattern. Slots are in braces."""
        return self.pattern.split()

    @property
    def literal_words(self) -> str:
        """The words of the pattern without its slots."""
        return " ".join(part for part in self.parts if not part.startswith("{"))


class FoundType(Learned):
    """A task type that planbook found: a group of solved tasks with the same kind of plan.

    ``code`` is the plan of the first task, ``shape`` the digest of the plan's shape, and ``hints`` the names of its
    constants (see ``PlanShape``). ``version`` counts the procedures that were published for the type, and ``repairs``
    those that replaced a failed one.
    """

    name: str
    summary: str = ""
    shape: str
    code: str
    hints: tuple[str, ...] = ()
    parameters: tuple[TypeParameter, ...] = ()
    examples: tuple[Example, ...] = Field(min_length=1)
    wordings: tuple[Wording, ...] = ()
    check: str = ""
    """Plan code to run after the procedure. It raises unless the procedure had the same effects as in all examples."""
    version: int = 0
    repairs: int = 0


class Knowledge(Learned):
    """Everything that was learned about an environment.

    There is at most one skill, reflection and procedure for each task type; the dicts map types to them. ``manual`` is
    Markdown that was written from the rules. If it is empty, planners see the rules as a list. ``example`` is the
    starting example, which also shows the format of replies.
    """

    environment: str = Field(validation_alias=AliasChoices("environment", "world"))
    rules: tuple[Rule, ...] = ()
    manual: str = ""
    skills: dict[str, Skill] = Field(default_factory=dict)
    reflections: dict[str, Reflection] = Field(default_factory=dict)
    procedures: dict[str, Procedure] = Field(default_factory=dict)
    found: tuple[FoundType, ...] = Field(default=(), exclude_if=lambda found: not found)
    """The task types that planbook found, if the tasks have no types of their own."""
    example: str = ""


# Names of rules and types in text


_CITATION = re.compile(r"\brule_(?:0|[1-9][0-9]*)\b", re.IGNORECASE | re.ASCII)
OTHER_NAMES = {
    "unsolvederror": RuleType.UNRESOLVED_ERROR,
    "specialphenomena": RuleType.SPECIAL_PHENOMENON,
    "helpermethod": RuleType.USEFUL_HELPER_METHOD,
}
"""Maps the paper's other names for types, reduced to their letters, to the types."""
TWO_IN_ONE = {"specialphenomenamechanism", "specialphenomenonmechanism"}
"""Names that combine two types, reduced to their letters."""


def rule_id(number: int) -> str:
    """Return the id of the rule with that number."""
    return f"rule_{number}"


def rule_number(id: str) -> int:
    """Return the number in a rule's id. Raises ValueError for an invalid id."""
    if not _CITATION.fullmatch(id) or not id.islower():
        raise ValueError(f"{id!r} is not a rule id; ids are rule_0, rule_1 and so on")
    return int(id.removeprefix("rule_"))


def citations(text: str) -> tuple[str, ...]:
    """Return the rule ids that a text names, in order and without repetitions. Case is ignored."""
    return tuple(dict.fromkeys(id.lower() for id in _CITATION.findall(text)))


def read_type(text: str, allowed: Collection[RuleType]) -> RuleType:
    """Return the type that a text names, ignoring case.

    Raises ValueError if it names none of the ``allowed`` types. The message lists them.
    """
    letters = "".join(filter(str.isalpha, text.lower()))
    if letters in TWO_IN_ONE:
        raise ValueError(
            f"{text!r} names two types: choose {RuleType.SPECIAL_PHENOMENON} for what is observed, "
            f"{RuleType.SPECIAL_MECHANISM} for how the environment works"
        )
    type = OTHER_NAMES.get(letters) or next((t for t in RuleType if t.replace(" ", "").lower() == letters), None)
    if type is None or type not in allowed:
        raise ValueError(f"there is no type {text!r}; the types are {listed(allowed)}")
    return type


def listed(types: Collection[RuleType]) -> str:
    """Return the names of the types in one line, in the order of ``RuleType``."""
    return ", ".join(t.value for t in RuleType if t in types)
