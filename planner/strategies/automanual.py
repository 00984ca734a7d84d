"""AutoManual's planner (section 3.2): free-form code, one cell after another, with the known rules in its prompt."""

from collections.abc import Mapping

from pydantic import Field

from planbook.planner.agent import action_docs_of, function_heads
from planbook.planner.episode import Episode
from planbook.planner.memory import Match, Recall
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.strategies.base import Method, Options, ask_and_run, countdown, model_task
from planbook.planner.strategies.code import match_goal, procedures
from planbook.sandbox import definitions

REPLANS, REPLANS_WITH_PAUSES = 3, 6
"""Number of further replies (appendix D): on ALFWorld, and on MiniWoB++, where plans pause to look."""


class AutoManualOptions(Options):
    """The number of replies, and the parts of the method that an ablation turns off."""

    replans: int | None = Field(
        default=None,
        ge=0,
        description=f"Number of replies after the first; null is the paper's: {REPLANS}, and {REPLANS_WITH_PAUSES} on "
        "environments where plans pause to look.",
    )
    segments: bool = Field(
        default=True,
        description="Ask for understanding, mistakes, rules and a plan before the code; false asks for code alone, as "
        "small models do better with.",
    )
    cooperation: bool = Field(default=True, description="Ask the planner for the rules that it considers.")
    helper_methods: bool = Field(default=True, description="Encourage functions of general use.")
    procedures_first: bool = Field(
        default=False, description="Run a stored procedure first, and ask a model only if it fails."
    )


def automanual(episode: Episode, options: AutoManualOptions) -> None:
    """Plan, run, learn from the feedback and plan again, until the episode is over or the replies are used up."""
    recall, episode.whole_plans = episode.recall(), not episode.environment.pauses
    tried = ""
    if options.procedures_first:
        recall = match_goal(episode, recall, PLANNER_ROLE)
        if procedures(episode, options, recall):
            return
        tried = _procedure_result(episode, recall)
    with episode.frame("plan", helpers=recall.helpers, task=model_task(episode)):
        ask_and_run(
            episode,
            PLANNER_ROLE,
            PROMPTS["automanual/task"],
            PROMPTS["automanual/feedback" if options.segments else "automanual/feedback_code"],
            countdown(_replans(episode, options)),
            history=[_system(episode, recall, options)],
            knowledge=recall.text,
            defined=[definition.name for definition in definitions(recall.helpers)],
            observation=episode.observation.text,
            goal=episode.task.goal,
            tried=tried,
        )


def _system(episode: Episode, recall: Recall, options: AutoManualOptions) -> Message:
    environment = type(episode.environment)
    return PROMPTS["automanual/system"].system(
        about=environment.about,
        action_docs=action_docs_of(episode.environment).model_copy(
            update={"helpers": function_heads(environment.helpers)}
        ),
        segments=options.segments,
        cooperation=options.cooperation,
        helpers=options.helper_methods,
        pauses=environment.pauses,
        actions=episode.settings.actions,
        example=recall.example,
    )


def _procedure_result(episode: Episode, recall: Recall) -> str:
    """Return the result of the stored procedure that did not do the task; empty if there was none.

    A procedure may know more about the task than a model should see. In that case its actions are left out.
    """
    if recall.procedure is None:
        return ""
    task = episode.task
    if not recall.procedure.is_learned and dict(episode.environment.told_params(task)) != dict(task.params):
        return f"It did not do the task. {episode.environment.state()}".strip()
    return episode.feedbacks[-1].text


def _replans(episode: Episode, options: AutoManualOptions) -> int:
    if options.replans is not None:
        return options.replans
    return REPLANS_WITH_PAUSES if episode.environment.pauses else REPLANS


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
