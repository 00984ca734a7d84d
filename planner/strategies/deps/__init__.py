"""DEPS (describe, explain, plan and select; section 3 of the paper), and the baselines of the DEPS paper.

DEPS makes a plan, which is a list of goals, and pursues the goals until one fails. It describes the failure, has a
model explain it, and plans again. Some baselines leave out a part of this, such as the explanation or the selector of
the next goal. The other baselines name one goal at a time (Inner Monologue), or write a program that acts.

- ``goals`` reads the goals of a plan.
- ``text_matching`` finds the goal that a line of a plan means if the line is not a valid call.
- ``selectors`` chooses the goal to try next, for example the goal with the smallest predicted number of time steps (its
  horizon).
- ``pursuit`` reaches goals. It takes one action for a goal, or lets a controller take several.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, JsonValue

from planbook.envs import Environment
from planbook.planner.agent import ActionDocs, action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import NoPlan, UnusableReply
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS, Prompt
from planbook.planner.replies import as_text, has_call
from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.scope import Scope
from planbook.planner.strategies.base import Method, Options, ask_or_default, system_message
from planbook.planner.strategies.deps.goals import GoalPlan, collect, goal_docs
from planbook.planner.strategies.deps.pursuit import (
    CLAIM_AUTHOR,
    CONTROLLER,
    GoalFigures,
    GoalTried,
    Pursuit,
    PursuitOptions,
    PursuitResult,
)
from planbook.planner.strategies.deps.selectors import Selector, SelectorName, selector_of
from planbook.sandbox import read_reply

EXPLAINER = "explainer"
DEPS_DEMONSTRATION, EXPLAINED = "deps", "explained"
LISTS, THOUGHTS, DIALOGUE, ASSERTIONS, POLICIES = "goals", "thoughts", "dialogue", "assertions", "policies"
"""Names of demonstrations.

The planner of DEPS is shown ``deps``, and its explainer ``explained``. Baselines that list goals are shown ``goals``,
``thoughts`` if they reason step by step, or ``dialogue`` if they name one goal at a time. Baselines that write a
program are shown ``policies``, or ``assertions`` if the program checks preconditions.
"""
REPLANS = 20
"""Default for the maximum number of replans. In the paper, DEPS replans until the context is full (table 4).

