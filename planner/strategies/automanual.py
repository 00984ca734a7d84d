"""The planner of the AutoManual paper, and methods that run existing plan code without asking a model for a plan.

The planner (section 3.2) writes free-form code; its prompt contains the rules that were learned. The code of each reply
is run as a cell (a unit of plan code), and the planner gets feedback on the cell. After an episode, ``conclude`` asks
for the whole plan if the task was solved, and for the mistakes if it was not.

Existing code is a given plan, an environment's naive plan, or a stored procedure, which is plan code that solves all
tasks of one type. For procedures, a model is asked only to find the task type that fits a goal.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictInt, ValidationError

from planbook.envs import Environment
from planbook.planner.agent import action_docs, action_docs_of, function_heads
from planbook.planner.episode import Episode
from planbook.planner.errors import UnusableReply
from planbook.planner.frames import Frame
from planbook.planner.memory import Match, MatchCandidate, Procedure, Recall
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS, Prompt
from planbook.planner.replies import as_json, as_plan, as_text
from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.scope import Scope
from planbook.planner.strategies.base import Method, Options, ask_and_run, countdown, model_task
from planbook.planner.trajectory import Trajectory, render_trajectory
from planbook.planner.types import Outcome, Record
from planbook.sandbox import bound_names, defined_names, extract, extractable_names, parse_source

REPLANS, REPLANS_WITH_PAUSES = 3, 6
"""Number of replies after the first reply (appendix D).

The paper allows 3 on ALFWorld. It allows 6 on MiniWoB++, where a plan has to pause to see the next page.
"""


class AutoManualOptions(Options):
    """The number of replies, and switches for the parts of the method."""

    replans: int | None = Field(
        default=None,
        ge=0,
        description=f"Number of replies after the first; null is the paper's: {REPLANS}, and {REPLANS_WITH_PAUSES} on "
        "environments where plans pause to look.",
    )
    segments: bool = Field(
        default=True,
        description="Ask for understanding, mistakes, rules and a plan before the code; false asks for code alone, "
        "which keeps the replies of small models short.",
    )
    cooperation: bool = Field(
        default=True, description="Ask the planner for the rules that it considers, in a segment."
    )
    helper_methods: bool = Field(default=True, description="Encourage functions of general use.")
    procedures_first: bool = Field(
        default=False, description="Run a stored procedure first, and ask a model only if it fails."
    )


def automanual(episode: Episode, options: AutoManualOptions) -> None:
    """Ask for a plan, run it, send the feedback and ask for the next plan, until the episode ends or no reply is left.

    With ``procedures_first``, a stored procedure is run before the first plan.
    """
    recall, episode.whole_plans = episode.recall(), not episode.environment.pauses
    procedure_result = ""
    if options.procedures_first:
        recall = match_goal(episode, recall, PLANNER_ROLE)
        if procedures(episode, options, recall):
            return
        procedure_result = _procedure_result(episode, recall)
    with episode.frame("plan", helpers=recall.helpers, task=model_task(episode)):
        ask_and_run(
            episode,
            PLANNER_ROLE,
            PROMPTS["automanual/task"],
            PROMPTS["automanual/feedback" if options.segments else "automanual/feedback_code"],
            countdown(_replans(episode, options)),
            history=[_system(episode, recall, options)],
            knowledge=recall.text,
            defined=defined_names(recall.helpers),
            observation=episode.observation.text,
            goal=episode.task.goal,
            tried=procedure_result,
        )


def _system(episode: Episode, recall: Recall, options: AutoManualOptions) -> Message:
    environment = type(episode.environment)
    return PROMPTS["automanual/system" if options.segments else "automanual/system_code"].system(
        about=environment.about,
        action_docs=action_docs_of(episode.environment).model_copy(
            update={"helpers": function_heads(environment.helpers)}
        ),
        cooperation=options.cooperation,
        helpers=options.helper_methods,
        pauses=environment.pauses,
        actions=episode.settings.actions,
        example=recall.example,
    )


def _procedure_result(episode: Episode, recall: Recall) -> str:
    """Return the report for the prompt on a stored procedure that failed, or "" if there was no procedure.

    A procedure that was not learned may use params of the task that models must not know. If the task has such params,
    the report does not show the actions of the procedure.
    """
    if recall.procedure is None:
        return ""
    task = episode.task
    if not recall.procedure.is_learned and dict(episode.environment.public_params(task)) != dict(task.params):
        return f"It did not do the task. {episode.environment.state()}".strip()
    return episode.feedbacks[-1].text


def _replans(episode: Episode, options: AutoManualOptions) -> int:
    if options.replans is not None:
        return options.replans
    return REPLANS_WITH_PAUSES if episode.environment.pauses else REPLANS


# What is learned from an episode.


class Conclusion(Record):
    """What the planner concludes from an episode."""

    text: str
    """The planner's mistakes or, if the task was not solved, the cause of the failure."""
    code: str = ""
    """Code that does the whole task, if the task was solved. Otherwise empty."""


