"""Devil's Advocate (anticipatory reflection, backtracking, plan revision), Plan+Act and LATS.

``search`` holds the three methods, ``round`` plays one round, ``model_calls`` holds their questions, ``tree`` the
branches.
"""

from collections.abc import Mapping
from functools import partial

from planbook.envs import Environment
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.strategies.advocate.model_calls import EVALUATOR, SUMMARIZER, AdvocateOptions
from planbook.planner.strategies.advocate.search import (
    DevilsAdvocateOptions,
    LatsOptions,
    PlanActOptions,
    devils_advocate,
    lats,
    plan_act,
)
from planbook.planner.strategies.advocate.tree import BranchTried, PlanMade, SearchFigures
from planbook.planner.strategies.base import Method


def _summarises(options: AdvocateOptions, environment: Environment) -> bool:
    """Return True if long observations are summarised."""
    return options.summarise_above is not None


_search_method = partial(
    Method,
    roles=(PLANNER_ROLE, EVALUATOR, SUMMARIZER),
    sometimes={SUMMARIZER: _summarises},
    spans=(PlanMade, BranchTried),
    figures=(SearchFigures,),
    templates=PROMPTS.files("advocate/*.j2"),
)

METHODS: Mapping[str, Method] = {
    "devils-advocate": _search_method(
        devils_advocate,
        DevilsAdvocateOptions,
        "remedies before each action, turning back after a wrong one (Devil's Advocate)",
    ),
    "lats": _search_method(lats, LatsOptions, "tree search over sampled actions, valued by the evaluator (as LATS)"),
    "plan-act": _search_method(
        plan_act, PlanActOptions, "plan and act step by step; an action that does not fit ends the round (Plan+Act)"
    ),
}
