"""The questions of Devil's Advocate and of what it is compared with, which share them all (section 4.1)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from planbook.planner.action_docs import TASK, action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import NoPlan, UnusableReply
from planbook.planner.frames import Frame
from planbook.planner.models.types import Message
from planbook.planner.roles import PLANNER, Sample, as_text
from planbook.planner.strategies.advocate.options import EVALUATOR, SUMMARIZER, AdvocateOptions
from planbook.planner.strategies.advocate.replies import (
    Judgement,
    Outline,
    read_alignment,
    read_answer,
    read_other,
    read_outline,
    read_value,
    read_verdict,
)
from planbook.planner.strategies.advocate.tree import Moment, Tree
from planbook.planner.templates import PROMPTS
from planbook.planner.types import Plan

UNJUDGED = Judgement("", "The evaluator gave no usable verdict.", 0.0)
CLAIMS = "the evaluator's last judgement"
WORDS = 200
"""The longest summary: about so many fit the tokens of a reply."""
Read = TypeVar("Read")
Otherwise = TypeVar("Otherwise")


class Past(NamedTuple):
    """A round that failed, as the next plan is told of it."""

    parts: Sequence[str]
    deeds: Sequence[str]
    ended: str


class Counsel:
    """Asks for one round, in its frame. What stays unusable however often it is asked counts against the idea."""

    def __init__(
        self, episode: Episode, frame: Frame, options: AdvocateOptions, tree: Tree, notes: Sequence[str], sample: int
    ) -> None:
        self._episode, self._frame, self._options = episode, frame, options
        self._tree, self._notes, self._sample = tree, notes, Sample(sample)
        self._summaries: dict[str, str] = {}
        self.line_only = False
        """Whether models are told only of what led to the present moment."""
        self.parts: Sequence[str] = ()

    def plan(self, start: Moment, earlier: Sequence[Past]) -> Outline:
        """A plan of sub-tasks, after a review of the rounds before (sections 3.1, 3.3.3). Raises UnusableReply."""
        goal, whole = self._episode.task.goal, self._options.whole_subtasks
        told = {"goal": goal, "seen": self._short(start), "earlier": earlier, "notes": self._notes, "whole": whole}
        return self._ask(PLANNER, "plan", read_outline, **told)

    def act(self, moment: Moment, sample: Sample | None = None) -> tuple[Plan | None, Sequence[Message]]:
        """Code for the sub-task (section 3.2), and the conversation; None where none came that can be used."""
        told = {**self._situation(moment), "seen": moment.seen, "subtask": self.parts[moment.subtask]}
        told["defined"] = sorted(self._frame.names - {TASK})
        whole, history = self._options.whole_subtasks, [self._system(PLANNER)]
        try:
            prompt, sample = PROMPTS["advocate/act"], sample or self._sample
            answer = self._episode.ask(PLANNER, prompt, history=history, sample=sample, whole=whole, **told)
        except NoPlan:
            return None, ()
        return answer.value, answer.history

    def remedy(self, history: Sequence[Message]) -> tuple[Plan | None, Sequence[Message]]:
        """Other code, if that was not right (section 3.3.1); None where there is nothing else."""
        try:
            answer = self._frame.scope.ask(
                PLANNER, PROMPTS["advocate/remedy"], read=read_other, history=history, sample=self._sample
            )
        except UnusableReply:
            return None, ()
        return answer.value, answer.history

    def mapped(self, code: str, moment: Moment) -> str | None:
        """Code as it fits what is there now; None where what it works on is gone (section 3.3.2)."""
        try:
            found = self._ask(PLANNER, "map", read_other, code=code, then=moment.written_for, now=moment.page)
        except UnusableReply:
            return code
        return found.code if found else None

    def aligned(self, before: Moment, code: str, after: Moment) -> Judgement:
        """What the code did, and whether that fits the sub-task (section 3.3.2)."""
        return self._judged("align", read_alignment, before, code, after)

    def valued(self, before: Moment, code: str, after: Moment) -> Judgement:
        """What the code did, and how far it brings the task."""
        return self._judged("value", read_value, before, code, after)

    def task_done(self, moment: Moment) -> bool:
        """Whether the task is held to be complete."""
        done = self._holds("task_done", moment, answering=self._episode.world.answering)
        if done is not None:
            self._episode.claim(done, CLAIMS)
        return bool(done)

    def subtask_done(self, moment: Moment) -> bool:
        """Whether the sub-task is held to be done, or not to be needed."""
        return bool(self._holds("subtask_done", moment, subtask=self.parts[moment.subtask]))

    def answer(self, moment: Moment) -> str | None:
        """What the task asks for, from the notes and what there is to be seen; None where nothing usable came."""
        return self._ask_or(None, PLANNER, "answer", read_answer, **self._situation(moment), seen=moment.seen)

    def _judged(
        self, question: str, read: Callable[[str], Judgement], before: Moment, code: str, after: Moment
    ) -> Judgement:
        shown = {"before": self._short(before), "code": code, "after": self._short(after)}
        told = {**self._situation(before), **shown, "subtask": self.parts[before.subtask]}
        return self._ask_or(UNJUDGED, EVALUATOR, question, read, **told)

    def _holds(self, question: str, moment: Moment, **told: object) -> bool | None:
        """The evaluator's verdict; None where none came that can be used."""
        told |= {**self._situation(moment), "seen": self._short(moment)}
        return self._ask_or(None, EVALUATOR, question, read_verdict, **told)

    def _short(self, moment: Moment) -> str:
        """What there is to be seen, or its summary. Where none came, its beginning."""
        most = self._options.summarise_above
        if most is None or len(moment.seen) <= most:
            return moment.seen
        if moment.seen not in self._summaries:
            told = {"goal": self._episode.task.goal, "seen": moment.seen, "words": WORDS}
            beginning = f"{moment.seen[:most]} ... (there is more)"
            self._summaries[moment.seen] = self._ask_or(beginning, SUMMARIZER, "summary", as_text, **told)
        return self._summaries[moment.seen]

    def _situation(self, moment: Moment) -> dict[str, Any]:
        world = self._episode.world
        scene = "" if world.pauses else world.scene()  # where plans pause, what is to be seen is the scene
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
        """The answer; what stands for it where none came that can be used."""
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
        world = self._episode.world
        if role != PLANNER:
            return PROMPTS["advocate/judge"].system(about=world.about)
        return PROMPTS["advocate/system"].system(
            about=world.about,
            action_docs=action_docs_of(world),
            noting="note_down" in self._frame.functions,
            answering=world.answering,
            knowledge=self._episode.recall().text,
        )
