"""The Builder (AutoManual, section 3.3): turns an episode into rules, by case-conditioned prompts."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from planbook.planner import Conclusion, Message, Outcome, Scope, Trajectory, UnusableReply, tell_trajectory
from planbook.rules.asking import BuilderSettings, Editor
from planbook.rules.book import RuleBook
from planbook.rules.cases import BUILDER, BUILDER_WITHOUT_CASES, Blame, Case, Permissions, case_of, read_blame
from planbook.rules.edits import RuleChange
from planbook.rules.telling import PROMPTS
from planbook.sandbox import Sandbox

ROLE: Final = "builder"
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
        editor = Editor(sandbox, book, _permissions(case, settings), ROLE, scope.path, case, verify=settings.verify)
        edited = _manage(scope, editor, case, classified, told, settings)
    except UnusableReply as unusable:
        return Built(book, note=str(unusable), **_of(classified))
    change, note = edited
    return Built(change.on(book) if change else book, change, case if change else None, note=note, **_of(classified))


def _classify(scope: Scope, told: dict[str, Any], settings: BuilderSettings) -> Classified:
    """Ask whose fault the errors were (listing 12)."""
    history = [settings.system_message("builder/system")]
    answer = scope.ask(ROLE, PROMPTS["builder/classify"], read=read_blame, history=history, **told)
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
        edited = scope.ask(ROLE, prompt, read=editor.read, history=history, **asked).value
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