Here, a full context does not end an episode, since the oldest parts of the conversation are left out.
"""


class ReplanningOptions(PursuitOptions):
    """Options of methods that replan after a failure."""

    rounds: Annotated[int, Field(ge=0)] | Literal["unlimited"] | None = Field(
        default=None,
        description=f"Maximum number of replans. null means {REPLANS}; unlimited means one for each allowed action.",
    )

    def effective_values(self, environment: str) -> dict[str, JsonValue]:
        """Map each option to its value. For ``rounds``, None means no limit."""
        return {**super().effective_values(environment), "rounds": self.replans}

    @property
    def replans(self) -> int | None:
        """The maximum number of replans, or None if there is no limit."""
        if self.rounds == "unlimited":
            return None
        return REPLANS if self.rounds is None else self.rounds


class DepsOptions(ReplanningOptions):
    """Options of DEPS, the only method with a selector."""

    selector: SelectorName | None = Field(
        default=None,
        description="How to choose the next goal. horizon takes the goal with the fewest predicted time steps; "
        "expected adds the time steps that failures are expected to cost; nearest is an oracle. null means horizon "
        "if goals were recorded, otherwise fixed.",
    )
    routes: bool = Field(
        default=True,
        description="The selector may replace a goal with an equivalent one, such as wood from another kind of tree.",
    )


class OneShotOptions(PursuitOptions):
    """Options of methods that plan once."""

    shows_state: bool = Field(default=True, description="The prompt describes the state at the start of the episode.")


class ReplanningOneShotOptions(ReplanningOptions, OneShotOptions):
    """Options of ``zero-shot-replan``."""


class DepsVariant(NamedTuple):
    """The prompts and features of DEPS, or of a baseline that lists goals."""

    system: str
    """The template of the system prompt."""
    demonstration: str = LISTS
    """The name of the demonstration in the system prompt."""
    failure: str = "deps/failure"
    """The template that describes a failure to the planner."""
    explains: bool = False
    """True if a model explains each failure."""
    shows_state: bool = True
    """True if the first prompt describes the state."""


DEP = DepsVariant("deps/dep", DEPS_DEMONSTRATION, "deps/description", explains=True)
DEPS = DEP._replace(system="deps/deps")
"""DEPS with a selector that takes the nearest goal first. The prompt tells the planner so."""


def deps(episode: Episode, options: DepsOptions) -> None:
    """Plan, and pursue the nearest goals first. If a goal fails, describe and explain the failure, and plan again."""
    goals, seed = episode.environment.goals, f"{episode.settings.seed}/{episode.task.id}"
    selector = selector_of(goals, options.selector, seed)._replace(routes=options.routes)
    follow_plans(episode, DEPS if selector.horizons else DEP, options, options.replans, selector)


def dep(episode: Episode, options: ReplanningOptions) -> None:
    """Play like ``deps``, but without a selector: pursue the goals in the order of the plan."""
    follow_plans(episode, DEP, options, options.replans)


def follow_plans(
    episode: Episode,
    variant: DepsVariant,
    options: PursuitOptions,
    replans: int | None,
    selector: Selector | None = None,
) -> None:
    """Plan and follow the plan. Plan again up to ``replans`` times or, if it is None, while actions are left.

    The conversation stays in the prompt. If it does not fit into the model's context, its oldest parts are left out. A
    request for a plan without a usable reply counts as one of the plans. Raises NoPlan if the last request has no
    usable reply, or if even a shortened prompt does not fit. Raises EpisodeOver when the episode ends.
    """
    history: Sequence[Message] = [planner_message(episode, variant.system, variant.demonstration)]
    with episode.frame("plan") as frame:
        pursuit = Pursuit(episode, frame.scope, options, selector)
        prompt, variables = PROMPTS["deps/task"], task_variables(episode, shows_state=variant.shows_state)
        for replans_left in reversed(range(1 + (episode.settings.actions if replans is None else replans))):
            explanation, description = "", ""
            try:
                plan, history = ask_for_plan(episode, frame.scope, prompt, history, variables)
            except UnusableReply as unusable:
                if not (replans_left and unusable.conversation):
                    raise NoPlan(str(unusable)) from unusable
                history, description = unusable.conversation, PROMPTS["deps/no_plan"].render(problem=str(unusable))
            else:
                pursued = pursuit.follow(plan)
                # if lines are unmatched, success is not claimed
                if not replans_left and not (pursued.claim and plan.unmatched):
                    episode.claim(pursued.claim, CLAIM_AUTHOR)
                description = describe(episode, PROMPTS[variant.failure], pursued, plan.unmatched)
                if replans_left and variant.explains:
                    explanation = explain(episode, frame.scope, history[-1].content, description)
            prompt, goal = PROMPTS["deps/again"], episode.task.goal
            variables = {"description": description, "explanation": explanation, "goal": goal, "left": replans_left - 1}


def ask_for_plan(
    episode: Episode,
    scope: Scope,
    prompt: Prompt,
    history: Sequence[Message],
    variables: Mapping[str, Any],
    read: Callable[[Episode, str, str], GoalPlan] = collect,
) -> tuple[GoalPlan, Sequence[Message]]:
    """Ask the planner for a plan. Return the goals in the plan, and the conversation including the reply.

    ``read`` reads a reply. Raises UnusableReply if no reply can be read as a plan.
    """
    answer = scope.ask(PLANNER_ROLE, prompt, read=partial(read, episode, PLANNER_ROLE), history=history, **variables)
    return answer.value, answer.history


def describe(episode: Episode, prompt: Prompt, pursued: PursuitResult, unmatched: Sequence[str]) -> str:
    """Return the text that describes the result of a plan to the planner. No model is asked.

    ``unmatched`` has the lines of the plan that could not be mapped to a goal.
    """
    variables = {"pursued": pursued, "state": episode.environment.state(), "no_goals": unmatched}
    return prompt.render(**{name: variables[name] for name in prompt.variables})


def explain(episode: Episode, scope: Scope, plan: str, description: str) -> str:
    """Ask the explainer why a plan failed. Return "" if no reply is usable."""
    environment, recall = episode.environment, episode.recall()
    variables: dict[str, Any] = {"plan": plan, "description": description, "goal": episode.task.goal}
    variables |= {"about": environment.about, "action_docs": goal_docs(environment), "knowledge": recall.text}
    variables |= {"examples": recall.demonstrations.get(EXPLAINED, "")}
    return ask_or_default("", scope, EXPLAINER, PROMPTS["deps/explain"], as_text, **variables)


def planner_message(episode: Episode, template: str, demonstration: str, docs: ActionDocs | None = None) -> Message:
    """Return the system message for the planner: its role, the environment, and the goals or actions it may use."""
    demonstrations = episode.recall().demonstrations.get(demonstration, "")
    docs = docs or goal_docs(episode.environment)
    return system_message(episode, template, action_docs=docs, demonstrations=demonstrations)


def task_variables(episode: Episode, *, shows_state: bool = True) -> dict[str, Any]:
    """Return the prompt variables that describe the task and the current situation."""
    environment = episode.environment
    state = environment.state() if shows_state else ""
    return {"scene": environment.scene(), "state": state, "goal": episode.task.goal}


ZERO_SHOT, CHAIN_OF_THOUGHT = DepsVariant("deps/zero_shot"), DepsVariant("deps/chain_of_thought", THOUGHTS)
DONE_CLAIM_AUTHOR = "the planner's last word"
_DONE = re.compile(r"\W*(?:DONE|FINISHED)\W*")


def zero_shot(episode: Episode, options: OneShotOptions) -> None:
    """Plan once, and follow the plan until a goal fails."""
    follow_plans(episode, ZERO_SHOT._replace(shows_state=options.shows_state), options, replans=0)


def zero_shot_replan(episode: Episode, options: ReplanningOneShotOptions) -> None:
    """Plan like ``zero_shot``, and plan again after each failure. The planner sees only the message of the failure."""
    follow_plans(episode, ZERO_SHOT._replace(shows_state=options.shows_state), options, options.replans)


def chain_of_thought(episode: Episode, options: OneShotOptions) -> None:
    """Plan once, and follow the plan. The planner is asked to work out the state after each step of the plan."""
    follow_plans(episode, CHAIN_OF_THOUGHT._replace(shows_state=options.shows_state), options, replans=0)


def inner_monologue(episode: Episode, options: PursuitOptions) -> None:
    """Ask for one goal at a time, and report its result, until the planner declares the task done."""
    demonstration = DIALOGUE if DIALOGUE in episode.recall().demonstrations else LISTS
    history: Sequence[Message] = [planner_message(episode, "deps/inner_monologue", demonstration)]
    with episode.frame("plan") as frame:
        pursuit = Pursuit(episode, frame.scope, options, None)
        prompt, variables = PROMPTS["deps/task"], task_variables(episode)
        for _ in range(episode.settings.actions):
            try:
                plan, history = ask_for_plan(episode, frame.scope, prompt, history, variables, _first_goal)
            except UnusableReply as unusable:
                raise NoPlan(str(unusable)) from unusable
            if not plan.goals:
                episode.claim(True, DONE_CLAIM_AUTHOR)
                return
            prompt = PROMPTS["deps/next"]
            variables = {"pursued": pursuit.follow(plan), "state": episode.environment.state()}


def _first_goal(episode: Episode, role: str, reply: str) -> GoalPlan:
    """Return a plan with only the first goal of a reply, or with no goal if the reply declares the task done.

    A reply with code never declares the task done, even if it ends with DONE. Raises ValueError if the reply neither
    names a goal nor declares the task done.
    """
    if says_done(reply):
        reply = reply.strip().rpartition("\n")[0]
        if read_reply(reply).problem is not None and not has_call(reply):
            return GoalPlan(goals=())
    return GoalPlan(goals=collect(episode, role, reply).goals[:1])


def says_done(reply: str) -> bool:
    """Return True if a reply of Inner Monologue's planner ends with DONE or FINISHED."""
    return _DONE.fullmatch(reply.strip().rpartition("\n")[2]) is not None


