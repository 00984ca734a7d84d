"""The records of learned knowledge (AutoManual, sections 3.2 and 3.3).

Rules, skills and reflections come from the paper. Procedures and found task types are additions of planbook.
"""

import re
from collections.abc import Collection
from enum import StrEnum

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from planbook.envs import Task
from planbook.planner import Conclusion, Outcome, Procedure, Trajectory


class RuleType(StrEnum):
    """The six types of rules."""

    SPECIAL_PHENOMENON = "Special Phenomenon"
    SPECIAL_MECHANISM = "Special Mechanism"
    USEFUL_HELPER_METHOD = "Useful Helper Method"
    SUCCESS_PROCESS = "Success Process"
    CORRECTED_ERROR = "Corrected Error"
    UNRESOLVED_ERROR = "Unresolved Error"


HOW_TO_TYPES = frozenset({RuleType.SUCCESS_PROCESS, RuleType.USEFUL_HELPER_METHOD})
"""The types of rules that say how tasks are done. All other rules are about the environment or about errors."""


class LearnedRecord(BaseModel):
    """Base class of the records that are kept between episodes. They are immutable."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True
    )


class Rule(LearnedRecord):
    """One piece of knowledge about an environment. Its ``id`` is never reused, even after the rule is deleted.

    ``type`` is None only if rules have no types, in one of the paper's ablations.
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
    """Code that decides whether an episode obeyed the rule (see ``planbook.rules.evidence``). Hidden from planners."""


class Skill(LearnedRecord):
    """A solved task, its first observation (``scene``), and the agent's final code for it."""

    task: Task
    scene: str
    code: str


class Reflection(LearnedRecord):
    """A failed task, its first observation (``scene``), and the agent's explanation of the failure (``text``)."""

    task: Task
    scene: str
    text: str


class TypeParameter(LearnedRecord):
    """A parameter of a found type.

    ``form``, a key of ``goal_words.FORMS``, determines how words of a goal are converted to the parameter's value.
    """

    name: str
    form: str
    summary: str = ""


class Example(LearnedRecord):
    """A solved task of a found type: its goal, the constants of its plan as Python source, and its parameters' values.

    ``matched_by_goal`` is True if the task belongs to the type because its goal fits a pattern, and not because of its
    plan. ``constants`` is then empty.
    """

    task_id: str
    goal: str
    constants: tuple[str, ...] = ()
    params: dict[str, JsonValue] = Field(default_factory=dict)
    matched_by_goal: bool = Field(default=False, alias="joined")
    final_values: dict[str, JsonValue] | None = Field(
        default=None, alias="read", exclude_if=lambda values: values is None
    )
    """Maps expressions of plan code to their values after a procedure solved the task, if these are known."""


class Wording(LearnedRecord):
    """A pattern of goals, such as ``put {object} in {target}``, and the goals from which it was made.

    ``{*}`` in a pattern matches any number of words, or none. If the pattern was merged from several patterns,
    ``merged_patterns`` lists them.
    """

    pattern: str
    goals: tuple[str, ...]
    merged_patterns: tuple[str, ...] = Field(default=(), alias="joined", exclude_if=lambda patterns: not patterns)

    @property
    def alternatives(self) -> "list[Wording]":
        """This wording, and one for each of its ``merged_patterns``."""
        return [self, *(Wording(pattern=pattern, goals=self.goals) for pattern in self.merged_patterns)]

    @property
    def parts(self) -> list[str]:
        """The words and slots of the pattern. Slots are in braces."""
        return self.pattern.split()

    @property
    def literal_words(self) -> str:
        """The words of the pattern without its slots."""
        return " ".join(part for part in self.parts if not part.startswith("{"))


class FoundType(LearnedRecord):
    """A task type that planbook found by itself: a group of solved tasks with the same kind of plan.

    ``code`` is the plan of the first of these tasks, ``shape`` the digest of the plan's shape, and ``constant_names``
    the names of the plan's constants (see ``PlanShape``). ``version`` counts the procedures that were published for the
    type, and ``repairs`` those that replaced a procedure that had failed.
    """

    name: str
    summary: str = ""
    shape: str
    code: str
    constant_names: tuple[str, ...] = Field(default=(), alias="hints")
    parameters: tuple[TypeParameter, ...] = ()
    examples: tuple[Example, ...] = Field(min_length=1)
    wordings: tuple[Wording, ...] = ()
    check: str = ""
    """Plan code to run after the procedure. It raises an error unless the effects are those seen in all examples."""
    version: int = 0
    repairs: int = 0


