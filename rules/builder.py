"""The Builder and the Consolidator (AutoManual, section 3.3).

The Builder is the model that turns an episode into rules. Its prompts depend on the episode's case: whether the task
was solved, and whether the rules or the agent caused the errors. The Consolidator is the model that merges and deletes
rules when there are too many. Both models answer with Python code that edits the rules. ``Editor`` runs this code.

``describe_type`` asks the Builder to name and describe a task type that planbook has found.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from planbook.envs import Environment
from planbook.planner import (
    Answer,
    Conclusion,
    Message,
    Outcome,
    Scope,
    Trajectory,
    UnusableReply,
    action_docs,
    as_json,
    fence_around,
    render_trajectory,
)
from planbook.rules.book import Batch, RuleBook, RuleChange
from planbook.rules.evidence import Evidence
from planbook.rules.permissions import (
    BUILDER_PERMISSIONS,
    BUILDER_PERMISSIONS_WITHOUT_CASES,
    CONSOLIDATOR_PERMISSIONS,
    Blame,
    Case,
    RuleForm,
    case_of,
    read_blame,
)
from planbook.rules.rendering import PROMPTS
from planbook.rules.rule_system import EditResult, RuleSystem, Trajectories, TryCheck, run_edits
from planbook.rules.types import FoundType, RuleType
from planbook.sandbox import Sandbox, read_reply


@dataclass(frozen=True)
class BuilderSettings:
    """Settings for the Builder and the Consolidator.

    Three fields are False only in ablations: with ``cooperation``, the Builder sees the agent's thoughts; with
    ``cases``, its instructions and permissions depend on the episode's case; with ``classification``, it is first asked
    whether the rules or the agent caused the errors.
    """

    environment: type[Environment]
    options: BaseModel
    max_rules: int = 12
    form: RuleForm = field(default_factory=RuleForm)
    cooperation: bool = True
    cases: bool = True
    classification: bool = True
    try_check: TryCheck | None = None
    """A function that returns what is wrong with a rule's check, or "". If None, every check is accepted."""

    def system_message(self, name: str) -> Message:
        """Return the system message made from a template of ``PROMPTS``, such as ``builder/system``."""
        text = PROMPTS[name].render(
            about=self.environment.about,
            action_docs=action_docs(self.environment, self.options),
            form=self.form,
            types=[type.value for type in RuleType if type in self.form.allowed_types],
            max_rules=self.max_rules,
        )
        return Message(role="system", content=text)


class Editor:
    """Runs the code of each reply with a new ``RuleSystem``, which collects the edits.

    When a reply's code is rejected, ``valid_part`` becomes the change that its valid edits alone would make, or None if
    they cannot be applied. A reply without readable code leaves ``valid_part`` unchanged.
    """

    def __init__(self, sandbox: Sandbox, new_system: Callable[[], RuleSystem]) -> None:
        self._sandbox, self._new_system = sandbox, new_system
        self.valid_part: RuleChange | None = None

    def read(self, reply: str) -> EditResult:
        """Run the edits of a reply and return their result.

        Raises ValueError if the reply is rejected. The error's message is for the model.
        """
        code = read_reply(reply)
        if code.problem is not None:
            raise ValueError(str(code.problem))
        system = self._new_system()
        result = run_edits(self._sandbox, system, code.code)
        if result.change is None:
            self.valid_part = system.valid_part()
            raise ValueError(result.message)
        return result


BUILDER_ROLE: Final = "builder"
VALID_PART_APPLIED = " The valid edits of the last reply with readable code were applied."


@dataclass(frozen=True)
class BuildResult:
    """The rules after the Builder has seen an episode. ``change`` is None if no edits were accepted.

    ``note`` explains why no edits were accepted, or which edits were left out. ``blame`` is the Builder's verdict on
    what caused the errors, and ``analysis`` its explanation.
    """

    book: RuleBook
    change: RuleChange | None = None
    case: Case | None = None
    blame: Blame | None = None
    analysis: str = ""
    note: str = ""


