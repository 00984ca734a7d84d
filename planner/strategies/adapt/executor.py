"""ADaPT's executor (section 3.1): plan code for one subtask, until it declares the subtask done or failed.

ADaPT and its baselines share it, and its figures: calls, depths, and claims against verdicts.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, Field, JsonValue

from planbook.planner.agent import action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import CellOver, EpisodeOver, NoPlan
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import FIRST_SAMPLE, PLANNER_ROLE, Sample
from planbook.planner.spans import Payload, status_of
from planbook.planner.strategies.base import Figures, Grid, Options, Played, ask_and_run, mean_of, told
from planbook.planner.types import Ending

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

        Larger examples are better than none: they stand in where the environment has no stepwise ones.
        """
        stepwise = STEPWISE if self.actions_per_reply == 1 else {}
        choices = [[stepwise.get(name, name) for name in SHOWN[each]] for each in (self.demonstrations, "hybrid")]
        return next((names for names in choices if set(names) & set(there)), SHOWN["hybrid"])

    def wanted(self, demonstrations: Sequence[str]) -> Sequence[str]:
        """Return the executor's demonstrations, by the option, and the planner's."""
        left_out = set(DEMONSTRATIONS) - set(self.shown(demonstrations))
        return [name for name in demonstrations if name not in left_out]

    def in_force(self, environment: str) -> dict[str, JsonValue]:
        """Return the options with a subtask's replies and actions filled in."""
        replies = self.replies(environment)
        return {**super().in_force(environment), "iterations": replies, "subtask_actions": self.most_actions(replies)}

    def replies(self, environment: str) -> int:
        """Return the number of replies a subtask may take."""
        return self.iterations or REPLIES_IN.get(environment, REPLIES)

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
    if episode.environment.hands_on == "last action":
        return carried
    noted = carried if episode.environment.hands_on == "note" else ""
    return f"{episode.environment.state()} {noted}".rstrip()


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

    told: dict[str, JsonValue] = {"goal": subtask.text, "params": {}, "observation": episode.environment.scene()}
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
        scene=episode.environment.scene(),
        subtask=subtask.text,
        handed=subtask.handed,
        lessons=lessons,
        replies=left(),
    )


def _system(episode: Episode, options: ExecutorOptions) -> Message:
    environment, recall = episode.environment, episode.recall()
    has = recall.demonstrations
    names = options.shown(has.keys())
    shown = [has.get(name, "") for name in names]
    return PROMPTS["executor/system"].system(
        about=environment.about,
        action_docs=action_docs_of(environment),
        actions_per_reply=options.actions_per_reply,
        larger_examples=bool(options.actions_per_reply) and not set(names) & set(STEPWISE.values()),
        demonstrations="\n\n".join(filter(None, shown)),
        knowledge=recall.text,
    )


Given = Sequence[tuple[Ending, Sequence[Subtask]]]


class Claims(BaseModel):
    """Number of subtasks claimed done, claimed failed, or without a claim because the episode ended first."""

    done: int = 0
    failed: int = 0
    none: int = 0


class Audit(BaseModel):
    """Episodes by the claim about the whole task (columns) and by the environment's verdict (rows)."""

    solved: Claims
    not_solved: Claims
    unplayed: int
    """Episodes that were broken or not played. They count as not solved, whatever was claimed."""