class Knowledge(LearnedRecord):
    """Everything that was learned about an environment.

    ``skills``, ``reflections`` and ``procedures`` map each task type to its only skill, reflection or procedure.
    ``manual`` is Markdown that was written from the rules. If it is empty, planners see the rules as a list.
    ``example`` is the starting example: a solved task, which also shows planners the format of replies.
    """

    environment: str = Field(validation_alias=AliasChoices("environment", "world"))
    rules: tuple[Rule, ...] = ()
    manual: str = ""
    skills: dict[str, Skill] = Field(default_factory=dict)
    reflections: dict[str, Reflection] = Field(default_factory=dict)
    procedures: dict[str, Procedure] = Field(default_factory=dict)
    found: tuple[FoundType, ...] = Field(default=(), exclude_if=lambda types: not types)
    """The task types that planbook found by itself."""
    example: str = ""


FAILED_OUTCOMES = frozenset({Outcome.FAILURE, Outcome.OUT_OF_BUDGET})
"""Outcomes for which the plan may be to blame. Other outcomes of unsolved tasks say nothing about the plan."""


def with_conclusion(knowledge: Knowledge, trajectory: Trajectory, conclusion: Conclusion) -> Knowledge:
    """Return the knowledge with the conclusion of an episode, which replaces earlier ones for the same task type.

    If the task was solved, the conclusion's code becomes the skill for its type. If the task failed, the conclusion's
    text becomes the reflection. An empty conclusion changes nothing.
    """
    task, outcome, scene = trajectory.task, trajectory.ending.outcome, first_observation(trajectory)
    if outcome.solved and conclusion.code.strip():
        skill = Skill(task=task, scene=scene, code=conclusion.code)
        return knowledge.model_copy(update={"skills": {**knowledge.skills, task.type: skill}})
    if outcome in FAILED_OUTCOMES and conclusion.text.strip():
        reflection = Reflection(task=task, scene=scene, text=conclusion.text)
        return knowledge.model_copy(update={"reflections": {**knowledge.reflections, task.type: reflection}})
    return knowledge


def first_observation(trajectory: Trajectory) -> str:
    """Return the first observation of an episode, or "" if it ended before its first one."""
    return trajectory.rounds[0].observation if trajectory.rounds else ""


def with_procedure(knowledge: Knowledge, procedure: Procedure | None) -> Knowledge:
    """Return the knowledge with a procedure, which replaces an earlier one for the same task type.

    If the procedure is None, the knowledge stays unchanged.
    """
    if procedure is None:
        return knowledge
    return knowledge.model_copy(update={"procedures": {**knowledge.procedures, procedure.type: procedure}})


# Names of rules and types in text


_CITATION = re.compile(r"\brule_(?:0|[1-9][0-9]*)\b", re.IGNORECASE | re.ASCII)
TYPE_ALIASES = {
    "unsolvederror": RuleType.UNRESOLVED_ERROR,
    "specialphenomena": RuleType.SPECIAL_PHENOMENON,
    "helpermethod": RuleType.USEFUL_HELPER_METHOD,
}
"""Maps other names that the paper uses for types, as lower-case letters only, to the types."""
COMBINED_TYPE_NAMES = {"specialphenomenamechanism", "specialphenomenonmechanism"}
"""Names that combine two types, such as "Special Phenomenon/Mechanism", as lower-case letters only."""


def rule_id(number: int) -> str:
    """Return the id of the rule with this number."""
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
    if letters in COMBINED_TYPE_NAMES:
        raise ValueError(
            f"{text!r} names two types: choose {RuleType.SPECIAL_PHENOMENON} for what is observed, "
            f"{RuleType.SPECIAL_MECHANISM} for how the environment works"
        )
    type = TYPE_ALIASES.get(letters) or next((t for t in RuleType if t.replace(" ", "").lower() == letters), None)
    if type is None or type not in allowed:
        raise ValueError(f"there is no type {text!r}; the types are {format_types(allowed)}")
    return type


def format_types(types: Collection[RuleType]) -> str:
    """Return the names of the types in one line, in the order of ``RuleType``."""
    return ", ".join(t.value for t in RuleType if t in types)
