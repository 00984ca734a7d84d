"""Default replies of the nodes of the Crafter agent."""

from collections.abc import Mapping
from typing import Any

from planbook.planner.graph.hooking.crafter import ACTIONS, DISCOVERY_TESTS, REPLAN_IF, UNKNOWN_TESTS
from tests.planner.episode_kit import code
from tests.planner.node_models import Reply

OPEN_GATE = {**dict.fromkeys((*REPLAN_IF, "correction_planned"), "no"), "replan": "yes, the sketch is new"}
SHUT_GATE = {**OPEN_GATE, "replan": "no"}
PLAN: Mapping[str, Any] = {
    **dict.fromkeys(("obstacles", "risks", "notes"), "none"),
    "easy_to_reach": "the tree",
    "kept": "yes",
    "plan_sketch": "walk north",
    "details": "go straight north",
    "target": "the tree",
    "relevance_criteria": "a tree is in view",
    "expiration_condition": "no tree is in view",
    "expires_after": 4,
}
WEIGHED = dict.fromkeys(("where", "in_time", "in_space", "risk", "benefit"), "none")
TREE = {"object": "tree", "direction": "north", "coordinates": "3 north"}
SKILL = {"name": "CollectResource", "description": "collect it", "parameters": ["resource"], "guide": "go to it"}
WOOD = {"subgoal": "collect wood", "completion_criteria": "1 wood is carried", "guide": "find a tree"}
MOVED = {"action": "move('north')", "repeats": 1, "target": "none", "success": "yes", "causes_of_failure": "none"}


def action_row(name: str) -> Mapping[str, str]:
    """Return a row of the table of actions."""
    allowed = "yes" if name.startswith(("move", "do", "noop")) else "no"
    texts = dict.fromkeys(("requirements", "observed", "why", "target"), "none")
    return {**texts, "allowed": allowed, "unlocks": "no"}


def discovery(**answers: str) -> dict[str, str]:
    """Return a discovery that passes every test, apart from the given answers."""
    passed = dict.fromkeys(DISCOVERY_TESTS, "yes, clearly")
    return {**passed, "discovery": "a tree gave 1 wood", "discovery_short": "1 wood a tree", **answers}


def missing(**answers: str) -> dict[str, str]:
    """Return an item of missing information that passes every test, apart from the given answers."""
    passed = dict.fromkeys(UNKNOWN_TESTS, "yes")
    return {**passed, "info": "how much wood a tree gives", "known": "none", **answers}


REPLIES: dict[str, Reply] = {
    "obs_obj": {"near": [{**TREE, "steps": 3, "facing": "no", "requirements": "none"}], "ahead": "Grass."},
    "obs_inv": {},
    "obs_vit": {"health": "9/9"},
    "s_action": MOVED,
    "obs_current_actions": {name: action_row(name) for name in ACTIONS},
    "challenge": {
        "challenges": [{"challenge": name, "urgency": 3, "convenience": 3} for name in ("wood", "water", "food")],
        "chosen": "wood",
        "why": "nothing without it",
    },
    "gate": SHUT_GATE,
    "subgoals": [{"subgoal": f"subgoal {number}", "completion_criteria": "it is done"} for number in (1, 2, 3)],
    "top_subgoal": WOOD,
    "skill": SKILL,
    "kb_add": {},
    "unknown": {},
    "actor_reflect": {"also_tracked": ["wood"], "table": ["step 0: grass"], "actions": {"move('north')": WEIGHED}},
    "actor_plan_sketch": PLAN,
    "actor_final": code("agent.move('north')"),
}
