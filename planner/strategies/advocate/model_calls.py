"""Ask models the questions of Devil's Advocate and its baselines, and read the replies.

Section numbers refer to the Devil's Advocate paper. A function that reads a reply raises ValueError if the reply
does not have the requested form. The model is then asked to correct the reply.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, JsonValue

from planbook.planner.agent import TASK
from planbook.planner.episode import Episode
from planbook.planner.errors import NoPlan, UnusableReply
from planbook.planner.frames import Frame
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS
from planbook.planner.replies import as_plan, as_text
from planbook.planner.roles import PLANNER_ROLE, Sample
from planbook.planner.strategies.advocate.tree import Node
from planbook.planner.strategies.base import Default, Options, Read, system_message
from planbook.planner.types import Plan, Thought
from planbook.sandbox import Fault, parse

MAX_PARTS = 30
"""Maximum number of subtasks in a plan."""
NONE = "NONE"
"""The reply of a model that sees no alternative."""
MAX_VALUE = 10
"""The highest value that the evaluator can give to code."""
_MARKS = "*_` \t"
"""Spaces, and the marks of bold, italic and code in Markdown."""
_BULLETS = f"#>-{_MARKS}"
"""Characters that may precede the text of a line."""
_END = f".!{_MARKS}"
_PART = re.compile(r"(\d{1,3})[.):][*_]*\s+(.+)")
_ANSWER = re.compile(r"^(?:[ \t#>-]|\*[ \t])*([*_`]*)answer([*_`]*)[ \t]*:", re.IGNORECASE | re.MULTILINE)
"""The label ``Answer:``, with the marks of emphasis before and after the word."""
_EMPHASIS = re.compile(r"([*`]+)([^*`]+)\1")


class Outline(NamedTuple):
    """A plan: a list of subtasks (``parts``), and the text before the list (``review``)."""

    review: str
    parts: tuple[str, ...]


class Evaluation(NamedTuple):
    """An evaluator's reply about a piece of code: its effect, its value from 0 to 1, and the reason for the value."""

    effect: str
    reason: str
    value: float


def normal_form(code: str) -> str:
    """Return a text that is equal for all code that differs only in quotes, spaces and comments."""
    tree = parse(code)
    return code.strip() if isinstance(tree, Fault) else ast.dump(tree)


def read_outline(text: str) -> Outline:
    """Return the last numbered list of a reply, and the text before it. A nested list belongs to the item above it.

    Raises ValueError if there is no list, if its numbering has gaps, if it is too long, or if its last item has a
    nested list, which may be the real plan.
    """
    lines, parts, start, depth = text.splitlines(), list[str](), 0, 0
    in_list = nested = holds_list = False
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        match = _PART.match(line.lstrip(_BULLETS))
        deeper = in_list and indent > depth + 1
        in_list = deeper or match is not None
        nested = deeper and (nested or (match is not None and int(match[1]) == 1))
        holds_list = nested or (holds_list and match is None)
        match = None if nested else match
        if match and int(match[1]) == 1:
            parts, start, depth = [], number, indent
        if match and int(match[1]) == len(parts) + 1:
            parts.append(match[2].strip(_MARKS))
        elif match and parts:
            raise ValueError(f"the plan's numbering jumps from {len(parts)} to {match[1]}; number it 1, 2, 3 ...")
        elif parts and indent > 1:
            parts[-1] = f"{parts[-1]} {line.strip()}"
    if not parts:
        raise ValueError("the plan is missing; write each subtask on a separate line, '1. ...', '2. ...'")
    if holds_list:
        raise ValueError(f"the last subtask, {len(parts)}, has a nested list; write one flat list, '1. ...', '2. ...'")
    if len(parts) > MAX_PARTS:
        raise ValueError(f"the plan has {len(parts)} subtasks, more than {MAX_PARTS}; combine similar ones")
    return Outline("\n".join(lines[:start]).strip(), tuple(parts))


