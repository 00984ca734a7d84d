"""The records of learned knowledge (AutoManual, sections 3.2 and 3.3)."""

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


MEANINGS = {
    RuleType.SPECIAL_PHENOMENON: "something that can be observed here and is not what one would expect",
    RuleType.SPECIAL_MECHANISM: "how the world works, where it is particular to this world",
    RuleType.USEFUL_HELPER_METHOD: "a function of use in several tasks; its code is the example",
    RuleType.SUCCESS_PROCESS: "how tasks of a kind are done, step by step",
    RuleType.CORRECTED_ERROR: "a mistake or misunderstanding, and what put it right",
    RuleType.UNRESOLVED_ERROR: "an error that nobody has put right so far",
}
"""The purpose of each type, as prompts describe it."""
HOW_TO_TYPES = (RuleType.SUCCESS_PROCESS, RuleType.USEFUL_HELPER_METHOD)
"""Types of rules on how tasks are done; all others are on the environment or on errors."""


class Learned(BaseModel):
    """Base class of what is kept between episodes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Rule(Learned):
    """One piece of knowledge about an environment. ``id`` is never reused, even after deletion.

    ``type`` is None only in the ablation without types.
    """

    id: str
    type: RuleType | None
    content: str
    example: str = ""
    log: tuple[str, ...] = ()
    """The validation log, oldest entry first: the rule's origin and history. Planners never see it."""
    builds_on: tuple[str, ...] = ()
    """Ids of the rules from which it was derived."""
    check: str = Field(default="", exclude_if=lambda check: not check)
    """Plan code that decides if an episode followed the rule (``planbook.rules.obedience``). Planners never see it."""


class Skill(Learned):
    """The concluding code of a success, with its scene and task."""

    task: Task
    scene: str
    code: str


class Reflection(Learned):
    """An explanation of a failure, with its scene and task."""

    task: Task
    scene: str
    text: str


class TypeParameter(Learned):
    """A parameter of a found type. ``form`` names the conversion of a goal's words to its value, in ``FORMS``."""

    name: str
    form: str
    summary: str = ""


class Example(Learned):
    """A solved task of a found type: its goal, and the constants of its plan as Python source.

    ``joined`` is true if its own plan had another shape; ``constants`` is then empty.
    """

    task_id: str
    goal: str
    constants: tuple[str, ...] = ()
    params: dict[str, JsonValue] = Field(default_factory=dict)
    joined: bool = False
    read: dict[str, JsonValue] | None = Field(default=None, exclude_if=lambda read: read is None)
    """Values read after the procedure did the task, by the expression that reads them."""


class Wording(Learned):
    """A pattern of goals, such as ``put {object} in {target}``, and its goals. ``{*}`` matches any words, or none.

    ``joined`` are the patterns that it was merged from, if there were several.
    """

    pattern: str
    goals: tuple[str, ...]
    joined: tuple[str, ...] = Field(default=(), exclude_if=lambda joined: not joined)

    @property
    def alternatives(self) -> "list[Wording]":
        """The wording, and those that it was merged from."""
        return [self, *(Wording(pattern=pattern, goals=self.goals) for pattern in self.joined)]

    @property
    def parts(self) -> list[str]:
        """The words of the pattern, slots in braces."""
        return self.pattern.split()

    @property
    def literal_words(self) -> str:
        """The words of the pattern without its slots."""
        return " ".join(part for part in self.parts if not part.startswith("{"))


class FoundType(Learned):
    """A group of solved tasks. ``code`` is the plan of the first task, ``shape`` the digest of its shape.

    ``version`` counts the procedures published for it, ``repairs`` those that replaced a failed one.
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
    """Plan code that raises unless the procedure's effects are the same as in all its examples."""
    version: int = 0
    repairs: int = 0


class Knowledge(Learned):
    """Everything learned about an environment; at most one skill, reflection and procedure for each task type.

    ``manual`` is the Markdown written from the rules; if empty, the rules are shown as a list. ``example`` is the
    starting example, which also shows the reply format.
    """

    environment: str = Field(validation_alias=AliasChoices("environment", "world"))
    rules: tuple[Rule, ...] = ()
    manual: str = ""
    skills: dict[str, Skill] = Field(default_factory=dict)
    reflections: dict[str, Reflection] = Field(default_factory=dict)
    procedures: dict[str, Procedure] = Field(default_factory=dict)
    found: tuple[FoundType, ...] = Field(default=(), exclude_if=lambda found: not found)
    """The found task types, if the tasks have none."""
    example: str = ""


# Names of rules and types in text


_CITATION = re.compile(r"\brule_(?:0|[1-9][0-9]*)\b", re.IGNORECASE | re.ASCII)
OTHER_NAMES = {
    "unsolvederror": RuleType.UNRESOLVED_ERROR,
    "specialphenomena": RuleType.SPECIAL_PHENOMENON,
    "helpermethod": RuleType.USEFUL_HELPER_METHOD,
}
"""The paper's other names for types, letters only."""
TWO_IN_ONE = {"specialphenomenamechanism", "specialphenomenonmechanism"}
"""Names that mean two types at once."""


def rule_id(number: int) -> str:
    """Return the id of the rule with that number."""
    return f"rule_{number}"


def rule_number(id: str) -> int:
    """Return the number in a rule's id. Raises ValueError for an invalid id."""
    if not _CITATION.fullmatch(id) or not id.islower():
        raise ValueError(f"{id!r} is no rule id; ids are rule_0, rule_1 and so on")
    return int(id.removeprefix("rule_"))


def citations(text: str) -> tuple[str, ...]:
    """Return the rule ids that a text names, ignoring case, each once, in order."""
    return tuple(dict.fromkeys(id.lower() for id in _CITATION.findall(text)))


def read_type(text: str, offered: Collection[RuleType]) -> RuleType:
    """Return the type that a text names, ignoring case. Raises ValueError, which lists the types."""
    letters = "".join(filter(str.isalpha, text.lower()))
    if letters in TWO_IN_ONE:
        raise ValueError(
            f"{text!r} names two types: choose {RuleType.SPECIAL_PHENOMENON} for what is observed, "
            f"{RuleType.SPECIAL_MECHANISM} for how the world works"
        )
    type = OTHER_NAMES.get(letters) or next((t for t in RuleType if t.replace(" ", "").lower() == letters), None)
    if type is None or type not in offered:
        raise ValueError(f"there is no type {text!r}; the types are {listed(offered)}")
    return type


def listed(types: Collection[RuleType]) -> str:
    """Return the names of the types as one text, in the order of ``RuleType``."""
    return ", ".join(t.value for t in RuleType if t in types)