def conclude(
    scope: Scope, trajectory: Trajectory, environment: type[Environment], options: BaseModel, *, always: bool = False
) -> Conclusion:
    """Ask the planner for its conclusion from an episode. The conclusion is empty if no reply is usable.

    If the first plan alone solved the task, the conclusion is this plan, and no model is asked. With ``always``, a
    model is asked even then. Raises ModelError if the model does not answer, or BudgetEnded if the run's budget does
    not allow the question.
    """
    cells = [cell for round_played in trajectory.rounds for cell in round_played.cells]
    if not always and trajectory.ending.outcome is Outcome.DIRECT_SUCCESS and len(cells) == 1:
        return Conclusion(text="", code=standalone(cells[0].code, trajectory.helpers))
    history = [about_the_environment(environment, options)]
    variables: dict[str, Any] = {"trajectory": render_trajectory(trajectory)}
    try:
        if trajectory.ending.outcome.solved:
            plan = scope.ask(PLANNER_ROLE, _prompt(trajectory), read=as_plan, history=history, **variables).value
            return Conclusion(text=plan.thought.text, code=standalone(plan.code, trajectory.helpers))
        variables["knowledge"] = trajectory.knowledge
        reflection = scope.ask(PLANNER_ROLE, _prompt(trajectory), read=as_text, history=history, **variables)
        return Conclusion(text=reflection.value)
    except UnusableReply:
        return Conclusion(text="")


def standalone(code: str, helpers: str) -> str:
    """Return the code, preceded by the definitions in ``helpers`` that the code uses but does not contain itself."""
    used = {node.id for node in ast.walk(parse_source(code)) if isinstance(node, ast.Name)} - bound_names(code)
    names = used & extractable_names(helpers)
    return f"{extract(helpers, names)}\n\n{code}" if names else code


def about_the_environment(environment: type[Environment], options: BaseModel) -> Message:
    """Return the system message for questions about an episode. It describes the environment and its actions."""
    return PROMPTS["automanual/concluding"].system(
        about=environment.about, action_docs=action_docs(environment, options)
    )


def _prompt(trajectory: Trajectory) -> Prompt:
    outcome = trajectory.ending.outcome
    kinds = {Outcome.DIRECT_SUCCESS: "direct", Outcome.INDIRECT_SUCCESS: "indirect"}
    return PROMPTS[f"automanual/conclusion_{kinds.get(outcome, 'failure')}"]


# Existing code.


class GivenCode(Options):
    """The options of a method that runs the same given plan for every task."""

    code: str = Field(description="The plan.")
    helpers: str = Field(default="", description="Code that is run before the plan, to define helpers.")
    before: str = Field(
        default="", description="Plan code that is run first, as a separate cell.", exclude_if=lambda code: not code
    )
    source: str = Field(default="plan", description="Name under which its faults are reported.")
    told_params: bool = Field(
        default=False, description="Show the plan only those params of the task that models may know."
    )


def given_code(episode: Episode, options: GivenCode) -> None:
    """Run the given plan. If there is code in ``before``, run it first, and give up if it fails."""
    with _frame(episode, options):
        if options.before and episode.run(options.before, source="before").is_error:
            return
        episode.run(options.code, source=options.source)


def _frame(episode: Episode, plan: GivenCode, match: Match | None = None) -> AbstractContextManager[Frame]:
    task = model_task(episode) if plan.told_params else {}
    if match:
        task = {"type": match.type, "params": match.params}
    return episode.frame("plan", helpers=plan.helpers, task=task, dry_run=match is not None)


def procedures(episode: Episode, options: Options, recall: Recall | None = None) -> bool:
    """Run the procedure that the memory has for the task, if any. Return True if a check has shown that it succeeded.

    If the procedure was found by matching the goal, a dry run checks its actions first, and afterwards its
    post-conditions are checked. Any other procedure is only run, so the result is False.
    """
    recall = recall or match_goal(episode, episode.recall())
    if recall.procedure is None:
        return False
    plan, match, is_checked = code_of(recall.procedure), recall.match, False
    with _frame(episode, plan, match):
        feedback = episode.run(plan.code, source=plan.source)
        if match and recall.check and not feedback.is_error:
            feedback, is_checked = episode.run(recall.check, source="post-condition"), True
    if match and feedback.is_error:
        episode.span(match.model_copy(update={"failed": feedback.kind.value})).end()
    return is_checked and not feedback.is_error


