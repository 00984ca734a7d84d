"""The options that a run's method played with, as they came out: where none was given, what that means."""

from pydantic import JsonValue

from planbook.config import Config
from planner import method
from planner.strategies.adapt.depth import DepthOptions
from planner.strategies.adapt.executor import ExecutorOptions
from planner.strategies.agentkit.passes import AgentKitOptions
from planner.strategies.deps.replanning import ReplanningOptions


def chosen_options(config: Config, world: str) -> dict[str, JsonValue]:
    """All of the method's options, those included that follow from the world of that name."""
    options = method(config.planner).options.model_validate(config.planner_options)
    found: dict[str, JsonValue] = options.model_dump(mode="json")
    if isinstance(options, ExecutorOptions):
        found["iterations"] = options.replies(world)
    if isinstance(options, DepthOptions):
        found["d_max"] = options.deepest(world)
    if isinstance(options, ReplanningOptions):
        found |= {"rounds": options.replans}
    if isinstance(options, AgentKitOptions):
        file = options.graph_file(world)
        found |= {"graph": options.graph_name(world), "steps": options.steps or file.steps}
    return found
