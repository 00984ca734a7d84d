"""Plan+Act, which Devil's Advocate is compared with (section 4.1): its questions, no remedies, no turning back."""

from pydantic import BaseModel, Field

from planbook.planner.episode import Episode
from planbook.planner.strategies.advocate.options import AdvocateOptions
from planbook.planner.strategies.advocate.rounds import play_rounds
from planbook.planner.strategies.advocate.stack import use_the_stack


class PlanActOptions(AdvocateOptions):
    """Both: what is shared, and whether a round knows of those before."""

    reflects: bool = Field(
        default=True,
        description="Whether plans after the first are made from what was done and learnt before; false is the "
        "paper's Plan+Act without reflection.",
    )


def plan_act(episode: Episode, options: BaseModel) -> None:
    """Plan, act step by step, and plan anew as soon as an action does not fit its sub-task."""
    chosen = PlanActOptions.model_validate(options)
    play_rounds(episode, chosen, lambda playing: use_the_stack(playing, 0), reflects=chosen.reflects)
