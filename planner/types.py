"""The records of an episode (settings, steps, cells, feedback, ending), and texts with a digest of their data.

A step is one action. A cell is a piece of plan code that is run as a unit; it may take any number of steps.
A round is the part of an episode between two resets of the environment.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainSerializer, TypeAdapter, WrapValidator

from planbook.envs import Action, Environment, Observation, Verdict
from planbook.sandbox import Fault, Limits


class RenderedText(str):
    """A text with a digest of the data from which it was made. When the text is written as JSON, the digest is lost.

    Recorded replies are found not only by a prompt's text, but also by a digest of its data, such as the task and the
    observations (``planbook.planner.models.recordings``). So recordings remain usable when templates or the
    descriptions of environments and actions are reworded.
    """

    _data: tuple[object, ...]

    @classmethod
    def of(cls, text: str, *data: object) -> "RenderedText":
        """Return the text with this data. The data must not change, since its digest is computed only when needed."""
        rendered = cls(text)
        rendered._data = data
        return rendered

    @cached_property
    def data_digest(self) -> str:
        """The digest of the data."""
        return digest_of(*self._data)

    @classmethod
    def with_digest(cls, text: str, data_digest: str) -> "RenderedText":
        """Return the text with a digest that is already known."""
        rendered = cls(text)
        rendered.data_digest = data_digest
        return rendered


def _keep_rendered(value: Any, validate: Any) -> Any:
    return value if isinstance(value, RenderedText) else validate(value)


Text = Annotated[str, WrapValidator(_keep_rendered), PlainSerializer(str, return_type=str)]
"""The type of record fields that may hold a RenderedText. Its digest is kept until the record is written as JSON."""

# Digests of data.

WORDING = frozenset({"about", "action_docs", "demonstrations", "examples", "fence", "hint", "message"})
"""Names of variables and fields that hold wording rather than data: descriptions, advice, worked examples, fences."""
PLACES = frozenset({"order", "path", "scope"})
"""Names of fields that hold a place in a run. Their values can differ when the same episode is run again."""


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def digest_of(*values: object) -> str:
    """Return the digest of the data in the values (see ``data_of``). Raises TypeError if a value is not plain data."""
    return digest(json.dumps([data_of(value) for value in values], sort_keys=True))


def data_of(value: object) -> JsonValue:
    """Return the data in a value as JSON. A RenderedText is represented by its digest.

    Wording is left out. So are record fields that hold a place in a run, are empty or have their default value.
    """
    if isinstance(value, RenderedText):
        return value.data_digest
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, BaseModel):
        return _record_data(value, {name: field.get_default() for name, field in type(value).model_fields.items()})
    if is_dataclass(value):
        return _record_data(value, {field.name: field.default for field in fields(value)})
    if isinstance(value, Mapping):
        return {str(name): data_of(item) for name, item in value.items() if name not in WORDING}
    if isinstance(value, Set):
        return [*sorted(map(digest_of, value))]
    if isinstance(value, Sequence):
        return [data_of(item) for item in value]
    raise TypeError(f"a prompt cannot be made from a {type(value).__name__}: recordings need plain data")


def unnamed_data(values: Mapping[str, object]) -> JsonValue:
    """Return the data in the values, but not their names, so that renaming a field or variable changes no digest."""
    data = (data_of(value) for name, value in values.items() if name not in WORDING | PLACES)
    return sorted((item for item in data if item not in (None, False, "", [], {})), key=digest_of)


def _record_data(record: object, defaults: Mapping[str, object]) -> JsonValue:
    """Return the data in those fields of a record that differ from their defaults."""
    wording_fields: frozenset[str] = getattr(record, "wording_fields", frozenset())
    values = {name: getattr(record, name) for name in defaults}
    return unnamed_data(
        {
            name: value
            for name, value in values.items()
            if value != defaults[name] and (name not in wording_fields or isinstance(value, RenderedText))
        }
    )


class FeedbackKind(StrEnum):
    """The kind of a cell's result. Each value of ``FaultKind`` is also a value of this enumeration."""

    DONE = "done"
    """The environment ended its episode."""
    UNFINISHED = "unfinished"
    """The cell ended without an error, and the environment has not ended its episode."""
    PARSE = "parse"
    """The model gave no usable reply."""
    CHECK = "check"
    """The check refused the plan, or the part of the plan that had not run yet."""
    RAISED = "raised"
    """The plan raised an exception."""
    LIMIT = "limit"
    """The plan exceeded a limit of the sandbox, or the episode ended because it reached one of its limits."""


