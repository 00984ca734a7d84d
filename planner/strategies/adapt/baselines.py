"""What ADaPT is compared with, on the same executor (section 4.2): ReAct, Try Again, Reflexion and Plan-and-Execute."""

from collections.abc import Sequence

from pydantic import BaseModel

from planbook.planner.episode import Episode
from planbook.planner.roles import FIRST_SAMPLE, Sample
from planbook.planner.strategies.adapt.depth import DepthOptions
from planbook.planner.strategies.adapt.executor import execute, whole_task
from planbook.planner.strategies.adapt.recursion import PlannedOptions, Recursion
from planbook.planner.strategies.base import in_rounds, said_or_nothing
from planbook.planner.templates import PROMPTS

REFLECTOR = "reflector"
REACT_REPLIES_IN = {"textcraft": 60}
"""Where the paper gives ReAct another number of replies than those of a sub-task times d_max (appendix A)."""
TEMPERATURE = 0.7
"""Of the rounds after the first of Try Again (appendix A)."""


def react(episode: Episode, options: BaseModel) -> None:
    """The executor alone, on the whole task, with as many replies as ADaPT has at most in one branch."""
    chosen, world = DepthOptions.model_validate(options), episode.world.name
    replies = chosen.replies(world) * chosen.deepest(world)
    if chosen.iterations is None and chosen.d_max is None:
        replies = REACT_REPLIES_IN.get(world, replies)
    execute(episode, whole_task(episode), chosen, replies)


def plan_and_execute(episode: Episode, options: BaseModel) -> None:
    """Plan once, in more steps, and execute each of them; what fails is not taken apart."""
    recursion = Recursion(episode, PlannedOptions.model_validate(options), 2, detailed=True)
    recursion.decompose(episode.task.goal, 1)


def try_again(episode: Episode, options: BaseModel) -> None:
    """Up to d_max separate rounds; the best counts."""
    chosen, world = DepthOptions.model_validate(options), episode.world.name

    def play(number: int) -> None:
        sample = Sample(number, TEMPERATURE) if number else FIRST_SAMPLE
        execute(episode, whole_task(episode), chosen, chosen.replies(world), sample)

    in_rounds(episode, chosen.deepest(world), play)


def reflexion(episode: Episode, options: BaseModel) -> None:
    """Up to d_max rounds; before each but the first, a lesson from the one before is added to what is known."""
    chosen, world = DepthOptions.model_validate(options), episode.world.name
    lessons: list[str] = []
    begun = 0

    def play(number: int) -> None:
        nonlocal begun
        if number:
            lessons.extend(filter(None, [_lesson(episode, chosen, begun, lessons)]))
            begun = len(episode.cells)
        execute(episode, whole_task(episode), chosen, chosen.replies(world), lessons=lessons)

    in_rounds(episode, chosen.deepest(world), play)


def _lesson(episode: Episode, options: DepthOptions, begun: int, lessons: Sequence[str]) -> str:
    """What a reflector makes of the cells of a failed round; empty if it has nothing to say."""
    with episode.frame("reflect") as frame:
        return said_or_nothing(
            frame.scope,
            REFLECTOR,
            PROMPTS["reflexion/reflect"],
            about=episode.world.about,
            scene=episode.world.scene(),
            goal=episode.task.goal,
            cells=episode.cells[begun:],
            lessons=lessons,
            replies=options.replies(episode.world.name),
            actions_per_reply=options.actions_per_reply,
        )
