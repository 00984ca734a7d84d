"""DEPS: describe, explain, plan and select (section 3). And what its baselines have of that: their ``Manner``."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, JsonValue

from planbook.planner.action_docs import ActionDocs
from planbook.planner.episode import Episode
from planbook.planner.errors import NoPlan, UnusableReply
from planbook.planner.models.types import Message
from planbook.planner.prompts import Prompt
from planbook.planner.roles import PLANNER
from planbook.planner.scope import Scope
from planbook.planner.strategies.base import said_or_nothing
from planbook.planner.strategies.deps.goals import Plan, collect, goal_surface
from planbook.planner.strategies.deps.pursuit import CLAIMS, Pursued, Pursuit, PursuitOptions
from planbook.planner.strategies.deps.selectors import Selector, SelectorName, selector_of
from planbook.planner.templates import PROMPTS

EXPLAINER = "explainer"
DEMONSTRATION, EXPLAINED = "deps", "explained"
LISTS, THOUGHTS, ASSERTIONS, POLICIES = "goals", "thoughts", "assertions", "policies"
"""What is shown of the world: to DEPS's planner and to its explainer; to the baselines that list goals, bare or thought
through; to those whose code acts, step by step under assertions or as it sees fit."""
REPLANS = 20
"""How often it is planned anew where no number is given: the paper goes on until the context ends (table 4)."""


class ReplanningOptions(PursuitOptions):
    """For methods that plan anew on what failed."""

    rounds: int | None = Field(
        default=None,
        ge=0,
        description=f"How often it is planned anew; null is until the task is done, {REPLANS} times at most.",
    )

    def in_force(self, world: str) -> dict[str, JsonValue]:
        """With how often it is planned anew."""
        return {**super().in_force(world), "rounds": self.replans}

    @property
    def replans(self) -> int:
        """How often it is planned anew at most."""
        return REPLANS if self.rounds is None else self.rounds


class DepsOptions(ReplanningOptions):
    """For the method that has a selector."""

    selector: SelectorName | None = Field(
        default=None,
        description="What chooses the next goal; nearest is the oracle, null is horizon where goals were recorded, "
        "else fixed.",
    )


class Manner(NamedTuple):
    """What a method that lists goals has of DEPS: its prompt, what is told of a failure, whether that is explained."""

    system: str
    demonstration: str = LISTS
    failure: str = "deps/failure"
    explains: bool = False


DEPS = Manner("deps/deps", DEMONSTRATION, "deps/description", explains=True)


def deps(episode: Episode, options: BaseModel) -> None:
    """Plan, reach the nearest goals first, and plan anew on a description and an explanation of what failed."""
    chosen = DepsOptions.model_validate(options)
    seed = f"{episode.settings.seed}/{episode.task.id}"
    follow_plans(episode, DEPS, chosen, chosen.replans, selector_of(episode.world.goals, chosen.selector, seed))


def dep(episode: Episode, options: BaseModel) -> None:
    """The same without a selector: the goals are taken as the plan has them."""
    chosen = ReplanningOptions.model_validate(options)
    follow_plans(episode, DEPS, chosen, chosen.replans)


def follow_plans(
    episode: Episode, manner: Manner, options: PursuitOptions, replans: int, selector: Selector | None = None
) -> None:
    """Plan and follow the plan; then, as often as allowed, plan anew. All that was said before stays in the prompt.

    Replies that cannot be used cost their round. Raises NoPlan where they are those of the last.
    """
    history: Sequence[Message] = [system(episode, manner.system, manner.demonstration)]
    with episode.frame("plan") as frame:
        pursuit = Pursuit(episode, frame.scope, options, selector)
        prompt, about = PROMPTS["deps/task"], situation(episode)
        for left in reversed(range(replans + 1)):
            why, description = "", ""
            try:
                plan, history = ask_for_plan(episode, frame.scope, prompt, history, about)
            except UnusableReply as unusable:
                if not (left and unusable.conversation):
                    raise NoPlan(str(unusable)) from unusable
                history, description = unusable.conversation, PROMPTS["deps/no_plan"].render(problem=str(unusable))
            else:
                pursued = pursuit.follow(plan)
                if not left:
                    episode.claim(pursued.claim, CLAIMS)
                description = describe(episode, PROMPTS[manner.failure], pursued, plan.no_goals)
                if left and manner.explains:
                    why = explain(episode, frame.scope, history[-1].content, description)
            about = {"description": description, "explanation": why, "goal": episode.task.goal, "left": left - 1}
            prompt = PROMPTS["deps/again"]


def ask_for_plan(
    episode: Episode,
    scope: Scope,
    prompt: Prompt,
    history: Sequence[Message],
    about: Mapping[str, Any],
    read: Callable[[Episode, str, str], Plan] = collect,
) -> tuple[Plan, Sequence[Message]]:
    """Return the goals that the planner names, and the conversation. Raises UnusableReply."""
    answer = scope.ask(PLANNER, prompt, read=partial(read, episode, PLANNER), history=history, **about)
    return answer.value, answer.history


def describe(episode: Episode, prompt: Prompt, pursued: Pursued, no_goals: Sequence[str]) -> str:
    """Return what came of a plan, in words: no model is asked. A description that tells less needs no state.

    ``no_goals`` are the lines of the plan that name none.
    """
    known = {"pursued": pursued, "state": episode.world.state(), "no_goals": no_goals}
    return prompt.render(**{name: known[name] for name in prompt.variables})


def explain(episode: Episode, scope: Scope, plan: str, description: str) -> str:
    """What an explainer makes of a plan that failed; empty if it has nothing to say."""
    shown = episode.recall().demonstrations.get(EXPLAINED, "")
    about = {"plan": plan, "description": description, "goal": episode.task.goal, "examples": shown}
    told = world_told(episode, goal_surface(episode.world))
    return said_or_nothing(scope, EXPLAINER, PROMPTS["deps/explain"], **about, **told)


def system(episode: Episode, template: str, demonstration: str, usable: ActionDocs | None = None) -> Message:
    """What a planner is told of its role and of the world, in which the goals are usable or something else."""
    shown = episode.recall().demonstrations.get(demonstration, "")
    told = world_told(episode, usable or goal_surface(episode.world))
    return PROMPTS[template].system(**told, demonstrations=shown)


def world_told(episode: Episode, usable: ActionDocs) -> dict[str, Any]:
    """What the world is, what can be named in it, and what is known of it."""
    return {"about": episode.world.about, "action_docs": usable, "knowledge": episode.recall().text}


def situation(episode: Episode) -> dict[str, Any]:
    """What every planner is told of its task."""
    world = episode.world
    return {"scene": world.scene(), "state": world.state(), "goal": episode.task.goal}
