"""Self-refine: write a plan, look at it again, and run what comes of that."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from pydantic import Field

from planbook.planner import Episode, Figures, Method, Options, Payload, Played, Prompts

PROMPTS = Prompts(Path(__file__).parent / "prompts")


class RefineOptions(Options):
    """How often a plan is looked at again."""

    times: int = Field(default=1, ge=0, description="How often a plan is looked at again before it is run.")


class Draft(Payload):
    """A plan that was looked at again."""

    span = "draft"

    number: int
    lines: int = 0
    """Of the code that came of it."""

    @property
    def title(self) -> str:
        """Say which it is."""
        return f"draft {self.number}"


class Drafts(Figures):
    """What ``--json`` has as ``drafts``."""

    key = "drafts"

    drafts: int
    mean_lines: float

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over the episodes of a run."""
        drafts = [draft for played in episodes for draft in played.held(Draft)]
        if not drafts:
            return None
        return cls(drafts=len(drafts), mean_lines=sum(draft.lines for draft in drafts) / len(drafts))

    def tell(self) -> Iterable[str]:
        """Say them in a line."""
        yield f"Looked at again: {self.drafts} drafts of {self.mean_lines:.1f} lines."


def refine(episode: Episode, options: RefineOptions) -> None:
    """Write a plan, improve it, run it."""
    plan = episode.ask("planner", PROMPTS["plan"], goal=episode.task.goal, scene=episode.observation.text)
    for number in range(options.times):
        with episode.span(Draft(number=number)) as span:
            plan = episode.ask("critic", PROMPTS["refine"], history=plan.history)
            span.update(lines=plan.value.code.count("\n") + 1)
    episode.run(plan.value.code, source="planner", thought=plan.value.thought)


method = Method(
    refine,
    RefineOptions,
    "write a plan, improve it, run it",
    ("planner", "critic"),
    templates=PROMPTS.files(),
    spans=(Draft,),
    figures=(Drafts,),
)
