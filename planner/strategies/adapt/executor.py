"""The executor of the ADaPT paper (section 3.1): a model that works on one subtask until it reports success or failure.

ADaPT and its baselines share the executor and its figures (statistics of a run): numbers of calls, and depths of
decomposition.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field, JsonValue

from planbook.planner.episode import Episode
from planbook.planner.errors import CellOver, EpisodeOver, NoPlan, PlansRefused
from planbook.planner.journal import Payload, Span, status_of
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import FIRST_SAMPLE, PLANNER_ROLE, Sample
from planbook.planner.strategies.base import Options, ask_and_run, system_message
from planbook.planner.strategies.figures import Figures, PlayedEpisode, format_figure, mean_of
from planbook.planner.types import Step

EXECUTOR = "executor"
TOP = 1
"""Depth of the whole task."""
CLAIM_AUTHOR = "the agent with the whole task"
REPLIES, REPLIES_BY_ENVIRONMENT = 20, {"shopping": 15}
"""Number of replies for a subtask (appendix A): by default, and in environments with a different number."""
REPLY_ACTIONS = 10
"""Maximum number of actions of a subtask per allowed reply, so that it cannot use up the episode's actions."""
DEMONSTRATIONS_BY_OPTION = {"task": ("task",), "hybrid": ("atomic", "common"), "atomic": ("atomic",)}
"""Maps each value of the option ``demonstrations`` to the names of the demonstrations that are shown (section 6.2).

If an environment has none of these demonstrations, those for the value ``hybrid`` are shown.
"""
STEPWISE = {"atomic": "stepwise", "common": "stepwise_common", "task": "stepwise_task"}
"""Maps each demonstration to the stepwise one that replaces it if each reply takes only one action."""
DEMONSTRATIONS = ("atomic", "common", "task", *STEPWISE.values())


class ExecutorOptions(Options):
    """Options of all methods that use this executor. Many actions are allowed, since replies limit the executor."""

    default_actions: ClassVar[int | None] = 1_000

    iterations: int | None = Field(
        default=None,
        ge=1,
        description=f"Maximum number of replies for a subtask; null means the paper's number, which is {REPLIES} for "
        "most environments. In the paper, a thought counts as much as an action; here, a reply may hold both.",
    )
    actions_per_reply: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of actions for the code of one reply: the paper uses 1; null means no limit.",
    )
    demonstrations: Literal["task", "hybrid", "atomic"] = Field(
        default="hybrid",
        description="Demonstrations to show: 'task' for whole tasks of the same type, 'hybrid' for atomic skills and "
        "one or two whole tasks, 'atomic' for atomic skills alone.",
    )

    def shown_demonstrations(self, available: Collection[str]) -> Sequence[str]:
        """Return the names of the demonstrations that the executor sees. ``available`` are those of the environment.

        If the environment has no stepwise demonstrations where they are needed, the executor sees larger ones.
        """
        stepwise = STEPWISE if self.actions_per_reply == 1 else {}
        choices = [
            [stepwise.get(name, name) for name in DEMONSTRATIONS_BY_OPTION[option]]
            for option in (self.demonstrations, "hybrid")
        ]
        return next((names for names in choices if set(names) & set(available)), DEMONSTRATIONS_BY_OPTION["hybrid"])

    def wanted_demonstrations(self, demonstrations: Sequence[str]) -> Sequence[str]:
        """Return ``demonstrations`` without those that the executor does not see with these options."""
        left_out = set(DEMONSTRATIONS) - set(self.shown_demonstrations(demonstrations))
        return [name for name in demonstrations if name not in left_out]

    def effective_values(self, environment: str) -> dict[str, JsonValue]:
        """Map each option to its effective value, including the number of replies."""
        return {**super().effective_values(environment), "iterations": self.replies(environment)}

    def replies(self, environment: str) -> int:
        """Return the maximum number of replies for a subtask."""
        return self.iterations or REPLIES_BY_ENVIRONMENT.get(environment, REPLIES)