ERROR_KINDS = frozenset({FeedbackKind.PARSE, FeedbackKind.CHECK, FeedbackKind.RAISED, FeedbackKind.LIMIT})
"""The kinds of results that count as errors of the plan."""


class Outcome(StrEnum):
    """The outcome of an episode. Every outcome, even NOT_RUN, counts in the denominator of a success rate."""

    DIRECT_SUCCESS = "direct_success"
    """The task was solved, and no cell ended in an error."""
    INDIRECT_SUCCESS = "indirect_success"
    """The task was solved after at least one error."""
    FAILURE = "failure"
    OUT_OF_BUDGET = "out_of_budget"
    """The episode used up its actions."""
    BROKEN = "broken"
    """The engine or the environment failed, not the plan."""
    NOT_RUN = "not_run"
    """The run ended before the episode was played."""

    @property
    def played(self) -> bool:
        """True if the outcome says something about the method: the episode was played and is not broken."""
        return self not in (Outcome.BROKEN, Outcome.NOT_RUN)

    @property
    def solved(self) -> bool:
        """True if the task was solved."""
        return self in (Outcome.DIRECT_SUCCESS, Outcome.INDIRECT_SUCCESS)


class Record(BaseModel):
    """Base class of the records in a journal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(Record):
    """One action. ``cell`` is the number of its cell in the scope, from 0. ``line`` is the plan line that took it."""

    order: int | None = Field(default=None, ge=0, exclude_if=lambda order: order is None)
    """Position of the step in the sequence of the episode's events. None unless it was read back from the journal."""
    scope: str
    cell: int
    line: int | None
    action: Action
    observation: Observation
    counted: bool = True
    """False for an action that does not count towards the limit on actions. Only older runs have such actions."""
    printed: str = ""
    """The output that the plan has printed since the previous step."""
    undone: bool = False
    """True if a later rewind undid the step. An undone step still counts towards the limit on actions."""


class Feedback(Record):
    """The result of a cell, as the planner sees it. ``line`` is the line of the cell's first fault."""

    wording_fields: ClassVar = frozenset({"text"})
    """Fields left out of the digest that identifies a recorded reply, unless they hold a RenderedText.

    The other fields hold their data.
    """

    kind: FeedbackKind
    text: Text
    line: int | None = None
    faults: tuple[Fault, ...] = ()
    output: str = ""

    @property
    def is_error(self) -> bool:
        """True if the cell ended in an error. Ending before the task is done is not an error."""
        return self.kind in ERROR_KINDS


class Thought(Record):
    """The text before the code in a planner's reply. ``text`` is the whole text. Other fields are segments of it.

    ``rule_ids`` are the ids of the rules that the planner says it has considered.
    """

    text: str = ""
    understanding: str = ""
    mistakes: str = ""
    rules: str = ""
    rule_ids: tuple[str, ...] = ()
    plan: str = ""


class Plan(Record):
    """A planner's reply: the text before the code, and the code."""

    thought: Thought
    code: str


class Cell(Record):
    """A piece of plan code that was run as a unit. ``source`` is its origin: a role, a procedure or a file."""

    order: int | None = Field(default=None, ge=0, exclude_if=lambda order: order is None)
    """Position of the cell's end in the sequence of the episode's events, after the steps of the cell.

    None unless the cell was read back from the journal.
    """
    scope: str
    number: int
    source: str
    code: str
    thought: Thought = Thought()
    feedback: Feedback


class Ending(Record):
    """The ending of an episode. ``cause`` says why the task was not solved, or is empty if it was."""

    outcome: Outcome
    cause: str = ""
    message: str = ""
    verdict: Verdict = Verdict(False, 0.0)
    actions: int = 0
    error_steps: int = 0
    """Number of errors, which table 3 of the AutoManual paper calls error steps.

    An error is a cell that ended in an error, or a plan that was meant to do the whole task but did not.
    """
    milestones: tuple[str, ...] = Field(default=(), exclude_if=lambda reached: not reached)
    """The milestones that were reached, if the environment has milestones."""
    measures: Mapping[str, float] = Field(default={}, exclude_if=lambda measured: not measured)
    """Maps the names of the environment's own measures to their values."""


