"""ADaPT's executor (section 3.1): plan code for one subtask, until it declares the subtask done or failed.

ADaPT and its baselines share it.
"""

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from planbook.planner.agent import action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import CellOver, EpisodeOver, NoPlan
from planbook.planner.models.types import Message
from planbook.planner.roles import FIRST_SAMPLE, Sample
from planbook.planner.spans import Payload, status_of
from planbook.planner.strategies.base import Options, ask_and_run
from planbook.planner.templates import PROMPTS

EXECUTOR = "executor"
TOP = 1
"""Depth of the whole task."""
CLAIMS = "whoever had the whole task"
REPLIES, REPLIES_IN = 20, {"shopping": 15}
"""Number of replies a subtask may take (appendix A): the default, and by environment."""
ACTIONS_FOR_EACH = 10
"""Number of actions a subtask may take for each of its replies, so that one subtask cannot use up the episode's."""
SHOWN = {"task": ("task",), "hybrid": ("atomic", "common"), "atomic": ("atomic",)}
"""Demonstrations shown to an executor for each value of its option ``demonstrations`` (section 6.2).

An environment without demonstrations by task type shows those of ``hybrid``.
"""
STEPWISE = {"atomic": "stepwise", "common": "stepwise_common", "task": "stepwise_task"}
"""Demonstrations shown instead if a reply takes one action."""
DEMONSTRATIONS = ("atomic", "common", "task", *STEPWISE.values())


class ExecutorOptions(Options):
    """Options of every method that uses this executor, which is limited by replies rather than actions."""

    usual_actions: ClassVar[int | None] = 1_000

    iterations: int | None = Field(
        default=None, ge=1, description=f"Replies for each sub-task; null is the paper's number: {REPLIES} in general."
    )
    actions_per_reply: int | None = Field(
        default=None,
        ge=1,
        description="Actions that the code of one reply may take: 1 is the paper's; null is as many as it needs.",
    )
    subtask_actions: int | None = Field(
        default=None,
        ge=1,
        description=f"Actions that a sub-task may take in all; null is {ACTIONS_FOR_EACH} for each of its replies.",
    )
    demonstrations: Literal["task", "hybrid", "atomic"] = Field(
        default="hybrid",
        description="Whole tasks of the same type, atomic skills and two whole tasks, or atomic skills alone.",
    )

    def shown(self, there: Collection[str]) -> Sequence[str]:
        """Return the names of the executor's demonstrations, of those that are there.

        Larger examples are better than none: they stand in where the world has no stepwise ones.
        """
        stepwise = STEPWISE if self.actions_per_reply == 1 else {}
        choices = [[stepwise.get(name, name) for name in SHOWN[each]] for each in (self.demonstrations, "hybrid")]
        return next((names for names in choices if set(names) & set(there)), SHOWN["hybrid"])

    def wanted(self, demonstrations: Sequence[str]) -> Sequence[str]:
        """Return the executor's demonstrations, by the option, and the planner's."""
        left_out = set(DEMONSTRATIONS) - set(self.shown(demonstrations))
        return [name for name in demonstrations if name not in left_out]

    def in_force(self, world: str) -> dict[str, JsonValue]:
        """Return the options with a subtask's replies and actions filled in."""
        replies = self.replies(world)
        return {**super().in_force(world), "iterations": replies, "subtask_actions": self.most_actions(replies)}

    def replies(self, world: str) -> int:
        """Return the number of replies a subtask may take."""
        return self.iterations or REPLIES_IN.get(world, REPLIES)

    def most_actions(self, replies: int) -> int:
        """Return how many actions a sub-task of so many replies may take."""
        return self.subtask_actions or ACTIONS_FOR_EACH * replies


class Subtask(Payload):
    """A task given to an executor or a planner, and its final claim."""

    span = "subtask"

    by: str = EXECUTOR
    """The role that took it."""
    text: str
    depth: int = TOP
    done: bool | None = None
    """The claim; None while in progress, or if the episode ended first."""
    note: str = ""
    handed: str = ""
    """What it was told about work done before."""
    replies: int = 0

    @property
    def title(self) -> str:
        """Name it, and who took it."""
        return f"{self.text} ({self.by})"

    @property
    def status(self) -> str:
        """Say what was said of it."""
        return status_of(self.done)