def build_rules(
    scope: Scope,
    sandbox: Sandbox,
    book: RuleBook,
    trajectory: Trajectory,
    conclusion: Conclusion,
    settings: BuilderSettings,
    other_failure: str = "",
) -> BuildResult:
    """Show an episode to the Builder and apply its edits.

    The Builder is first asked whether the rules or the agent caused the errors (listing 12 of the paper), unless the
    episode is a direct success or the settings exclude this question. If its answer is unusable, the rules stay
    unchanged. Otherwise, the Builder is asked for edits. If none of its replies is accepted, only the valid edits of
    the last reply with readable code are applied.

    ``other_failure`` describes how the same approach failed on another task, or is empty if no such failure is known.
    Raises ModelError or BudgetEnded if the Builder cannot be asked.
    """
    outcome = trajectory.ending.outcome
    if outcome in (Outcome.BROKEN, Outcome.NOT_RUN):
        return BuildResult(book, note="the episode teaches nothing about the environment")
    prompt_values = _prompt_values(book, trajectory, conclusion, settings) | {"elsewhere": other_failure}
    blame_answer: Answer[Blame] | None = None
    try:
        if outcome is not Outcome.DIRECT_SUCCESS and settings.cases and settings.classification:
            prompt, history = PROMPTS["builder/classify"], [settings.system_message("builder/system")]
            blame_answer = scope.ask(BUILDER_ROLE, prompt, read=read_blame, history=history, **prompt_values)
        blame = blame_answer.value if blame_answer else Blame.IMPERFECT_RULES
        case = case_of(outcome, blame) if settings.cases else None
        permissions = BUILDER_PERMISSIONS[case] if case else BUILDER_PERMISSIONS_WITHOUT_CASES
        permissions = permissions.restricted_to(settings.form)
        batch = Batch(who=BUILDER_ROLE, where=scope.path, case=case)
        editor = Editor(sandbox, partial(RuleSystem, book, permissions, batch, None, settings.try_check))
        change, note = _ask_for_edits(scope, editor, case, blame_answer, prompt_values, settings)
    except UnusableReply as unusable:
        return BuildResult(book, note=str(unusable), **_verdict_of(blame_answer))
    new_book, case = (change.apply_to(book), case) if change else (book, None)
    return BuildResult(new_book, change, case, note=note, **_verdict_of(blame_answer))


def _ask_for_edits(
    scope: Scope,
    editor: Editor,
    case: Case | None,
    blame_answer: Answer[Blame] | None,
    prompt_values: dict[str, Any],
    settings: BuilderSettings,
) -> tuple[RuleChange | None, str]:
    """Ask the Builder for edits (listings 13 to 18). Return the change, and a note (see ``BuildResult``).

    If no reply is accepted, the change consists of the valid edits of the last reply with readable code.
    """
    values: dict[str, Any] = {"instructions": _instructions(case, settings)}
    if blame_answer:
        prompt, history = PROMPTS["builder/carry_on"], blame_answer.history
    else:
        prompt, history = PROMPTS["builder/manage"], (settings.system_message("builder/system"),)
        values |= prompt_values
    try:
        result = scope.ask(BUILDER_ROLE, prompt, read=editor.read, history=history, **values).value
    except UnusableReply as unusable:
        return editor.valid_part, f"{unusable}{VALID_PART_APPLIED if editor.valid_part else ''}"
    return result.change, " ".join(result.left_out)


def _prompt_values(
    book: RuleBook, trajectory: Trajectory, conclusion: Conclusion, settings: BuilderSettings
) -> dict[str, Any]:
    repeated = _is_repeated(conclusion.code, trajectory)
    return {
        "rules": book.active,
        "max_rules": settings.max_rules,
        "episode": trajectory.path,
        "trajectory": render_trajectory(trajectory, thoughts=settings.cooperation),
        "conclusion": Conclusion(
            text=conclusion.text if settings.cooperation else "", code="" if repeated else conclusion.code
        ),
        "repeated": repeated,
        "defined": bool(trajectory.helpers),
    }


def _is_repeated(code: str, trajectory: Trajectory) -> bool:
    """Return True if each line of the code also occurs in the episode's plans, or in the helpers for them."""
    sources = [trajectory.helpers, *(cell.code for round_ in trajectory.rounds for cell in round_.cells)]
    known_lines = {line.strip() for text in sources for line in text.splitlines()}
    return bool(code) and all(line.strip() in known_lines for line in code.splitlines() if line.strip())


