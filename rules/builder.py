"""The Builder and the Consolidator (AutoManual, section 3.3).

The Builder turns an episode into rules, by case-conditioned prompts. The Consolidator merges and deletes rules when
there are too many. They share their settings, and how edits are read from a reply.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner import (
    Conclusion,
    Message,
    Outcome,
    Scope,
    Trajectory,
    UnusableReply,
    action_docs,
    tell_trajectory,
)
from planbook.rules.book import Evidence, RuleBook
from planbook.rules.cases import (
    BUILDER,
    BUILDER_WITHOUT_CASES,
    CONSOLIDATOR,
    Blame,
    Case,
    Form,
    Permissions,
    case_of,
    read_blame,
)
from planbook.rules.edits import RuleChange
from planbook.rules.system import Edited, RuleSystem, Trajectories, Verify, run_edits
from planbook.rules.telling import PROMPTS
from planbook.rules.types import MEANINGS
from planbook.sandbox import Sandbox, read_reply


@dataclass(frozen=True)
class BuilderSettings:
    """How rules are managed: the environment, the number and form of rules, and what is left out.

    ``cooperation`` shows the agent's thoughts; ``cases`` and ``classification`` condition the Builder's prompts.
    """

    environment: type[Environment]
    options: BaseModel
    max_rules: int = 12
    form: Form = field(default_factory=Form)
    cooperation: bool = True
    cases: bool = True
    classification: bool = True
    verify: Verify | None = None
    """Says what is wrong with the check of a rule, if rules may have checks."""

    def system_message(self, name: str) -> Message:
        """Return a role's system message by the name of its template."""
        text = PROMPTS[name].render(
            about=self.environment.about,
            action_docs=action_docs(self.environment, self.options),
            form=self.form,
            types=[(kind.value, meaning) for kind, meaning in MEANINGS.items() if kind in self.form.offered],
            max_rules=self.max_rules,
        )
        return Message(role="system", content=text)


class Editor:
    """Runs the edits of replies, each in a rule system of its own. ``sound`` is what stands of the last reply."""

    def __init__(self, sandbox: Sandbox, make: Callable[[], RuleSystem]) -> None:
        self._sandbox, self._make = sandbox, make
        self.sound: RuleChange | None = None

    def read(self, reply: str) -> Edited:
        """Run the edits of a reply. Raises ValueError with the message for the model."""
        code = read_reply(reply)
        if code.problem is not None:
            raise ValueError(str(code.problem))
        system = self._make()
        edited = run_edits(self._sandbox, system, code.code)
        if edited.change is None:
            self.sound = system.sound_part()
            raise ValueError(edited.message)
        return edited


BUILDER_ROLE: Final = "builder"
SOUND = " The calls before that were sound, and stand."


@dataclass(frozen=True)
class Built:
    """The Builder's result for an episode. ``change`` is None if no edits were accepted.

    ``note`` says why, or what was left out. ``analysis`` is the Builder's text about whose fault an error was.
    """

    book: RuleBook
    change: RuleChange | None = None
    case: Case | None = None
    blame: Blame | None = None
    analysis: str = ""
    note: str = ""


class Classified(NamedTuple):
    """The Builder's verdict, and the conversation that led to it."""

    blame: Blame
    analysis: str
    history: tuple[Message, ...]


def build_rules(
    scope: Scope,
    sandbox: Sandbox,
    book: RuleBook,
    trajectory: Trajectory,
    conclusion: Conclusion,
    settings: BuilderSettings,
    elsewhere: str = "",
) -> Built:
    """Show an episode to the Builder; replies that stay unusable change nothing. Raises ModelError, BudgetEnded.

    ``elsewhere`` is how the same way of doing it failed in another scene, if that is known.
    """
    outcome = trajectory.ending.outcome
    if outcome in (Outcome.BROKEN, Outcome.NOT_RUN):
        return Built(book, note="the episode teaches nothing about the world")
    told = _told(book, trajectory, conclusion, settings) | {"elsewhere": elsewhere}
    classified: Classified | None = None
    try:
        if outcome is not Outcome.DIRECT_SUCCESS and settings.cases and settings.classification:
            classified = _classify(scope, told, settings)
        blame = classified.blame if classified else Blame.IMPERFECT_RULES
        case = case_of(outcome, blame) if settings.cases else None
        permissions = _permissions(case, settings)
        named: dict[str, Any] = {"who": BUILDER_ROLE, "where": scope.path, "case": case, "verify": settings.verify}
        editor = Editor(sandbox, partial(RuleSystem, book, permissions, **named))
        edited = _manage(scope, editor, case, classified, told, settings)
    except UnusableReply as unusable:
        return Built(book, note=str(unusable), **_of(classified))
    change, note = edited
    return Built(change.on(book) if change else book, change, case if change else None, note=note, **_of(classified))


