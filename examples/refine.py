from collections.abc import Iterable, Sequence
from typing import Self

from pydantic import Field

from planbook.planner import Episode, Figures, Method, Options, Payload, Played, Prompts, action_docs

PROMPTS = Prompts.of(
    plan="""Task: {{ goal }}
{{ scene }}
{% for each in docs.actions %}agent.{{ each.name }}{{ each.signature }}: {{ each.doc }}
{% endfor %}Write Python that does it.""",
    refine="Look at your plan again, and write it better.",
)


class RefineOptions(Options):
    """Options are fields; --planner-option times=2 sets one."""

    times: int = Field(default=1, ge=0, description="How often a plan is revised before it is run.")


class Draft(Payload):
    """A part of the method's own structure, for reports."""

    span = "draft"

    number: int
    lines: int = 0

    @property
    def title(self) -> str:
        return f"draft {self.number}"


class Drafts(Figures):
    """What the method counts over a run; --json lists it under ``key``."""

    key = "drafts"

    drafts: int
    mean_lines: float

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        drafts = [draft for played in episodes for draft in played.held(Draft)]
        return cls(drafts=len(drafts), mean_lines=sum(d.lines for d in drafts) / len(drafts)) if drafts else None

    def tell(self) -> Iterable[str]:
        yield f"Revised: {self.drafts} drafts of {self.mean_lines:.1f} lines."


def refine(episode: Episode, options: RefineOptions) -> None:
    docs = action_docs(type(episode.environment), episode.environment.options)
    plan = episode.ask("planner", PROMPTS["plan"], goal=episode.task.goal, scene=episode.observation.text, docs=docs)
    for number in range(options.times):
        with episode.span(Draft(number=number)) as span:
            plan = episode.ask("critic", PROMPTS["refine"], history=plan.history)
            span.update(lines=plan.value.code.count("\n") + 1)
    episode.run(plan.value.code, source="planner", thought=plan.value.thought)


method = Method(
    refine, RefineOptions, "write a plan, improve it, run it", ("planner", "critic"), spans=(Draft,), figures=(Drafts,)
)