def _instructions(case: Case | None, settings: BuilderSettings) -> str:
    """Return the instructions for the case. ``case`` is None in the ablation without cases (template ``case_0``)."""
    return PROMPTS[f"builder/case_{case.number if case else 0}"].render(form=settings.form)


def _verdict_of(blame_answer: Answer[Blame] | None) -> dict[str, Any]:
    """Return the fields of a ``BuildResult`` that record the Builder's verdict."""
    return {"blame": blame_answer.value, "analysis": blame_answer.reply.text} if blame_answer else {}


CONSOLIDATOR_ROLE: Final = "consolidator"
MAX_REPLIES = 4
"""Maximum number of replies of the Consolidator that are accepted after one episode."""


def consolidate(
    scope: Scope,
    sandbox: Sandbox,
    book: RuleBook,
    evidence: Mapping[str, Evidence],
    trajectories: Trajectories,
    settings: BuilderSettings,
) -> tuple[RuleBook, tuple[RuleChange, ...]]:
    """Ask the Consolidator to reduce the number of rules to ``max_rules``. Return the new book, and the changes.

    This may take several replies. If one remains unusable after the model was asked to correct it, the consolidation
    ends, and the changes of earlier replies are kept. ``evidence`` maps rule ids to the evidence for the rules. Raises
    ModelError or BudgetEnded if the model cannot be asked.
    """
    changes: list[RuleChange] = []
    history = [settings.system_message("consolidator/system")]
    message, permissions = "", CONSOLIDATOR_PERMISSIONS.restricted_to(settings.form)
    batch = Batch(who=CONSOLIDATOR_ROLE, where=scope.path)
    for replies_left in range(MAX_REPLIES, 0, -1):
        editor = Editor(sandbox, partial(RuleSystem, book, permissions, batch, trajectories, settings.try_check))
        try:
            answer = scope.ask(
                CONSOLIDATOR_ROLE,
                PROMPTS["consolidator/rules"],
                read=editor.read,
                history=history,
                rules=book.active,
                max_rules=settings.max_rules,
                evidence={rule.id: evidence[rule.id] for rule in book.active if rule.id in evidence},
                message=message,
                left=replies_left,
            )
        except UnusableReply:
            break
        result, history = answer.value, list(answer.history)
        if result.change is not None and result.change.touched:
            changes.append(result.change)
            book = result.change.apply_to(book)
        if result.stopped:
            break
        message = result.message or "It printed nothing."
    return book, tuple(changes)


_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


class TypeDescription(BaseModel):
    """The Builder's answer: the name of a type, a summary of its tasks, and the meaning of each parameter."""

    name: str
    summary: str
    parameters: dict[str, str] = {}


def describe_type(scope: Scope, found_type: FoundType, used_names: Collection[str]) -> FoundType:
    """Ask the Builder to name and describe a found type, and return the type with its answer.

    ``used_names`` are the names of other types, which the Builder must not choose. If its answer is unusable, the type
    is returned unchanged. Raises ModelError or BudgetEnded if the Builder cannot be asked.
    """

    def read(text: str) -> TypeDescription:
        try:
            answer = TypeDescription.model_validate(as_json(text, dict))
        except ValidationError as error:
            raise ValueError(f"answer with one JSON object as asked: {error}") from error
        if not _TYPE_NAME.fullmatch(answer.name) or answer.name in used_names:
            raise ValueError(
                f"the name {answer.name!r} is taken, or does not consist of lower-case words and underscores"
            )
        return answer

    goals = [goal for wording in found_type.wordings for goal in wording.goals]
    params = {param.name: found_type.examples[0].params.get(param.name) for param in found_type.parameters}
    values: dict[str, Any] = {
        "goals": goals,
        "params": json.dumps(params, ensure_ascii=False),
        "code": found_type.code,
        "fence": fence_around(found_type.code),
        "names": sorted(used_names),
    }
    try:
        answer = scope.ask(BUILDER_ROLE, PROMPTS["found_type"], read=read, **values).value
    except UnusableReply:
        return found_type
    parameters = tuple(
        param.model_copy(update={"summary": answer.parameters.get(param.name, "")}) for param in found_type.parameters
    )
    return found_type.model_copy(update={"name": answer.name, "summary": answer.summary, "parameters": parameters})