def _classify(scope: Scope, told: dict[str, Any], settings: BuilderSettings) -> Classified:
    """Ask whose fault the errors were (listing 12)."""
    history = [settings.system_message("builder/system")]
    answer = scope.ask(BUILDER_ROLE, PROMPTS["builder/classify"], read=read_blame, history=history, **told)
    return Classified(answer.value, answer.reply.text, answer.history)


def _manage(
    scope: Scope,
    editor: Editor,
    case: Case | None,
    classified: Classified | None,
    told: dict[str, Any],
    settings: BuilderSettings,
) -> tuple[RuleChange | None, str]:
    """Ask for the edits that the case calls for (listings 13 to 18); return them, and what was left out.

    Of a last reply that is not sound as a whole, the calls that are sound stand.
    """
    asked: dict[str, Any] = {"instructions": _instructions(case, settings)}
    if classified:
        prompt, history = PROMPTS["builder/carry_on"], classified.history
    else:
        prompt, history = PROMPTS["builder/manage"], (settings.system_message("builder/system"),)
        asked |= told
    try:
        edited = scope.ask(BUILDER_ROLE, prompt, read=editor.read, history=history, **asked).value
    except UnusableReply as unusable:
        return editor.sound, f"{unusable}{SOUND if editor.sound else ''}"
    return edited.change, " ".join(edited.left_out)


def _told(book: RuleBook, trajectory: Trajectory, conclusion: Conclusion, settings: BuilderSettings) -> dict[str, Any]:
    repeated = _repeats(conclusion.code, trajectory)
    return {
        "rules": book.active,
        "max_rules": settings.max_rules,
        "episode": trajectory.path,
        "trajectory": tell_trajectory(trajectory, thoughts=settings.cooperation),
        "conclusion": Conclusion(
            text=conclusion.text if settings.cooperation else "", code="" if repeated else conclusion.code
        ),
        "repeated": repeated,
        "defined": bool(trajectory.helpers),
    }


def _repeats(code: str, trajectory: Trajectory) -> bool:
    """Return whether code adds nothing to the episode's own code and the functions defined beforehand."""
    known = [trajectory.helpers, *(cell.code for each in trajectory.rounds for cell in each.cells)]
    lines = {line.strip() for text in known for line in text.splitlines()}
    return bool(code) and all(line.strip() in lines for line in code.splitlines() if line.strip())


def _permissions(case: Case | None, settings: BuilderSettings) -> Permissions:
    return (BUILDER[case] if case else BUILDER_WITHOUT_CASES).within(settings.form)


def _instructions(case: Case | None, settings: BuilderSettings) -> str:
    """Return the instructions for the case; case_0 stands for the ablation without cases."""
    prompt = PROMPTS[f"builder/case_{case.number if case else 0}"]
    return prompt.render(**({"form": settings.form} if case else {}))


def _of(classified: Classified | None) -> dict[str, Any]:
    return {"blame": classified.blame, "analysis": classified.analysis} if classified else {}


CONSOLIDATOR_ROLE: Final = "consolidator"
ROUNDS = 4
"""Blocks of edits that the Consolidator may write before the next episode, so that it always ends."""


def consolidate(
    scope: Scope,
    sandbox: Sandbox,
    book: RuleBook,
    evidence: Mapping[str, Evidence],
    trajectories: Trajectories,
    settings: BuilderSettings,
) -> tuple[RuleBook, tuple[RuleChange, ...]]:
    """Reduce the rules towards ``max_rules``, as far as the Consolidator sees fit.

    ``evidence`` maps a rule's id to how often it was used. Unusable replies change nothing more. Raises ModelError,
    BudgetEnded.
    """
    changes: list[RuleChange] = []
    history = [settings.system_message("consolidator/system")]
    message, permissions = "", CONSOLIDATOR.within(settings.form)
    for left in range(ROUNDS, 0, -1):
        named: dict[str, Any] = {"who": CONSOLIDATOR_ROLE, "where": scope.path, "verify": settings.verify}
        editor = Editor(sandbox, partial(RuleSystem, book, permissions, trajectories, **named))
        known = {rule.id: evidence[rule.id] for rule in book.active if rule.id in evidence}
        try:
            answer = scope.ask(
                CONSOLIDATOR_ROLE,
                PROMPTS["consolidator/rules"],
                read=editor.read,
                history=history,
                rules=book.active,
                max_rules=settings.max_rules,
                evidence=known,
                message=message,
                left=left,
            )
        except UnusableReply:
            break
        edited, history = answer.value, list(answer.history)
        if edited.change is not None and edited.change.touched:
            changes.append(edited.change)
            book = edited.change.on(book)
        if edited.stopped:
            break
        message = edited.message or "It printed nothing."
    return book, tuple(changes)
