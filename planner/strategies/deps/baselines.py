"""The planners that DEPS is compared with (section 4.2, appendices A, D and G): a few lines each over its parts.

Those that list goals are DEPS without some of its parts; Inner Monologue names one goal at a time; the code of
ProgPrompt and Code as Policies acts by itself.
"""

import re
from collections.abc import Sequence

from pydantic import BaseModel

from planbook.planner.action_docs import action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import NoPlan, UnusableReply
from planbook.planner.models.types import Message
from planbook.planner.roles import PLANNER
from planbook.planner.strategies.deps.goals import Plan, collect
from planbook.planner.strategies.deps.pursuit import Pursuit, PursuitOptions
from planbook.planner.strategies.deps.replanning import (
    ASSERTIONS,
    LISTS,
    POLICIES,
    THOUGHTS,
    Manner,
    ReplanningOptions,
    ask_for_plan,
    follow_plans,
    situation,
    system,
)
from planbook.planner.templates import PROMPTS

ZERO_SHOT, CHAIN_OF_THOUGHT = Manner("deps/zero_shot"), Manner("deps/chain_of_thought", THOUGHTS)
SAYS_DONE = "the planner's last word"
_DONE = re.compile(r"\W*(?:DONE|FINISHED)\W*")


def zero_shot(episode: Episode, options: BaseModel) -> None:
    """Plan once, and follow the plan as far as it goes."""
    follow_plans(episode, ZERO_SHOT, PursuitOptions.model_validate(options), replans=0)


def zero_shot_replan(episode: Episode, options: BaseModel) -> None:
    """The same, planning anew on the bare message of what failed."""
    chosen = ReplanningOptions.model_validate(options)
    follow_plans(episode, ZERO_SHOT, chosen, chosen.replans)


def chain_of_thought(episode: Episode, options: BaseModel) -> None:
    """Plan once, working out what is there after each step."""
    follow_plans(episode, CHAIN_OF_THOUGHT, PursuitOptions.model_validate(options), replans=0)


def inner_monologue(episode: Episode, options: BaseModel) -> None:
    """Name one goal, see what came of it, name the next, until the planner says that the task is done."""
    history: Sequence[Message] = [system(episode, "deps/inner_monologue", LISTS)]
    with episode.frame("plan") as frame:
        pursuit = Pursuit(episode, frame.scope, PursuitOptions.model_validate(options), None)
        prompt, about = PROMPTS["deps/task"], situation(episode)
        for _ in range(episode.settings.actions):
            try:
                plan, history = ask_for_plan(episode, frame.scope, prompt, history, about, _first_goal)
            except UnusableReply as unusable:
                raise NoPlan(str(unusable)) from unusable
            if not plan.goals:
                episode.claim(True, SAYS_DONE)
                return
            prompt = PROMPTS["deps/next"]
            about = {"pursued": pursuit.follow(plan), "state": episode.world.state()}


def _first_goal(episode: Episode, role: str, reply: str) -> Plan:
    """Return a plan of the first goal that a reply names, or of none if it says that the task is done.

    Raises ValueError.
    """
    return Plan(goals=() if says_done(reply) else collect(episode, role, reply).goals[:1])


def says_done(reply: str) -> bool:
    """Whether a reply of Inner Monologue's planner ends by saying that the task is done."""
    return _DONE.fullmatch(reply.strip().rpartition("\n")[2]) is not None


def prog_prompt(episode: Episode, options: BaseModel) -> None:
    """Write one function with assertions on what each step needs, and run it."""
    _run_program(episode, "deps/prog_prompt", ASSERTIONS)


def code_as_policies(episode: Episode, options: BaseModel) -> None:
    """Write one program that decides by what it sees, and run it."""
    _run_program(episode, "deps/code_as_policies", POLICIES)


def _run_program(episode: Episode, template: str, demonstration: str) -> None:
    told = system(episode, template, demonstration, action_docs_of(episode.world))
    with episode.frame("plan"):
        episode.stream(PLANNER, PROMPTS["deps/task"], history=[told], **situation(episode))