def prog_prompt(episode: Episode, options: Options) -> None:
    """Ask for one function that asserts the preconditions of each step, and run it."""
    _run_program(episode, "deps/prog_prompt", ASSERTIONS)


def code_as_policies(episode: Episode, options: Options) -> None:
    """Ask for one program whose decisions depend on what it observes, and run it."""
    _run_program(episode, "deps/code_as_policies", POLICIES)


def _run_program(episode: Episode, template: str, demonstration: str) -> None:
    message = planner_message(episode, template, demonstration, action_docs_of(episode.environment))
    with episode.frame("plan"):
        episode.stream(PLANNER_ROLE, PROMPTS["deps/task"], history=[message], **task_variables(episode))


def _needs_controller(options: Options, environment: Environment) -> bool:
    """Return True if a goal of the environment is not a single action, so that a controller has to reach it."""
    return not environment.goals.direct


def _can_replan(options: ReplanningOptions, environment: Environment) -> bool:
    """Return True if the method may plan again. Only then are failures explained."""
    return options.rounds != 0


_TEMPLATES = PROMPTS.files("deps/*.j2")
_goal_method = partial(
    Method,
    roles=(PLANNER_ROLE, CONTROLLER),
    conditional_roles={CONTROLLER: _needs_controller},
    spans=(GoalTried,),
    figures=(GoalFigures,),
    templates=_TEMPLATES,
)
_explaining_method = partial(
    _goal_method,
    roles=(PLANNER_ROLE, EXPLAINER, CONTROLLER),
    conditional_roles={CONTROLLER: _needs_controller, EXPLAINER: _can_replan},
    demonstrations=(DEPS_DEMONSTRATION, EXPLAINED),
)
_program_method = partial(Method, roles=(PLANNER_ROLE,), streams=True, templates=_TEMPLATES)

METHODS: Mapping[str, Method] = {
    "chain-of-thought": _goal_method(
        chain_of_thought, OneShotOptions, "one plan, thought through step by step", demonstrations=(THOUGHTS,)
    ),
    "code-as-policies": _program_method(
        code_as_policies, Options, "one program whose decisions depend on observations", demonstrations=(POLICIES,)
    ),
    "dep": _explaining_method(dep, ReplanningOptions, "DEPS without its selector"),
    "deps": _explaining_method(deps, DepsOptions, "goals of a plan, the nearest first; failures are explained"),
    "inner-monologue": _goal_method(
        inner_monologue,
        PursuitOptions,
        "one goal at a time, based on the result of the last",
        demonstrations=(DIALOGUE, LISTS),
        fallback_demonstrations=(LISTS,),
    ),
    "progprompt": _program_method(prog_prompt, Options, "one program with assertions", demonstrations=(ASSERTIONS,)),
    "zero-shot": _goal_method(zero_shot, OneShotOptions, "one plan, never replanned", demonstrations=(LISTS,)),
    "zero-shot-replan": _goal_method(
        zero_shot_replan,
        ReplanningOneShotOptions,
        "goals, replanned after failures, without explanations",
        demonstrations=(LISTS,),
    ),
}