def read_alternative(text: str) -> Plan | None:
    """Return the alternative code, or None if the reply is NONE."""
    return None if text.strip(f"{_END}\n").upper() == NONE else as_plan(text)


def read_verdict(text: str) -> bool:
    """Return True if the verdict is YES, False if it is NO."""
    return _is_yes(_labelled(text, "Verdict"))


def read_alignment(text: str) -> Evaluation:
    """Return the evaluation of code. The value is 1 if the code fits its subtask, otherwise 0."""
    return Evaluation(_labelled(text, "Did"), _labelled(text, "Why"), float(_is_yes(_labelled(text, "Verdict"))))


def read_value(text: str) -> Evaluation:
    """Return the evaluation of code: its effect, and its value for the task."""
    value = _labelled(text, "Value").rstrip(_END).removesuffix(f"/{MAX_VALUE}")
    if not value.isdecimal() or int(value) > MAX_VALUE:
        raise ValueError(f"the value is {value!r}; write 'Value: ' followed by a whole number from 0 to {MAX_VALUE}")
    return Evaluation(_labelled(text, "Did"), _labelled(text, "Why"), int(value) / MAX_VALUE)


def read_answer(text: str) -> str:
    """Return the answer to the task: all text after ``Answer:``, without marks of emphasis around the whole answer."""
    label = _ANSWER.search(text)
    if label is None:
        raise ValueError("the answer is missing; begin it with 'Answer: '")
    opened, closed, answer = label[1], label[2], text[label.end() :].strip()
    if opened and not closed:  # **Answer:** red, or **Answer: red**
        answer = answer.removeprefix(opened) if answer.startswith(opened) else answer.removesuffix(opened)
    answer = answer.strip()
    emphasis = _EMPHASIS.fullmatch(answer)
    if not (answer := emphasis[2].strip() if emphasis else answer):
        raise ValueError("the answer is empty; write it after 'Answer: '")
    return answer


def _labelled(text: str, name: str) -> str:
    """Return the text after ``name:``. Raises ValueError unless exactly one line has this label, with text after it."""
    values: list[str] = []
    for line in text.splitlines():
        label, colon, rest = line.lstrip(_BULLETS).partition(":")
        if colon and label.strip(_MARKS).lower() == name.lower():
            values.append(rest.strip(_MARKS))
    if len(values) != 1 or not values[0]:
        problem = "is missing" if not values else "is empty" if len(values) == 1 else f"appears {len(values)} times"
        raise ValueError(f"the line '{name}: ...' {problem}; write it once, on a separate line")
    return values[0]


def _is_yes(verdict: str) -> bool:
    word = verdict.rstrip(_END).upper()
    if word not in ("YES", "NO"):
        raise ValueError(f"the verdict is {verdict!r}; write 'Verdict: YES' or 'Verdict: NO', and nothing after it")
    return word == "YES"


EVALUATOR, SUMMARIZER = "evaluator", "summarizer"
ROUNDS, ACTIONS = 7, 30
"""Default limits for a task: the number of rounds, and the number of actions in all rounds (sections 4.2 and 4.1)."""


class AdvocateOptions(Options):
    """Options that Devil's Advocate and its baselines share."""

    default_actions: ClassVar[int | None] = ACTIONS
    default_sampling: ClassVar[Mapping[str, JsonValue]] = {"temperature": 1.0, "max_tokens": 512}

    rounds: int = Field(
        default=ROUNDS, ge=1, le=100, description="Maximum number of rounds; with 1, no plan is revised."
    )
    whole_subtasks: bool = Field(
        default=True,
        description="Let code do a whole subtask, with loops and functions; false allows one action at a time, as in "
        "the paper.",
    )
    summarise_above: int | None = Field(
        default=8_000,
        ge=200,
        description="Summarise observations with more characters than this, except in prompts that ask for code or the "
        "answer; with null, the summarizer is never asked.",
    )


NO_EVALUATION = Evaluation("", "The evaluator gave no usable verdict.", 0.0)
CLAIM_AUTHOR = "the evaluator's last judgement"
SUMMARY_WORDS = 200
"""Maximum number of words of a summary. About this many words fit into the token limit of a reply."""


