from collections.abc import Iterable, Sequence
from typing import Self

from pydantic import Field

from planbook.planner import Episode, Figures, Method, Options, Payload, PlayedEpisode, Prompts, action_docs

PROMPTS = Prompts.of(
    plan="""Task: {{ goal }}
{{ scene }}
{% for action in docs.actions %}agent.{{ action.name }}{{ action.signature }}: {{ action.doc }}
{% endfor %}Write Python that does it.""",
    refine="Look at your plan again, and write it better.",
)


class RefineOptions(Options):
    """The options of the method. For example, --planner-option times=2 sets the option ``times``."""

    times: int = Field(default=1, ge=0, description="How often a plan is revised before it is run.")


class Draft(Payload):
    """One revision of the plan, as reports show it."""

    span = "draft"

    number: int
    lines: int = 0

    @property
    def title(self) -> str:
        return f"draft {self.number}"


class Drafts(Figures):
    """Statistics of the method over a whole run. The output of --json has them under the name in ``key``."""

    key = "drafts"

    drafts: int
    mean_lines: float

    @classmethod
    def count(cls, episodes: Sequence[PlayedEpisode]) -> Self | None:
        drafts = [draft for played in episodes for draft in played.payloads(Draft)]
        return cls(drafts=len(drafts), mean_lines=sum(d.lines for d in drafts) / len(drafts)) if drafts else None

    def describe(self) -> Iterable[str]:
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
