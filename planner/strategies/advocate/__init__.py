"""Devil's Advocate: anticipatory reflection, turning back, and plans made anew from what was learnt.

``stack`` is the method, ``plan_act`` and ``lats`` are what it is compared with; the other modules are what all of them
share.
"""

from collections.abc import Mapping

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner.roles import PLANNER
from planbook.planner.strategies.advocate.figures import Search
from planbook.planner.strategies.advocate.lats import LatsOptions, lats
from planbook.planner.strategies.advocate.options import EVALUATOR, SUMMARIZER, AdvocateOptions
from planbook.planner.strategies.advocate.plan_act import PlanActOptions, plan_act
from planbook.planner.strategies.advocate.stack import DevilsAdvocateOptions, devils_advocate
from planbook.planner.strategies.advocate.tree import BranchTried, PlanMade
from planbook.planner.strategies.base import Method
from planbook.planner.templates import PROMPTS

_ROLES = (PLANNER, EVALUATOR, SUMMARIZER)


def _summarised(options: BaseModel, world: Environment) -> bool:
    """Whether anything is summarised."""
    return isinstance(options, AdvocateOptions) and options.summarise_above is not None


_TEMPLATES = PROMPTS.files("advocate/*.j2")

METHODS: Mapping[str, Method] = {
    "devils-advocate": Method(
        devils_advocate,
        DevilsAdvocateOptions,
        "remedies before each action, turning back after a wrong one (Devil's Advocate)",
        _ROLES,
        sometimes={SUMMARIZER: _summarised},
        spans=(PlanMade, BranchTried),
        figures=(Search,),
        templates=_TEMPLATES,
    ),
    "lats": Method(
        lats,
        LatsOptions,
        "tree search over sampled actions, valued by the evaluator (as LATS)",
        _ROLES,
        sometimes={SUMMARIZER: _summarised},
        spans=(PlanMade, BranchTried),
        figures=(Search,),
        templates=_TEMPLATES,
    ),
    "plan-act": Method(
        plan_act,
        PlanActOptions,
        "plan and act step by step; what does not fit ends the round (Plan+Act)",
        _ROLES,
        sometimes={SUMMARIZER: _summarised},
        spans=(PlanMade, BranchTried),
        figures=(Search,),
        templates=_TEMPLATES,
    ),
}