@dataclass(frozen=True)
class EpisodeSettings:
    """The limits, the seed and the modes of an episode. ``actions`` limits the actions of all rounds together."""

    actions: int
    limits: Limits = field(default_factory=Limits)
    seed: str = "0"
    stream: bool = False
    """Run plans while the model is still writing them."""
    dry_run: bool = False
    """Refuse a plan before its first action if a dry run finds an action that cannot succeed.

    With ``stream``, the statements before that action may already have run. Then only the rest of the plan is refused.
    """


NO_PLAN = "no_plan"
"""The cause of a failure if the episode has no cells, or ended because no reply held a usable plan."""
NOT_JUDGED = "not_judged"
"""The cause of a failure if the environment ended its episode, but cannot judge whether the task was solved."""


OBSERVATION = TypeAdapter(Observation)
"""Writes observations as JSON."""


class Judgement(NamedTuple):
    """The environment's judgement of a round. By default, the judgement with the highest ``rank`` is the episode's."""

    verdict: Verdict = Verdict(False, 0.0)
    milestones: tuple[str, ...] = ()
    measures: Mapping[str, float] = {}
    unjudged_result: str = ""
    """The result in words, if the environment cannot judge whether the task was solved. Otherwise empty."""

    @classmethod
    def of(cls, environment: Environment) -> "Judgement":
        """Return the environment's judgement of its current round."""
        verdict, milestones = environment.valid_verdict(), tuple(environment.milestones())
        return cls(verdict, milestones, environment.finite_measures(), environment.unjudged_result())

    @property
    def rank(self) -> tuple[bool, float, int]:
        """The sort key of judgements. The best round has the highest rank."""
        return self.verdict.solved, self.verdict.score, len(self.milestones)

    def ending(
        self, feedbacks: Sequence[Feedback], actions: int, *, used_up: bool, incomplete: int = 0, no_plan: str = ""
    ) -> Ending:
        """Return the ending of an episode that ends now.

        ``used_up`` is True if an action was refused because no actions were left. ``incomplete`` is the number of
        plans that were meant to do the whole task, but ran to their end without doing it. If the episode ended because
        there was no usable plan, ``no_plan`` is the reason. If the last cell has recorded a different problem with a
        reply, for example a reply of another role, the message names both.
        """
        errors = _count_errors(feedbacks) + incomplete
        outcome, cause = _outcome(self.verdict, feedbacks, errors, used_up=used_up)
        message = self.verdict.fault if cause in (FeedbackKind.DONE, FeedbackKind.UNFINISHED) else ""
        if cause == FeedbackKind.PARSE:
            message = feedbacks[-1].faults[0].message
        if no_plan and outcome is Outcome.FAILURE and no_plan != message:
            cause, message = NO_PLAN, f"{message}; {no_plan}" if cause == FeedbackKind.PARSE else no_plan
        elif self.unjudged_result and cause == FeedbackKind.DONE:
            cause, message = NOT_JUDGED, self.unjudged_result
        return Ending(
            outcome=outcome,
            cause=cause,
            message=message,
            verdict=self.verdict,
            actions=actions,
            error_steps=errors,
            milestones=self.milestones,
            measures=self.measures,
        )


def broken_ending(message: str, feedbacks: Sequence[Feedback], actions: int) -> Ending:
    """Return the ending of an episode that failed because of the environment or the engine, not because of the plan."""
    cause = Outcome.BROKEN.value
    errors = _count_errors(feedbacks)
    return Ending(outcome=Outcome.BROKEN, cause=cause, message=message, actions=actions, error_steps=errors)


def _outcome(verdict: Verdict, feedbacks: Sequence[Feedback], errors: int, *, used_up: bool) -> tuple[Outcome, str]:
    if verdict.solved:
        return (Outcome.INDIRECT_SUCCESS if errors else Outcome.DIRECT_SUCCESS), ""
    if used_up:
        return Outcome.OUT_OF_BUDGET, Outcome.OUT_OF_BUDGET.value
    return Outcome.FAILURE, feedbacks[-1].kind.value if feedbacks else NO_PLAN


def _count_errors(feedbacks: Sequence[Feedback]) -> int:
    return sum(feedback.is_error for feedback in feedbacks)