class DecompositionFigures(Figures):
    """The figures under ``subtasks`` in ``--json``. Means are over played episodes, rates over all tasks.

    ``claimed_rate`` counts claims of success, and episodes that ended as solved before any claim; ``judged_rate`` is
    the environment's (figure 10 of ADaPT compares the two). ``k_max`` is the deepest depth at which an executor worked,
    over the solved episodes; None if there are none.
    """

    key = "subtasks"

    executor_calls: int
    planner_calls: int
    mean_executor_calls: float
    mean_planner_calls: float
    mean_calls_by_type: dict[str, tuple[float, float]]
    """Mean calls of the executor and of the planner."""
    k_max: float | None
    k_max_by_type: dict[str, float | None]
    audit: Audit
    claimed_rate: float
    judged_rate: float
    executor_claims: Claims
    """Claims about everything given to executors, whole tasks included."""
    planner_claims: Claims
    """Claims about decomposed tasks: whether the parts were enough."""

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over a run; None if no subtask was given."""
        all_played = [(played.ending, played.held(Subtask)) for played in episodes]
        every = [subtask for _, subtasks in all_played for subtask in subtasks]
        if not every:
            return None
        of_type = {
            kind: [each for played, each in zip(episodes, all_played, strict=True) if played.kind == kind]
            for kind in sorted({played.kind for played in episodes})
        }
        calls = Counter(each.by for each in every)
        executor, planner = _calls(all_played)
        audit = _audit(all_played)
        return cls(
            executor_calls=calls[EXECUTOR],
            planner_calls=calls[PLANNER_ROLE],
            mean_executor_calls=executor,
            mean_planner_calls=planner,
            mean_calls_by_type={kind: _calls(played) for kind, played in of_type.items()},
            k_max=_deepest(all_played),
            k_max_by_type={kind: _deepest(played) for kind, played in of_type.items()},
            audit=audit,
            claimed_rate=(audit.solved.done + audit.not_solved.done + audit.solved.none) / len(episodes),
            judged_rate=sum(audit.solved.model_dump().values()) / len(episodes),
            executor_claims=_claims(each.done for each in every if each.by == EXECUTOR),
            planner_claims=_claims(each.done for each in every if each.by == PLANNER_ROLE),
        )

    def tell(self) -> Iterable[str | Grid]:
        """Return claims about whole tasks against verdicts, then calls and depths, then claims about subtasks."""
        audit = self.audit
        claims = [("solved", audit.solved), ("not solved", audit.not_solved)]
        rows = [(name, str(said.done), str(said.failed), str(said.none)) for name, said in claims]
        if audit.unplayed:
            rows.append(("broken or not played", "", "", str(audit.unplayed)))
        columns = ("claimed done", "claimed failed", "no claim: the episode ended first")
        yield Grid("Whole tasks: the last claim, and the environment's verdict", "verdict", columns, rows)
        by_type = ", ".join(f"{kind} {told(depth)}" for kind, depth in self.k_max_by_type.items())
        yield (
            f"Sub-tasks per task: executor {self.mean_executor_calls:.1f}, planner "
            f"{self.mean_planner_calls:.1f}; deepest level of a solved task (k_max): {told(self.k_max)}, "
            f"by type {by_type}."
        )
        yield (
            f"Solved as claimed {self.claimed_rate:.1%}, as judged {self.judged_rate:.1%}; tasks that the environment "
            "ended as solved before any claim count in both."
        )
        executor, planner = self.executor_claims, self.planner_claims
        yield (
            f"Executors said done {executor.done}, failed {executor.failed}, nothing {executor.none}; of what was "
            f"taken apart, the parts were enough {planner.done}, not enough {planner.failed}, cut short {planner.none}."
        )


def _top_claim(subtasks: Sequence[Subtask]) -> bool | None:
    """Return what was said of the whole task last: of several rounds the last one counts."""
    return next((each.done for each in reversed(subtasks) if each.depth == TOP), None)


def _calls(played: Given) -> tuple[float, float]:
    """Return the mean number of calls of executor and planner over the played episodes."""
    calls = Counter(each.by for _, subtasks in played for each in subtasks)
    episodes = max(1, sum(ending.outcome.played for ending, _ in played))
    return round(calls[EXECUTOR] / episodes, 2), round(calls[PLANNER_ROLE] / episodes, 2)


def _deepest(played: Given) -> float | None:
    depths = [
        max((each.depth for each in subtasks if each.by == EXECUTOR), default=TOP)
        for ending, subtasks in played
        if ending.outcome.solved
    ]
    return mean_of(depths)


def _audit(played: Given) -> Audit:
    said: dict[bool, list[bool | None]] = {True: [], False: []}
    for ending, subtasks in played:
        if ending.outcome.played:
            said[ending.outcome.solved].append(_top_claim(subtasks))
    unplayed = len(played) - sum(map(len, said.values()))
    return Audit(solved=_claims(said[True]), not_solved=_claims(said[False]), unplayed=unplayed)


def _claims(said: Iterable[bool | None]) -> Claims:
    counts = Counter(said)
    return Claims(done=counts[True], failed=counts[False], none=counts[None])
