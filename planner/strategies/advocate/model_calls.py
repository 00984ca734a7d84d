"""The model calls of Devil's Advocate and its baselines (section 4.1), and the strict reading of their replies.

A reply in another form than asked for raises ValueError.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from pydantic import Field, JsonValue

from planbook.planner.agent import TASK, action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import NoPlan, UnusableReply
from planbook.planner.frames import Frame
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import PLANNER_ROLE, Sample, as_text
from planbook.planner.strategies.advocate.tree import Moment, Tree
from planbook.planner.strategies.base import Options
from planbook.planner.thought import as_plan
from planbook.planner.types import Plan
from planbook.sandbox import Fault, parse

MOST_PARTS = 30
NONE = "NONE"
BEST = 10
"""Highest value that an evaluator can give."""
_MARKS = "*_` \t"
_BULLETS = f"#>-{_MARKS}"
"""Characters that may begin a line."""
_END = f".!{_MARKS}"
_PART = re.compile(r"(\d{1,3})[.):][*_]*\s+(.+)")


class Outline(NamedTuple):
    """A plan of subtasks; ``review`` is the text before them."""

    review: str
    parts: tuple[str, ...]


class Evaluation(NamedTuple):
    """An evaluator's reply: what an action did, and how good that was, from 0 to 1."""

    did: str
    why: str
    value: float


def meaning(code: str) -> str:
    """Return code in a form that is equal for code that is equal to Python, whatever its quotes or spaces."""
    tree = parse(code)
    return code.strip() if isinstance(tree, Fault) else ast.dump(tree)


def read_outline(text: str) -> Outline:
    """Return the last numbered list of a reply, and the text before it."""
    lines, parts, begun = text.splitlines(), list[str](), 0
    for number, line in enumerate(lines):
        found = _PART.match(line.lstrip(_BULLETS))
        if found and int(found[1]) == 1:
            parts, begun = [], number
        if found and int(found[1]) == len(parts) + 1:
            parts.append(found[2].strip(_MARKS))
        elif found and parts:
            raise ValueError(f"the plan goes from {len(parts)} to {found[1]}; number its lines 1, 2, 3 ...")
        elif parts and line[:2].isspace() and line.strip():
            parts[-1] = f"{parts[-1]} {line.strip()}"
    if not parts:
        raise ValueError("the plan is missing; write each sub-task as a line of its own, '1. ...', '2. ...'")
    if len(parts) > MOST_PARTS:
        raise ValueError(f"the plan has {len(parts)} sub-tasks, more than {MOST_PARTS}; put together what is alike")
    return Outline("\n".join(lines[:begun]).strip(), tuple(parts))


def read_other(text: str) -> Plan | None:
    """Return other code, or None if there is nothing else to do."""
    return None if text.strip(f"{_END}\n").upper() == NONE else as_plan(text)


def read_verdict(text: str) -> bool:
    """Return whether the verdict is YES."""
    return _yes(_line(text, "Verdict"))


def read_alignment(text: str) -> Evaluation:
    """Return what was done, and whether it fits."""
    return Evaluation(_line(text, "Did"), _line(text, "Why"), float(_yes(_line(text, "Verdict"))))


def read_value(text: str) -> Evaluation:
    """Return what was done, and how far it advances the task."""
    said = _line(text, "Value").rstrip(_END).removesuffix(f"/{BEST}")
    if not said.isdecimal() or int(said) > BEST:
        raise ValueError(f"the value is {said!r}; write 'Value: ' and a whole number from 0 to {BEST}")
    return Evaluation(_line(text, "Did"), _line(text, "Why"), int(said) / BEST)


def read_answer(text: str) -> str:
    """Return the answer to the task: all text after ``Answer:``."""
    for number, line in enumerate(lines := text.splitlines()):
        name, colon, rest = line.lstrip(_BULLETS).partition(":")
        if colon and name.strip(_MARKS).lower() == "answer":
            if answer := "\n".join([rest, *lines[number + 1 :]]).strip(_MARKS + "\n"):
                return answer
            raise ValueError("the answer is empty; write it behind 'Answer: '")
    raise ValueError("the answer is missing; begin it with 'Answer: '")


def _line(text: str, name: str) -> str:
    """Return the text after ``name:``. There must be exactly one such line, and it must not be empty."""
    told = [rest for found, rest in _named(text) if found == name.lower()]
    if len(told) != 1 or not told[0]:
        count = "is missing" if not told else "is empty" if len(told) == 1 else f"is there {len(told)} times"
        raise ValueError(f"the line '{name}: ...' {count}; write it once, as a line of its own")
    return told[0]


