"""AgentKit, which goes through a graph of prompts, and the one baseline of its own: actions by chance."""

from collections.abc import Mapping

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner.graph import ROLE, NodeAnswered
from planbook.planner.strategies.agentkit.figures import Passes
from planbook.planner.strategies.agentkit.passes import AgentKitOptions, agentkit, roles_of
from planbook.planner.strategies.agentkit.random_choice import RandomOptions, random_choice
from planbook.planner.strategies.base import Method


def _unnamed(options: BaseModel, world: Environment) -> bool:
    """Whether a node of the graph names no role."""
    return ROLE in roles_of(options, world.name)


METHODS: Mapping[str, Method] = {
    "agentkit": Method(
        agentkit,
        AgentKitOptions,
        "a graph of prompts, gone through once a step (AgentKit)",
        (ROLE,),
        sometimes={ROLE: _unnamed},
        named=roles_of,
        spans=(NodeAnswered,),
        figures=(Passes,),
    ),
    "random": Method(random_choice, RandomOptions, "one action after another, by chance; no model"),
}
