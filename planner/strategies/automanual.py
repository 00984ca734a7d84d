"""The planner of the AutoManual paper (section 3.2), and its conclusions from an episode.

The planner writes free-form code; its prompt contains the learned rules. The code of each reply is run as a cell (a
unit of plan code), and the planner receives feedback on the cell. After an episode, ``conclude`` asks for the whole
plan if the task was solved, and for the mistakes if it was not.
"""

import ast
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from planbook.envs import Environment
from planbook.planner.agent import action_docs, action_docs_of, function_stubs
from planbook.planner.episode import Episode
from planbook.planner.errors import UnusableReply
from planbook.planner.memory import Match, Recall
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS, Prompt
from planbook.planner.replies import as_plan, as_text
from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.scope import Scope
from planbook.planner.strategies.base import Method, Options, ask_and_run, countdown, match_goal, public_task_fields
from planbook.planner.strategies.without_model import procedures
from planbook.planner.trajectory import Trajectory, render_trajectory
from planbook.planner.types import Outcome, Record
from planbook.sandbox import bound_names, defined_names, extract, extractable_names, parse_source

REPLANS, REPLANS_WITH_PAUSES = 3, 6
"""Number of replies after the first reply (appendix D).

The paper allows 3 on ALFWorld. It allows 6 on MiniWoB++, where a plan has to pause to see the next page.
"""


class AutoManualOptions(Options):
    """The number of replies, and switches for parts of the method."""

    replans: int | None = Field(
        default=None,
        ge=0,
        description=f"Number of replies after the first; null means the paper's: {REPLANS}, or {REPLANS_WITH_PAUSES} "
        "on environments where plans pause to look.",
    )
    segments: bool = Field(
        default=True,
        description="Ask for understanding, mistakes, rules and a plan before the code; false asks for code alone, "
        "which keeps the replies of small models short.",
    )
    cooperation: bool = Field(
        default=True, description="Ask the planner to name the rules that it considers, in a segment of its reply."
    )
    helper_methods: bool = Field(default=True, description="Encourage functions that are useful for other tasks, too.")
    procedures_first: bool = Field(
        default=False, description="Run a stored procedure first, and ask a model only if it fails."
    )


def automanual(episode: Episode, options: AutoManualOptions) -> None:
    """Ask for a plan, run it, send the feedback and ask for the next plan, until the episode ends or no reply is left.

    With ``procedures_first``, a stored procedure is run before the first plan.
    """
    environment, recall = episode.environment, episode.recall()
    episode.whole_plans = not (environment.pauses or environment.submits)
    procedure_result = ""
    if options.procedures_first:
        recall = match_goal(episode, recall, PLANNER_ROLE)
        if procedures(episode, options, recall):
            return
        procedure_result = _procedure_result(episode, recall)
    with episode.frame("plan", helpers=recall.helpers, task=public_task_fields(episode)):
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
            update={"helpers": function_stubs(environment.helpers)}
        ),
        cooperation=options.cooperation,
        helpers=options.helper_methods,
        pauses=environment.pauses,
        actions=episode.settings.actions,
        example=recall.example,
    )


def _procedure_result(episode: Episode, recall: Recall) -> str:
    """Return the report on a stored procedure that failed, for the prompt, or "" if there was no procedure.

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


# Conclusions from an episode.


class Conclusion(Record):
    """The planner's conclusion from an episode."""

    text: str
    """The planner's mistakes or, if the task was not solved, the cause of the failure."""
    code: str = ""
    """Code that does the whole task, if the task was solved. Otherwise empty."""


def conclude(
    scope: Scope,
    trajectory: Trajectory,
    environment: type[Environment],
    options: BaseModel,
    *,
    always: bool = False,
    helpers: bool = True,
) -> Conclusion:
    """Ask the planner for its conclusion from an episode. The conclusion is empty if no reply is usable.

    If the first plan alone solved the task, the conclusion is this plan, and no model is asked. With ``always``, a
    model is asked even then. ``helpers`` is False in runs without helper methods. Raises ModelError if the model does
    not answer, or BudgetEnded if the run's budget does not allow the question.
    """
    cells = [cell for round_played in trajectory.rounds for cell in round_played.cells]
    if not always and trajectory.ending.outcome is Outcome.DIRECT_SUCCESS and len(cells) == 1:
        return Conclusion(text="", code=standalone(cells[0].code, trajectory.helpers))
    history = [about_the_environment(environment, options)]
    variables: dict[str, Any] = {"trajectory": render_trajectory(trajectory)}
    try:
        if trajectory.ending.outcome.solved:
            variables["no_helpers"] = not helpers
            plan = scope.ask(
                PLANNER_ROLE, _conclusion_prompt(trajectory), read=as_plan, history=history, **variables
            ).value
            return Conclusion(text=plan.thought.text, code=standalone(plan.code, trajectory.helpers))
        variables["knowledge"] = trajectory.knowledge
        reflection = scope.ask(PLANNER_ROLE, _conclusion_prompt(trajectory), read=as_text, history=history, **variables)
        return Conclusion(text=reflection.value)
    except UnusableReply:
        return Conclusion(text="")


def standalone(code: str, helpers: str) -> str:
    """Return the code, preceded by those definitions in ``helpers`` that it uses but does not contain."""
    used_names = {node.id for node in ast.walk(parse_source(code)) if isinstance(node, ast.Name)} - bound_names(code)
    names = used_names & extractable_names(helpers)
    return f"{extract(helpers, names)}\n\n{code}" if names else code


def about_the_environment(environment: type[Environment], options: BaseModel) -> Message:
    """Return the system message for questions about an episode. It describes the environment and its actions."""
    return PROMPTS["automanual/concluding"].system(
        about=environment.about, action_docs=action_docs(environment, options)
    )


def _conclusion_prompt(trajectory: Trajectory) -> Prompt:
    outcome = trajectory.ending.outcome
    kinds = {Outcome.DIRECT_SUCCESS: "direct", Outcome.INDIRECT_SUCCESS: "indirect"}
    return PROMPTS[f"automanual/conclusion_{kinds.get(outcome, 'failure')}"]


METHODS: Mapping[str, Method] = {
    "automanual": Method(
        automanual,
        AutoManualOptions,
        "free-form code, with rules, skills and feedback",
        (PLANNER_ROLE,),
        spans=(Match,),
        streams=True,
        templates=PROMPTS.files("automanual/*.j2"),
    )
}
