"""Devil's Advocate (section 3.3, algorithm 1): before each action, what to do instead of it; the rest is a stack."""

from pydantic import BaseModel, Field

from planbook.planner.episode import Episode
from planbook.planner.strategies.advocate.options import AdvocateOptions
from planbook.planner.strategies.advocate.playing import Playing
from planbook.planner.strategies.advocate.rounds import play_rounds
from planbook.planner.strategies.advocate.tree import Branch, Moment


class DevilsAdvocateOptions(AdvocateOptions):
    """Both: what is shared, and how often the advocate argues against an idea."""

    remedies: int = Field(
        default=2,
        ge=0,
        le=10,
        description="What to do instead, so many times, asked for before each action; 0 never turns back.",
    )


def devils_advocate(episode: Episode, options: BaseModel) -> None:
    """Plan, act with remedies at hand, turn back where an action does not fit its sub-task; then plan anew."""
    chosen = DevilsAdvocateOptions.model_validate(options)
    play_rounds(episode, chosen, lambda playing: use_the_stack(playing, chosen.remedies))


def use_the_stack(playing: Playing, remedies: int) -> None:
    """Carry a plan out. Returns when nothing is left to try; raises EpisodeOver when the task is held complete.

    An entry of the stack is a moment and what to try there, which at the beginning is nothing. A moment was marked if
    it has more than one entry. Whatever lies above an entry belongs to later moments, so when a mark is gone back to,
    every mark that this forgets has been used up.
    """
    stack: list[tuple[Moment, Branch | None]] = [(playing.start, None)]
    while stack:
        moment, branch = stack.pop()
        if moment is not playing.here:
            playing.return_to(moment)
        if branch is not None:
            after = follow(playing, moment, branch)
            if after is None:
                continue
            moment = after
        if playing.counsel.task_done(moment):
            playing.finish(moment)
        if playing.counsel.subtask_done(moment):
            moment.subtask += 1
        if moment.subtask < len(playing.counsel.parts):
            ideas = playing.ideas(moment, remedies)
            if len(ideas) > 1:
                playing.mark(moment)
            stack += [(moment, idea) for idea in reversed(ideas)]


def follow(playing: Playing, moment: Moment, branch: Branch) -> Moment | None:
    """Carry a branch out and judge it by its sub-task; where it leads, or None if that is not where to go."""
    after = playing.carry_out(moment, branch)
    if after is None:
        return None
    judged = playing.counsel.aligned(moment, branch.mapped or branch.code, after)
    branch.history, branch.why = judged.did, judged.why
    if not judged.value:
        branch.fate = "turned back"
        return None
    playing.keep(branch, after)
    return after