class FailedRound(NamedTuple):
    """The part of a failed round that the prompt for the next plan shows."""

    parts: Sequence[str]
    """The subtasks of the round's plan."""
    deeds: Sequence[str]
    """The effects of the code that was tried in the round."""
    ended: str
    """The reason why the round ended."""


class ModelCalls:
    """Asks models the questions of one round. If the evaluator gives no usable reply, the code gets the value 0."""

    def __init__(
        self,
        episode: Episode,
        frame: Frame,
        options: AdvocateOptions,
        notes: Sequence[str],
        number: int,
        earlier: Sequence[FailedRound],
    ) -> None:
        """``number`` is the number of the round. ``notes`` grows while the round is played."""
        self._episode, self._frame, self._options, self.number = episode, frame, options, number
        self._notes, self._sample, self._earlier = notes, Sample(number), earlier
        self._summaries: dict[str, str] = {}
        self._tried: list[Node] = []
        """The nodes whose code was run, in order of the first run."""
        self.current_path_only = False
        """True if prompts show only the branches that led to the current state, and none that were undone."""
        self.parts: Sequence[str] = ()
        """The subtasks of the round's plan."""

    def ask_for_plan(self, root: Node) -> Outline:
        """Ask for a review of the earlier rounds and for a plan of subtasks (sections 3.1 and 3.3.3).

        Later prompts show the subtasks. Raises UnusableReply if no reply is usable.
        """
        variables: dict[str, Any] = {"seen": self._shortened(root), "earlier": self._earlier, "notes": self._notes}
        variables |= {"goal": self._episode.task.goal, "whole": self._options.whole_subtasks}
        outline = self._ask(PLANNER_ROLE, "plan", read_outline, **variables)
        self.parts = outline.parts
        return outline

    def ask_for_code(self, node: Node, sample: Sample | None = None) -> tuple[Plan | None, Sequence[Message]]:
        """Ask for code for the current subtask (section 3.2).

        Return the code and the conversation, or None and an empty conversation if no reply is usable.
        """
        variables = {**self._situation(node), "seen": node.report, "subtask": self.parts[node.subtask]}
        variables |= {"defined": sorted(self._frame.names - {TASK}), "whole": self._options.whole_subtasks}
        prompt, history, sample = PROMPTS["advocate/act"], [self._system(PLANNER_ROLE)], sample or self._sample
        try:
            answer = self._episode.ask(PLANNER_ROLE, prompt, history=history, sample=sample, **variables)
        except NoPlan:
            return None, ()
        return answer.value, answer.history

    def ask_for_remedy(self, history: Sequence[Message]) -> tuple[Plan | None, Sequence[Message]]:
        """Ask for an alternative to the last code of the conversation (section 3.3.1).

        Return the alternative and the conversation with it, or None and an empty conversation if no reply is usable. If
        the model sees no alternative, return None and the conversation.
        """
        try:
            answer = self._frame.scope.ask(
                PLANNER_ROLE, PROMPTS["advocate/remedy"], read=read_alternative, history=history, sample=self._sample
            )
        except UnusableReply:
            return None, ()
        return answer.value, answer.history

    def adapt_code(self, code: str, node: Node) -> str | None:
        """Ask a model to adapt code to the current page (section 3.3.2), and return the adapted code.

        Return None if the objects that the code works on are gone. If no reply is usable, return the code unchanged.
        """
        unchanged, pages = Plan(thought=Thought(), code=code), {"then": node.written_for, "now": node.page}
        plan = self._ask_or_default(unchanged, PLANNER_ROLE, "map", read_alternative, code=code, **pages)
        return plan.code if plan else None

    def is_task_done(self, node: Node) -> bool:
        """Return True if the evaluator considers the task complete. Its verdict is recorded as the method's claim."""
        done = self._verdict("task_done", node, answering=self._episode.environment.answer_action)
        if done is not None:
            self._episode.claim(done, CLAIM_AUTHOR)
        return bool(done)

    def is_subtask_done(self, node: Node) -> bool:
        """Return True if the evaluator considers the current subtask done or unnecessary."""
        return bool(self._verdict("subtask_done", node, subtask=self.parts[node.subtask]))

    def ask_for_answer(self, node: Node) -> str | None:
        """Ask for the answer to the task, based on the notes and the page. Return None if no reply is usable."""
        return self._ask_or_default(
            None, PLANNER_ROLE, "answer", read_answer, **self._situation(node), seen=node.report
        )

    def evaluate(self, question: Literal["align", "value"], parent: Node, node: Node) -> float:
        """Ask the evaluator for the effect of a node's code, and for a judgement of the code.

        With ``align``, the judgement is 1 if the code fits its subtask, otherwise 0 (section 3.3.2). With ``value``, it
        is the value of the code for the task, from 0 to 1. Record the reply in ``node``, and return the judgement.
        """
        read = read_alignment if question == "align" else read_value
        code_and_reports = {"before": self._shortened(parent), "code": node.code, "after": self._shortened(node)}
        variables = {**self._situation(parent), **code_and_reports, "subtask": self.parts[parent.subtask]}
        evaluation = self._ask_or_default(NO_EVALUATION, EVALUATOR, question, read, **variables)
        node.change(history=evaluation.effect, why=evaluation.reason)
        return evaluation.value

    def _verdict(self, question: str, node: Node, **variables: object) -> bool | None:
        """Return the evaluator's verdict, or None if no reply is usable."""
        variables |= {**self._situation(node), "seen": self._shortened(node)}
        return self._ask_or_default(None, EVALUATOR, question, read_verdict, **variables)

    def _shortened(self, node: Node) -> str:
        """Return the report on a state or, if it is long, a model's summary of it.

        If the model gives no usable summary, return the beginning of the report.
        """
        limit, report = self._options.summarise_above, node.report
        if limit is None or len(report) <= limit:
            return report
        if report not in self._summaries:
            variables = {"goal": self._episode.task.goal, "seen": report, "words": SUMMARY_WORDS}
            beginning = f"{report[:limit]} ... (there is more)"
            self._summaries[report] = self._ask_or_default(beginning, SUMMARIZER, "summary", as_text, **variables)
        return self._summaries[report]

    def _situation(self, node: Node) -> dict[str, Any]:
        """Return the prompt variables that describe the task, the plan, and the code tried before this state."""
        return {
            "goal": self._episode.task.goal,
            "parts": self.parts,
            "current": node.subtask,
            "deeds": list(self._effects()),
            "notes": self._notes,
            "scene": "" if node.scene in node.report else node.scene,
        }

    def _effects(self) -> Iterator[str]:
        """Yield the effects of the code tried so far in all rounds (the history of algorithm 1)."""
        for number, failed_round in enumerate(self._earlier, 1):
            for effect in failed_round.deeds:
                yield f"In round {number}, undone by the new start unless it was stored permanently: {effect}"
        for node in self._tried:
            if node.branch.fate == "kept" or (node.branch.fate and not self.current_path_only):
                yield node.branch.effect

    def _ask_or_default(
        self, default: Default, role: str, question: str, read: Callable[[str], Read], **variables: object
    ) -> Read | Default:
        """Ask a question. Return the answer, or the default if no reply is usable."""
        try:
            return self._ask(role, question, read, **variables)
        except UnusableReply:
            return default

    def _ask(self, role: str, question: str, read: Callable[[str], Read], **variables: object) -> Read:
        prompt, history, sample = PROMPTS[f"advocate/{question}"], [self._system(role)], self._sample
        return self._frame.scope.ask(role, prompt, read=read, history=history, sample=sample, **variables).value

    def _system(self, role: str) -> Message:
        if role != PLANNER_ROLE:
            return system_message(self._episode, "advocate/judge")
        noting, answering = "note_down" in self._frame.functions, self._episode.environment.answer_action
        return system_message(self._episode, "advocate/system", noting=noting, answering=answering)