def naive(episode: Episode, options: Options) -> None:
    """Run the plan that the environment defines for the naive baseline (ADaPT paper, appendix D), if there is one."""
    if code := type(episode.environment).naive:
        given_code(episode, GivenCode(code=code, source="naive", told_params=True))


def code_of(procedure: Procedure) -> GivenCode:
    """Return the plan that runs a procedure: the procedure's code, followed by a call of its ``solve``.

    A procedure that a model wrote sees only those params of the task that models may know.
    """
    code = f"{procedure.code.rstrip()}\n\n\nsolve(agent, task)\n"
    return GivenCode(code=code, helpers=procedure.helpers, source=procedure.name, told_params=procedure.is_learned)


# Matching a goal with one of the task types that planbook found by itself. If the memory is not sure about the type, a
# model is asked. The model may answer that no type fits.

MODEL = "model"
NONE = "none"
_Text = Annotated[str, Field(strict=True, min_length=1)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _TypeAnswer(BaseModel):
    """A model's answer: the task type and its parameters. Other fields of the JSON object are ignored."""

    type: str
    params: dict[str, _Text | StrictInt | _Number] = {}


def match_goal(episode: Episode, recall: Recall, role: str = "") -> Recall:
    """Match the goal with a task type, record the match, and return what the memory has for that type.

    If the memory is not sure and ``role`` is not empty, the model of this role is asked. If planbook has found no task
    types, return ``recall`` unchanged. Raises ModelError if the model does not answer, or BudgetEnded if the run's
    budget does not allow the question.
    """
    match = recall.match
    if match is None:
        return recall
    if match.candidates and role:
        recall = _match_by_model(episode, recall, match, role)
        match = recall.match or match
    episode.span(match if recall.procedure else match.model_copy(update={"type": "", "params": {}})).end()
    return recall


def _match_by_model(episode: Episode, recall: Recall, match: Match, role: str) -> Recall:
    """Return what the memory has for the type that a model names. If the model names no type, there is no procedure."""
    if (answer := _ask_for_type(episode, match.candidates, role)).type:
        recall_of_type = episode.recall(answer)
        new_match = answer if recall_of_type.match is None else recall_of_type.match
        if new_match.type:  # the memory accepts the values that the model gave for the type's parameters
            new_match = new_match.model_copy(update={"by": MODEL, "candidates": ()})
            return recall_of_type.model_copy(update={"match": new_match})
    no_match = match.model_copy(update={"type": "", "params": {}, "by": ""})
    return recall.model_copy(update={"match": no_match, "procedure": None})


def _ask_for_type(episode: Episode, candidates: Sequence[MatchCandidate], role: str) -> Match:
    """Ask a model for the task type. The match has no type if the model names no type, or if no reply is usable."""
    scope, prompt = episode.current_scope.child("match"), PROMPTS["matching/match"]
    shown: Any = [candidate.model_dump(mode="json") for candidate in candidates]
    variables = {"candidates": shown, "goal": episode.task.goal, "observation": episode.observation.text}
    try:
        return scope.ask(role, prompt, read=_type_reader(candidates), **variables).value
    except UnusableReply:
        return Match()


def _type_reader(candidates: Sequence[MatchCandidate]) -> Callable[[str], Match]:
    """Return a function that reads a reply. It raises ValueError if the type or its parameters were not offered."""
    params = {candidate.name: set(candidate.params) for candidate in candidates}

    def read(text: str) -> Match:
        try:
            answer = _TypeAnswer.model_validate(as_json(text, dict))
        except ValidationError as error:
            raise ValueError(f"the JSON object cannot be read: {error}") from error
        if answer.type == NONE:
            return Match()
        if set(answer.params) != params.get(answer.type):
            raise ValueError(f"{answer.type!r} with {sorted(answer.params)} is none of the types with their parameters")
        return Match(type=answer.type, params=dict(answer.params), by=MODEL)

    return read


METHODS: Mapping[str, Method] = {
    "automanual": Method(
        automanual,
        AutoManualOptions,
        "free-form code, with rules, skills and feedback",
        (PLANNER_ROLE,),
        spans=(Match,),
        streams=True,
        templates=PROMPTS.files("automanual/*.j2"),
    ),
    "code": Method(given_code, GivenCode, "one given plan; no model"),
    "naive": Method(naive, Options, "the environment's own plan for any task; no model"),
    "procedures": Method(
        procedures, Options, "stored plan code with parameters, by task type; no model", spans=(Match,)
    ),
}