def claimed(episode: Episode, subtask: Subtask) -> Subtask:
    """Return the sub-task; what was said of the whole task is a claim of the method."""
    if subtask.depth == TOP:
        episode.claim(subtask.done, CLAIMS)
    return subtask


def handed_on(episode: Episode, carried: str = "") -> str:
    """Return what the next executor is told about work done before it (section 3.3, appendix A).

    ``carried`` is the last action, or the last note, of the executors before.
    """
    if episode.world.hands_on == "last action":
        return carried
    noted = carried if episode.world.hands_on == "note" else ""
    return f"{episode.world.state()} {noted}".rstrip()


def whole_task(episode: Episode) -> Subtask:
    """Return the task itself as a subtask."""
    return Subtask(text=episode.task.goal, handed=handed_on(episode))


def execute(
    episode: Episode,
    subtask: Subtask,
    options: ExecutorOptions,
    replies: int,
    sample: Sample = FIRST_SAMPLE,
    lessons: Sequence[str] = (),
) -> Subtask:
    """Let the executor work on a subtask in a namespace of its own, and return it with its claim.

    Without a claim in time it has failed. ``lessons`` describe earlier failures.
    """
    said: list[Subtask] = []
    begun, most_actions = len(episode.steps), options.most_actions(replies)

    def finish(done: bool, note: str = "") -> None:
        """End your work on this sub-task and say whether it is done."""
        said.append(Subtask.model_validate({**dict(subtask), "done": done, "note": note}))
        raise CellOver(f"finish({done}) was called; that ends the work.")

    told: dict[str, JsonValue] = {"goal": subtask.text, "params": {}, "observation": episode.world.scene()}
    with episode.frame("execute", {"finish": finish}, episode.recall().helpers, task=told) as frame:
        span = frame.scope.span(subtask)

        def end(done: bool | None, note: str) -> Subtask:
            return claimed(episode, span.end(done=done, note=note, replies=frame.scope.asked))

        try:

            def left() -> int:
                return 0 if said or actions_left() == 0 else replies - frame.scope.asked

            def actions_left() -> int:
                return max(0, most_actions + begun - len(episode.steps))

            def actions() -> int:
                return min(options.actions_per_reply or most_actions, actions_left())

            _work(episode, subtask, lessons, options, sample, left, actions)
        except NoPlan as none:
            return end(False, str(none))
        except EpisodeOver as over:
            end(None, str(over))
            raise
        within = f"{replies} replies" if actions_left() else f"{most_actions} actions"
        return end(said[-1].done, said[-1].note) if said else end(False, f"no finish() within {within}")


def _work(
    episode: Episode,
    subtask: Subtask,
    lessons: Sequence[str],
    options: ExecutorOptions,
    sample: Sample,
    left: Callable[[], int],
    actions: Callable[[], int],
) -> None:
    """Ask for plan code, run it, feed back, while replies and actions are left."""
    ask_and_run(
        episode,
        EXECUTOR,
        PROMPTS["executor/task"],
        PROMPTS["executor/feedback"],
        left,
        history=[_system(episode, options)],
        sample=sample,
        actions=actions,
        scene=episode.world.scene(),
        subtask=subtask.text,
        handed=subtask.handed,
        lessons=lessons,
        replies=left(),
    )


def _system(episode: Episode, options: ExecutorOptions) -> Message:
    world, recall = episode.world, episode.recall()
    has = recall.demonstrations
    names = options.shown(has.keys())
    shown = [has.get(name, "") for name in names]
    return PROMPTS["executor/system"].system(
        about=world.about,
        action_docs=action_docs_of(world),
        actions_per_reply=options.actions_per_reply,
        larger_examples=bool(options.actions_per_reply) and not set(names) & set(STEPWISE.values()),
        demonstrations="\n\n".join(filter(None, shown)),
        knowledge=recall.text,
    )
