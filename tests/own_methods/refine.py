"""Self-refine: write a plan, look at it again, and run what comes of that."""

from pathlib import Path

from pydantic import Field

from planbook.planner import Episode, Method, Options, Prompts

PROMPTS = Prompts(Path(__file__).parent / "prompts")


class RefineOptions(Options):
    """How often a plan is looked at again."""

    times: int = Field(default=1, ge=0, description="How often a plan is looked at again before it is run.")


def refine(episode: Episode, options: RefineOptions) -> None:
    """Write a plan, improve it, run it."""
    plan = episode.ask("planner", PROMPTS["plan"], goal=episode.task.goal, scene=episode.observation.text)
    for _ in range(options.times):
        plan = episode.ask("critic", PROMPTS["refine"], history=plan.history)
    episode.run(plan.value.code, source="planner", thought=plan.value.thought)


method = Method(
    refine, RefineOptions, "write a plan, improve it, run it", ("planner", "critic"), templates=PROMPTS.files()
)