def _named(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, colon, rest = line.lstrip(_BULLETS).partition(":")
        if colon:
            yield name.strip(_MARKS).lower(), rest.strip(_MARKS)


def _yes(said: str) -> bool:
    word = said.rstrip(_END).upper()
    if word not in ("YES", "NO"):
        raise ValueError(f"the verdict is {said!r}; write 'Verdict: YES' or 'Verdict: NO', and nothing behind it")
    return word == "YES"


EVALUATOR, SUMMARIZER = "evaluator", "summarizer"
ROUNDS, ACTIONS = 7, 30
"""Rounds of a task, and actions over all rounds (section 4.1)."""


class AdvocateOptions(Options):
    """Options that Devil's Advocate and its baselines share."""

    usual_actions: ClassVar[int | None] = ACTIONS
    usual_sampling: ClassVar[Mapping[str, JsonValue]] = {"temperature": 1.0, "max_tokens": 512}

    rounds: int = Field(default=ROUNDS, ge=1, le=100, description="Number of rounds, at most.")
    whole_subtasks: bool = Field(
        default=True,
        description="Whether code may do a whole sub-task, with loops and functions; false is one action at a time, "
        "as in the paper.",
    )
    summarise_above: int | None = Field(
        default=8_000,
        ge=200,
        description="What there is to be seen is summarised first if it has more characters than this, but for "
        "those who act on it or answer from it; null never asks the summarizer.",
    )
    until_solved: bool = Field(
        default=False,
        description="Whether a task that was held to be complete and is not is begun again while rounds are left; "
        "the paper's agent is not told, and stops.",
    )


NO_EVALUATION = Evaluation("", "The evaluator gave no usable verdict.", 0.0)
CLAIMS = "the evaluator's last judgement"
WORDS = 200
"""Maximum words of a summary; about as many fit into the tokens of a reply."""
Read = TypeVar("Read")
Otherwise = TypeVar("Otherwise")


class Past(NamedTuple):
    """A failed round, as the next plan is told about it."""

    parts: Sequence[str]
    deeds: Sequence[str]
    ended: str


class ModelCalls:
    """The questions of one round, asked in its frame. An idea whose question gets no usable reply counts as failed."""

    def __init__(
        self, episode: Episode, frame: Frame, options: AdvocateOptions, tree: Tree, notes: Sequence[str], sample: int
    ) -> None:
        self._episode, self._frame, self._options = episode, frame, options
        self._tree, self._notes, self._sample = tree, notes, Sample(sample)
        self._summaries: dict[str, str] = {}
        self.line_only = False
        """True if models are told only what led to the present moment."""
        self.parts: Sequence[str] = ()

    def plan(self, start: Moment, earlier: Sequence[Past]) -> Outline:
        """Ask for a plan of subtasks, after a review of the rounds before (sections 3.1, 3.3.3).

        Raises UnusableReply.
        """
        goal, whole = self._episode.task.goal, self._options.whole_subtasks
        told = {"goal": goal, "seen": self._short(start), "earlier": earlier, "notes": self._notes, "whole": whole}
        return self._ask(PLANNER_ROLE, "plan", read_outline, **told)

    def act(self, moment: Moment, sample: Sample | None = None) -> tuple[Plan | None, Sequence[Message]]:
        """Ask for code for the subtask (section 3.2). Return it with the conversation; None if no reply is usable."""
        told = {**self._situation(moment), "seen": moment.seen, "subtask": self.parts[moment.subtask]}
        told["defined"] = sorted(self._frame.names - {TASK})
        whole, history = self._options.whole_subtasks, [self._system(PLANNER_ROLE)]
        try:
            prompt, sample = PROMPTS["advocate/act"], sample or self._sample
            answer = self._episode.ask(PLANNER_ROLE, prompt, history=history, sample=sample, whole=whole, **told)
        except NoPlan:
            return None, ()
        return answer.value, answer.history

    def remedy(self, history: Sequence[Message]) -> tuple[Plan | None, Sequence[Message]]:
        """Ask for other code, in case that was wrong (section 3.3.1); None if there is nothing else."""
        try:
            answer = self._frame.scope.ask(
                PLANNER_ROLE, PROMPTS["advocate/remedy"], read=read_other, history=history, sample=self._sample
            )
        except UnusableReply:
            return None, ()
        return answer.value, answer.history

    def mapped(self, code: str, moment: Moment) -> str | None:
        """Return the code adapted to the present page; None if what it works on is gone (section 3.3.2)."""
        try:
            found = self._ask(PLANNER_ROLE, "map", read_other, code=code, then=moment.written_for, now=moment.page)
        except UnusableReply:
            return code
        return found.code if found else None

    def aligned(self, before: Moment, code: str, after: Moment) -> Evaluation:
        """Ask what the code did, and whether that fits the subtask (section 3.3.2)."""
        return self._judged("align", read_alignment, before, code, after)

    def valued(self, before: Moment, code: str, after: Moment) -> Evaluation:
        """Ask what the code did, and how far it advances the task."""
        return self._judged("value", read_value, before, code, after)

    def task_done(self, moment: Moment) -> bool:
        """Return whether the evaluator considers the task complete."""
        done = self._holds("task_done", moment, answering=self._episode.environment.answering)
        if done is not None:
            self._episode.claim(done, CLAIMS)
        return bool(done)

    def subtask_done(self, moment: Moment) -> bool:
        """Return whether the evaluator considers the subtask done, or unnecessary."""
        return bool(self._holds("subtask_done", moment, subtask=self.parts[moment.subtask]))

    def answer(self, moment: Moment) -> str | None:
        """Ask for the answer to the task, from the notes and the page; None if no reply is usable."""
        return self._ask_or(None, PLANNER_ROLE, "answer", read_answer, **self._situation(moment), seen=moment.seen)

    def _judged(
        self, question: str, read: Callable[[str], Evaluation], before: Moment, code: str, after: Moment
    ) -> Evaluation:
        shown = {"before": self._short(before), "code": code, "after": self._short(after)}
        told = {**self._situation(before), **shown, "subtask": self.parts[before.subtask]}
        return self._ask_or(NO_EVALUATION, EVALUATOR, question, read, **told)

    def _holds(self, question: str, moment: Moment, **told: object) -> bool | None:
        """Return the evaluator's verdict; None if no reply is usable."""
        told |= {**self._situation(moment), "seen": self._short(moment)}
        return self._ask_or(None, EVALUATOR, question, read_verdict, **told)

    def _short(self, moment: Moment) -> str:
        """Return the page, or its summary if it is long; its beginning if no summary is usable."""
        most = self._options.summarise_above
        if most is None or len(moment.seen) <= most:
            return moment.seen
        if moment.seen not in self._summaries:
            told = {"goal": self._episode.task.goal, "seen": moment.seen, "words": WORDS}
            beginning = f"{moment.seen[:most]} ... (there is more)"
            self._summaries[moment.seen] = self._ask_or(beginning, SUMMARIZER, "summary", as_text, **told)
        return self._summaries[moment.seen]

    def _situation(self, moment: Moment) -> dict[str, Any]:
        environment = self._episode.environment
        scene = "" if environment.pauses else environment.scene()  # where plans pause, what is to be seen is the scene
        return {
            "goal": self._episode.task.goal,
            "parts": self.parts,
            "current": moment.subtask,
            "deeds": self._tree.deeds(line_only=self.line_only),
            "notes": self._notes,
            "scene": "" if scene in self._short(moment) else scene,
        }

    def _ask_or(
        self, otherwise: Otherwise, role: str, question: str, read: Callable[[str], Read], **told: object
    ) -> Read | Otherwise:
        """Return the answer, or ``otherwise`` if no reply is usable."""
        try:
            return self._ask(role, question, read, **told)
        except UnusableReply:
            return otherwise

    def _ask(self, role: str, question: str, read: Callable[[str], Read], **told: object) -> Read:
        scope, history = self._frame.scope, [self._system(role)]
        return scope.ask(
            role, PROMPTS[f"advocate/{question}"], read=read, history=history, sample=self._sample, **told
        ).value

    def _system(self, role: str) -> Message:
        environment = self._episode.environment
        if role != PLANNER_ROLE:
            return PROMPTS["advocate/judge"].system(about=environment.about)
        return PROMPTS["advocate/system"].system(
            about=environment.about,
            action_docs=action_docs_of(environment),
            noting="note_down" in self._frame.functions,
            answering=environment.answering,
            knowledge=self._episode.recall().text,
        )