class Subtask(Payload):
    """A subtask on which the executor or the planner worked, and that role's final claim about it."""

    span = "subtask"

    by: str = EXECUTOR
    """The role that worked on the subtask."""
    text: str
    depth: int = TOP
    """1 for the whole task, 2 for its parts, 3 for the parts of these parts, and so on."""
    done: bool | None = None
    """The claim: True if the subtask is achieved, False if it failed. None if there is no claim (yet).

    There is no claim if the episode ended first, unless the agent ended it itself (``Environment.submits``).
    """
    note: str = ""
    """The final note of the role that worked on the subtask."""
    gave_up: bool = Field(default=False, exclude_if=lambda gave_up: not gave_up)
    """True if the role made no claim within its limits, or gave no usable plan. The subtask counts as failed."""
    handed: str = ""
    """The report on earlier work that the executor received."""
    replies: int = 0

    @property
    def title(self) -> str:
        """The text of the subtask, and the role that worked on it."""
        return f"{self.text} ({self.by})"

    @property
    def claim(self) -> bool | None:
        """The role's claim, or None if it made none."""
        return None if self.gave_up else self.done

    @property
    def status(self) -> str:
        """The claim as a status."""
        return status_of(self.done)


def end_span(episode: Episode, span: Span[Subtask], **changes: object) -> Subtask:
    """End the span of a subtask, and return the subtask with its final fields.

    If the subtask is the whole task, its claim is also recorded as the claim of the method.
    """
    subtask = span.end(**changes)
    if subtask.depth == TOP:
        episode.claim(subtask.claim, CLAIM_AUTHOR)
    return subtask


def claim_of_ending(episode: Episode) -> bool | None:
    """Return the claim for a subtask during which the episode ended: True if the agent ended it itself, else None."""
    environment = episode.environment
    return True if environment.answered or (environment.submits and environment.ended) else None


def handover(episode: Episode, carried: str = "") -> str:
    """Return the report on earlier work for the next executor (section 3.3 and appendix A).

    ``carried`` is the last action of the last successful executor, or the final notes of all of them. The environment's
    ``handoff`` says whether the report contains the last action, the environment's state, or the state and the notes.
    A report on the last action also contains the state if a later action had an effect and was not undone.
    """
    environment = episode.environment
    if environment.handoff == "last action":
        is_last = last_action(episode.steps) in ("", carried)
        return carried if is_last else f"{carried} {environment.state()}".strip()
    return f"{environment.state()} {carried if environment.handoff == 'note' else ''}".rstrip()


def last_action(steps: Sequence[Step]) -> str:
    """Return the last action that had an effect and was not undone, with its observation; "" if there is none."""
    effective_steps = (step for step in reversed(steps) if step.observation.accepted and not step.undone)
    last_step = next(effective_steps, None)
    return f"agent.{last_step.action} -> {last_step.observation.text}" if last_step else ""


def whole_task(episode: Episode) -> Subtask:
    """Return the whole task as a subtask of depth 1."""
    return Subtask(text=episode.task.goal, handed=handover(episode))


def execute(
    episode: Episode,
    subtask: Subtask,
    options: ExecutorOptions,
    replies: int,
    sample: Sample = FIRST_SAMPLE,
    lessons: Sequence[str] = (),
) -> Subtask:
    """Let the executor work on a subtask in its own namespace. Return the subtask with the executor's claim.

    If the executor makes no claim within its limits, or if too many of its plans in a row fail the check, the subtask
    counts as failed. ``lessons`` are texts about earlier failures, for the prompt.
    """
    claims: list[Subtask] = []
    first_step, max_actions = len(episode.steps), REPLY_ACTIONS * replies
    episode.refused_plans = 0
    task: dict[str, JsonValue] = {"goal": subtask.text, "params": {}, "observation": episode.environment.scene()}
    functions = {"finish": _finish(claims, subtask)}
    with episode.frame("execute", functions, episode.recall().helpers, task=task) as frame:
        span = frame.scope.span(subtask)

        def end(done: bool | None, note: str, *, gave_up: bool = False) -> Subtask:
            return end_span(episode, span, done=done, gave_up=gave_up, note=note, replies=frame.scope.reply_count)

        def actions_left() -> int:
            return max(0, max_actions + first_step - len(episode.steps))

        try:
            ask_and_run(
                episode,
                EXECUTOR,
                PROMPTS["executor/task"],
                PROMPTS["executor/feedback"],
                lambda: 0 if claims or actions_left() == 0 else replies - frame.scope.reply_count,
                history=[_system(episode, options)],
                sample=sample,
                actions=lambda: min(options.actions_per_reply or max_actions, actions_left()),
                scene=episode.environment.scene(),
                subtask=subtask.text,
                handed=subtask.handed,
                lessons=lessons,
                replies=replies,
            )
        except (NoPlan, PlansRefused) as unusable:
            return end(False, str(unusable), gave_up=True)
        except EpisodeOver as over:
            end(claim_of_ending(episode), str(over))
            raise
        if claims:
            return end(claims[-1].done, claims[-1].note)
        within = f"{replies} replies" if actions_left() else f"{max_actions} actions"
        return end(False, f"finish() was not called within {within}", gave_up=True)


