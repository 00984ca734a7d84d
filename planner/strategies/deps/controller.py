"""The controller for worlds where a goal is more than one action (DEPS, appendix A.1): a model chooses each action."""

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from planbook.envs import Action
from planbook.planner.action_docs import call_of
from planbook.planner.episode import Episode
from planbook.planner.errors import EpisodeBroken, UnusableReply
from planbook.planner.models.types import Message
from planbook.planner.templates import PROMPTS

CONTROLLER = "controller"
_ANSWER = re.compile(r"(?:.*\banswer(?:\s+is)?\b\s*[:=]?)?\W*(\d{1,4}|done|impossible)\b\W*(.*)", re.IGNORECASE)


class Move(NamedTuple):
    """What a controller decides: an action, by its place from 0; or None to end, and whether the goal is done."""

    number: int | None
    done: bool = False
    why: str = ""


def control(episode: Episode, goal: Action, most: int) -> tuple[bool, str]:
    """Reach a goal by at most so many of the actions that are possible; whether that was done, and what is said of it.

    Raises EpisodeOver if the episode ends on the way.
    """
    world = episode.world
    history: Sequence[Message] = [PROMPTS["deps/controller"].system(about=world.about)]
    seen = episode.steps[-1].observation.text if episode.steps else world.scene()
    with episode.frame("control") as frame:
        for left in reversed(range(most + 1)):
            possible = _possible(episode)
            try:
                answer = frame.scope.ask(
                    CONTROLLER,
                    PROMPTS["deps/control"],
                    read=partial(read_move, count=len(possible)),
                    history=history,
                    goal=call_of(goal),
                    seen=seen,
                    state=world.state(),
                    possible=[call_of(action) for action in possible],
                    left=left,
                )
            except UnusableReply as unusable:
                return False, str(unusable)
            if answer.value.number is None:
                return answer.value.done, answer.value.why
            if left:
                feedback = episode.run(call_of(possible[answer.value.number]), source=CONTROLLER)
                seen, history = episode.steps[-1].observation.text if episode.steps else feedback.text, answer.history
    return False, f"The goal was not reached within {most} actions."


def read_move(text: str, count: int) -> Move:
    """The decision in a reply's last line. Raises ValueError if there is none, or no action of that number."""
    said = [line for line in text.splitlines() if line.strip()]
    found = _ANSWER.match(said[-1]) if said else None
    if found is None:
        raise ValueError(
            "the last line holds no decision; end with 'Answer: ' and a number, 'done' or 'impossible: why'"
        )
    if found[1].isdecimal():
        if not 1 <= int(found[1]) <= count:
            raise ValueError(f"there is no action {found[1]}; the list goes from 1 to {count}")
        return Move(int(found[1]) - 1)
    done = found[1].lower() == "done"
    return Move(None, done, found[2].strip() or ("" if done else "The controller found it impossible."))


def _possible(episode: Episode) -> Sequence[Action]:
    possible = episode.world.possible_actions()
    if possible is None:
        raise EpisodeBroken(
            f"the goals of {episode.world.name} need a controller, and its actions cannot be listed: "
            "the world must implement possible_actions()"
        )
    return possible
