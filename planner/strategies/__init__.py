"""The planning methods, by name."""

from collections.abc import Mapping

from pydantic import BaseModel

from envs import Environment
from planner.errors import UnknownStrategy
from planner.graph import ROLE
from planner.strategies.adapt import (
    PLANNING,
    PLANNING_DETAILED,
    AdaptOptions,
    PlannedOptions,
    adapt,
)
from planner.strategies.adapt_baselines import REFLECTOR, plan_and_execute, react, reflexion, try_again
from planner.strategies.advocate.options import EVALUATOR, SUMMARIZER, AdvocateOptions
from planner.strategies.advocate.stack import DevilsAdvocateOptions, devils_advocate
from planner.strategies.agentkit import AgentKitOptions, agentkit, roles_of
from planner.strategies.automanual import PLANNER, AutoManualOptions, automanual
from planner.strategies.base import Method, Options, Strategy
from planner.strategies.code import GivenCode, code_of, given_code, naive, procedures
from planner.strategies.controller import CONTROLLER
from planner.strategies.deps import (
    ASSERTIONS,
    DEMONSTRATION,
    EXPLAINER,
    LISTS,
    POLICIES,
    THOUGHTS,
    DepsOptions,
    ReplanningOptions,
    dep,
    deps,
)
from planner.strategies.deps_baselines import (
    chain_of_thought,
    code_as_policies,
    inner_monologue,
    prog_prompt,
    zero_shot,
    zero_shot_replan,
)
from planner.strategies.depth import DepthOptions
from planner.strategies.executor import DEMONSTRATIONS, EXECUTOR
from planner.strategies.lats import LatsOptions, lats
from planner.strategies.plan_act import PlanActOptions, plan_act
from planner.strategies.pursuit import PursuitOptions
from planner.strategies.random_choice import RandomOptions, random_choice

_PURSUING = (PLANNER, CONTROLLER)
_EXPLAINED = (PLANNER, EXPLAINER, CONTROLLER)


def _deep(options: BaseModel, world: Environment) -> bool:
    """Whether there is more than one level, or round."""
    return isinstance(options, DepthOptions) and options.deepest(world.name) > 1


def _controlled(options: BaseModel, world: Environment) -> bool:
    """Whether a controller has to reach the world's goals."""
    return not world.goals.direct


def _replanned(options: BaseModel, world: Environment) -> bool:
    """Whether there is a failure to explain."""
    return isinstance(options, ReplanningOptions) and options.replans > 0


def _summarised(options: BaseModel, world: Environment) -> bool:
    """Whether anything is summarised."""
    return isinstance(options, AdvocateOptions) and options.summarise_above is not None


_ADVISED = (PLANNER, EVALUATOR, SUMMARIZER)
_WHERE_SUMMARISED = {SUMMARIZER: _summarised}
_WHERE_CONTROLLED = {CONTROLLER: _controlled}
_WHERE_EXPLAINED = {CONTROLLER: _controlled, EXPLAINER: _replanned}

METHODS: Mapping[str, Method] = {
    "adapt": Method(
        adapt,
        AdaptOptions,
        "execute first, take apart only what fails (ADaPT)",
        (EXECUTOR, PLANNER),
        (*DEMONSTRATIONS, PLANNING),
        {PLANNER: _deep},
    ),
    "agentkit": Method(
        agentkit,
        AgentKitOptions,
        "a graph of prompts, gone through once a step (AgentKit)",
        (ROLE,),
        sometimes={ROLE: lambda options, world: ROLE in roles_of(options, world.name)},
        named=roles_of,
    ),
    "automanual": Method(automanual, AutoManualOptions, "free-form code, with rules, skills and feedback", (PLANNER,)),
    "chain-of-thought": Method(
        chain_of_thought,
        PursuitOptions,
        "one plan, thought through step by step",
        _PURSUING,
        (THOUGHTS,),
        _WHERE_CONTROLLED,
    ),
    "code": Method(given_code, GivenCode, "one given plan; no model"),
    "code-as-policies": Method(
        code_as_policies, Options, "one program that decides by what it sees", (PLANNER,), (POLICIES,)
    ),
    "dep": Method(dep, ReplanningOptions, "DEPS without its selector", _EXPLAINED, (DEMONSTRATION,), _WHERE_EXPLAINED),
    "deps": Method(
        deps,
        DepsOptions,
        "goals from a plan, the nearest first; what fails is explained",
        _EXPLAINED,
        (DEMONSTRATION,),
        _WHERE_EXPLAINED,
    ),
    "devils-advocate": Method(
        devils_advocate,
        DevilsAdvocateOptions,
        "remedies before each action, turning back after a wrong one (Devil's Advocate)",
        _ADVISED,
        sometimes=_WHERE_SUMMARISED,
    ),
    "inner-monologue": Method(
        inner_monologue,
        PursuitOptions,
        "one goal at a time, by what came of the last",
        _PURSUING,
        (LISTS,),
        _WHERE_CONTROLLED,
    ),
    "lats": Method(
        lats,
        LatsOptions,
        "tree search over sampled actions, valued by the evaluator (as LATS)",
        _ADVISED,
        sometimes=_WHERE_SUMMARISED,
    ),
    "naive": Method(naive, Options, "the world's own plan for any task, without thinking; no model"),
    "plan-act": Method(
        plan_act,
        PlanActOptions,
        "plan and act step by step; what does not fit ends the round (Plan+Act)",
        _ADVISED,
        sometimes=_WHERE_SUMMARISED,
    ),
    "plan-and-execute": Method(
        plan_and_execute,
        PlannedOptions,
        "one detailed plan, each step executed",
        (PLANNER, EXECUTOR),
        (*DEMONSTRATIONS, PLANNING_DETAILED, PLANNING),
        stand_ins=(PLANNING,),
    ),
    "procedures": Method(procedures, Options, "stored plan code with parameters, by task type; no model"),
    "progprompt": Method(prog_prompt, Options, "one program with assertions", (PLANNER,), (ASSERTIONS,)),
    "random": Method(random_choice, RandomOptions, "one action after another, by chance; no model"),
    "react": Method(react, DepthOptions, "ADaPT's executor alone, on the whole task", (EXECUTOR,), DEMONSTRATIONS),
    "reflexion": Method(
        reflexion,
        DepthOptions,
        "rounds with a reflection in between",
        (EXECUTOR, REFLECTOR),
        DEMONSTRATIONS,
        {REFLECTOR: _deep},
    ),
    "try-again": Method(try_again, DepthOptions, "separate rounds, the best counts", (EXECUTOR,), DEMONSTRATIONS),
    "zero-shot": Method(
        zero_shot, PursuitOptions, "one plan of goals, never mended", _PURSUING, (LISTS,), _WHERE_CONTROLLED
    ),
    "zero-shot-replan": Method(
        zero_shot_replan,
        ReplanningOptions,
        "goals, planned anew on the bare failure",
        _PURSUING,
        (LISTS,),
        _WHERE_CONTROLLED,
    ),
}


def method(name: str) -> Method:
    """The planning method of that name. Raises UnknownStrategy, saying which there are."""
    if name not in METHODS:
        raise UnknownStrategy(f"no planner is called {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]


__all__ = ["METHODS", "AutoManualOptions", "GivenCode", "Method", "Options", "Strategy", "code_of", "method"]