def _finish(claims: list[Subtask], subtask: Subtask) -> Callable[..., None]:
    """Return the function with which the executor ends its work. It appends the claim to ``claims``."""

    def finish(done: bool, note: str = "") -> None:
        """End your work on this subtask and say whether it is done."""
        claims.append(Subtask.model_validate({**dict(subtask), "done": done, "note": note}))
        raise CellOver(f"finish({done}) was called; that ends the work.")

    return finish


def _system(episode: Episode, options: ExecutorOptions) -> Message:
    recall = episode.recall()
    names = options.shown_demonstrations(recall.demonstrations.keys())
    texts = [recall.demonstrations.get(name, "") for name in names]
    return system_message(
        episode,
        "executor/system",
        actions_per_reply=options.actions_per_reply,
        larger_examples=bool(options.actions_per_reply) and not set(names) & set(STEPWISE.values()),
        demonstrations="\n\n".join(filter(None, texts)),
    )


EpisodesWithSubtasks = Sequence[tuple[PlayedEpisode, Sequence[Subtask]]]


class DecompositionFigures(Figures):
    """The figures under ``subtasks`` in ``--json``. Means are taken over the episodes that were played."""

    key = "subtasks"

    mean_executor_calls: float
    mean_planner_calls: float
    k_max: float | None
    """Mean over the solved episodes of the greatest depth at which an executor worked. None if no task was solved."""
    k_max_by_type: dict[str, float | None]
    """Maps each task type to its ``k_max``."""

    @classmethod
    def count(cls, episodes: Sequence[PlayedEpisode]) -> Self | None:
        """Compute the figures of a run. Return None if there were no subtasks."""
        pairs = [(episode, episode.payloads(Subtask)) for episode in episodes]
        if not any(subtasks for _, subtasks in pairs):
            return None
        played = [subtasks for episode, subtasks in pairs if episode.ending.outcome.played]
        calls = Counter(subtask.by for subtasks in played for subtask in subtasks)
        types = sorted({episode.kind for episode in episodes})
        return cls(
            mean_executor_calls=round(calls[EXECUTOR] / max(1, len(played)), 2),
            mean_planner_calls=round(calls[PLANNER_ROLE] / max(1, len(played)), 2),
            k_max=_k_max(pairs),
            k_max_by_type={name: _k_max([pair for pair in pairs if pair[0].kind == name]) for name in types},
        )

    def describe(self) -> Iterable[str]:
        """Yield a sentence on calls and depths, unless no planner was asked."""
        if self.mean_planner_calls > 0:
            by_type = ", ".join(f"{kind} {format_figure(depth)}" for kind, depth in self.k_max_by_type.items())
            yield (
                f"Subtasks per task: executor {format_figure(self.mean_executor_calls)}, planner "
                f"{format_figure(self.mean_planner_calls)}; deepest level of a solved task (k_max): "
                f"{format_figure(self.k_max)}, by type {by_type}."
            )


def _k_max(pairs: EpisodesWithSubtasks) -> float | None:
    """Return the mean over the solved episodes of the greatest depth at which an executor worked."""
    return mean_of(
        max((subtask.depth for subtask in subtasks if subtask.by == EXECUTOR), default=TOP)
        for episode, subtasks in pairs
        if episode.ending.outcome.solved
    )
