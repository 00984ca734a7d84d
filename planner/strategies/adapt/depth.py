"""How deep ADaPT takes tasks apart, which is also how much work its baselines are given (section 4.2)."""

from pydantic import Field, JsonValue

from planbook.planner.strategies.adapt.executor import ExecutorOptions

DEPTH, DEPTH_IN = 3, {"textcraft": 4}
"""How deep tasks are taken apart (section 4.2): in general, and in some worlds."""


class DepthOptions(ExecutorOptions):
    """For ADaPT, and for those that are given as much work as it has at most. Every level waits in its own process."""

    d_max: int | None = Field(
        default=None,
        ge=1,
        le=20,
        description="The depth at which nothing is taken apart: 1 never asks adapt's planner. react has the replies of "
        "so many sub-tasks, try-again and reflexion play so many rounds. null is the paper's number: "
        f"{DEPTH}; {', '.join(f'{depth} on {world}' for world, depth in DEPTH_IN.items())}.",
    )

    def in_force(self, world: str) -> dict[str, JsonValue]:
        """With the depth."""
        return {**super().in_force(world), "d_max": self.deepest(world)}

    def deepest(self, world: str) -> int:
        """The depth at which the planner is not asked."""
        return self.d_max or DEPTH_IN.get(world, DEPTH)
