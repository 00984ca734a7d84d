"""ADaPT, which decomposes a task into subtasks when its execution fails, and the baselines of the ADaPT paper.

Numbers of sections and appendices refer to the paper. A branch leads from the whole task through its subtasks down to
one that is not decomposed. The baselines may use as many model replies as ADaPT can use in one branch (section 4.2).

- ``executor`` lets a model work on one subtask. All methods of this package share it.
- ``order`` reads a plan of subtasks that are combined by AND and OR.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import Field, JsonValue

from planbook.envs import Environment
from planbook.planner.episode import Episode
from planbook.planner.errors import CellOver, EpisodeOver, NoPlan, UnusableReply, environment_errors
from planbook.planner.frames import Functions
from planbook.planner.prompts import PROMPTS
from planbook.planner.replies import as_text
from planbook.planner.roles import FIRST_SAMPLE, PLANNER_ROLE, Sample
from planbook.planner.scope import Scope
from planbook.planner.strategies.adapt.executor import (
    CLAIM_AUTHOR,
    DEMONSTRATIONS,
    EXECUTOR,
    TOP,
    DecompositionFigures,
    ExecutorOptions,
    Subtask,
    claim_of_ending,
    end_span,
    execute,
    handover,
    last_action,
    whole_task,
)
from planbook.planner.strategies.adapt.order import Decomposition, read_decomposition
from planbook.planner.strategies.base import Method, ask_or_default, play_in_rounds, system_message
from planbook.planner.types import Thought

DEPTH, DEPTH_BY_ENVIRONMENT = 3, {"textcraft": 4}
"""Maximum depth of decomposition (section 4.2): by default, and in environments with a different depth."""


class DepthOptions(ExecutorOptions):
    """Options of ADaPT, and of methods that may use as many replies as ADaPT can use in one branch.

    Each open level of decomposition occupies a sandbox process.
    """

    d_max: int | None = Field(
        default=None,
        ge=1,
        le=20,
        description="Depth at which nothing more is decomposed: with 1, adapt never asks its planner. react gets "
        "the replies of d_max subtasks (on textcraft, if both numbers are the paper's, 60, as in its appendix A; the "
        "rule in its section 4.2 gives 80); try-again and reflexion play d_max rounds. null means the paper's number: "
        f"{DEPTH}; {', '.join(f'{depth} on {environment}' for environment, depth in DEPTH_BY_ENVIRONMENT.items())}.",
    )

    def effective_values(self, environment: str) -> dict[str, JsonValue]:
        """Map each option to its effective value, including the depth."""
        return {**super().effective_values(environment), "d_max": self.max_depth(environment)}

    def max_depth(self, environment: str) -> int:
        """Return the depth at which nothing is decomposed."""
        return self.d_max or DEPTH_BY_ENVIRONMENT.get(environment, DEPTH)


MAX_NOTES = 10
"""Maximum number of notes that executors hand on."""
PLANNING, PLANNING_DETAILED = "planning", "planning_detailed"


class PlannedOptions(ExecutorOptions):
    """Options of methods in which a planner decomposes tasks for the executor."""

    informed_planner: bool = Field(
        default=False,
        description="Show the planner the state, why the executor gave up, and how many replies and actions it has for "
        "a subtask. The paper's planner sees only the scene and, in the web shop, the subtasks that have failed.",
    )
    restore_failed: bool = Field(
        default=False,
        description="When the executor fails, undo its actions, as the paper's authors do except on textcraft.",
    )


class AdaptOptions(PlannedOptions, DepthOptions):
    """Options of ADaPT, which may ask its planner at every level except the deepest."""


def adapt(episode: Episode, options: AdaptOptions) -> None:
    """Let the executor try the task. If it fails, decompose the task, and treat each subtask in the same way."""
    Recursion(episode, options, options.max_depth(episode.environment.name)).achieve(episode.task.goal, 1)


class Recursion:
    """The paper's controller (section 3.3). It chooses subtasks to decompose, and hands results to the next executor.

    The whole task has depth 1. A subtask at depth ``max_depth`` is not decomposed. With ``detailed``, the planner sees
    demonstrations of more detailed plans.
    """

    def __init__(self, episode: Episode, options: PlannedOptions, max_depth: int, *, detailed: bool = False) -> None:
        self._episode, self._options, self._max_depth, self._detailed = episode, options, max_depth, detailed
        self._replies = options.replies(episode.environment.name)
        self._carried: tuple[str, ...] = ()
        """Reports of successful executors for the next one: the last action of the last, or the final notes of all."""
        self._failed: list[str] = []
        """The subtasks at which the executor has failed."""

    def achieve(self, subtask: str, depth: int) -> bool:
        """Work on a subtask. Return True if the executor claims that it is achieved, or if its parts were achieved.

        If the subtask fails, nothing from the work on it is handed to the next executor.
        """
        carried_before = self._carried
        claim = self._execute(subtask, depth)
        done = bool(claim.done) or (depth < self._max_depth and self.decompose(subtask, depth, claim.note))
        if not done:
            self._carried = carried_before
        return done

    def decompose(self, subtask: str, depth: int, note: str = "") -> bool:
        """Ask the planner to split a subtask into smaller ones, and try them. Return True if the subtask is achieved.

        ``note`` is the final note of the executor that gave up. Raises NoPlan if the subtask is the whole task and no
        reply of the planner is usable.
        """
        results: list[bool] = []
        with self._episode.frame("plan", self._functions(depth, results)) as frame:
            span = frame.scope.span(Subtask(by=PLANNER_ROLE, text=subtask, depth=depth))
            end = partial(end_span, self._episode, span)
            try:
                plan = self._plan(frame.scope, subtask, depth, note)
                self._episode.run(plan.code, source=PLANNER_ROLE, thought=Thought(text=plan.thought))
            except UnusableReply as unusable:
                end(done=False, gave_up=True, note=str(unusable))
                if depth == TOP:
                    raise NoPlan(str(unusable)) from unusable
                return False
            except EpisodeOver as over:
                end(done=claim_of_ending(self._episode), note=str(over))
                raise
            done = results == [True]
            end(done=done)
            return done

    def _functions(self, depth: int, results: list[bool]) -> Functions:
        """Return the functions that a plan calls. ``finish`` appends its argument to ``results``."""
        carried_at_begin: list[tuple[str, ...]] = []

        def achieve(step: str) -> bool:
            """Try a subtask; decompose it if that fails."""
            return self.achieve(step, depth + 1)

        def begin() -> bool:
            """Begin a group of steps."""
            carried_at_begin.append(self._carried)
            return True

        def together(done: bool) -> bool:
            """End the group. If it failed as a whole, nothing is handed on, even if parts of it were achieved."""
            carried_before = carried_at_begin.pop()
            self._carried = self._carried if done else carried_before
            return done

        def finish(done: bool) -> None:
            """Say whether the task is done."""
            results.append(done)
            raise CellOver(f"finish({done}) was called.")

        return {"achieve": achieve, "begin": begin, "together": together, "finish": finish}

    def _execute(self, subtask: str, depth: int) -> Subtask:
        episode, first_step = self._episode, len(self._episode.steps)
        task = Subtask(text=subtask, depth=depth, handed=handover(episode, " ".join(self._carried)))
        with environment_errors():
            snapshot = episode.environment.snapshot() if self._options.restore_failed else None
        claim = execute(episode, task, self._options, self._replies)
        if not claim.done:
            self._failed.append(subtask)
            if snapshot and len(episode.steps) > first_step:
                episode.restore(snapshot, first_step)
                if depth == TOP:
                    episode.claim(claim.claim, CLAIM_AUTHOR)  # again, since restoring has withdrawn it
        elif episode.environment.handoff == "note":
            notes = dict.fromkeys((*self._carried, *filter(None, [claim.note])))
            self._carried = tuple(notes)[-MAX_NOTES:]
        elif action := last_action(episode.steps[first_step:]):
            self._carried = (action,)
        return claim

    def _scene(self, subtask: str) -> str:
        """Return the scene. In environments where executors hand on notes, add the other subtasks that have failed."""
        scene = self._episode.environment.scene()
        failed = [failed_subtask for failed_subtask in dict.fromkeys(self._failed) if failed_subtask != subtask]
        if self._episode.environment.handoff != "note" or not failed:
            return scene
        return PROMPTS["adapt/failed"].render(scene=scene, failed=failed)

    def _plan(self, scope: Scope, subtask: str, depth: int, note: str) -> Decomposition:
        """Ask the planner to decompose a subtask. Raises UnusableReply if no reply is usable."""
        available, detailed = self._episode.recall().demonstrations, self._detailed
        demonstrations = available.get(PLANNING_DETAILED if detailed else PLANNING) or available.get(PLANNING, "")
        system = system_message(self._episode, "adapt/system", detailed=detailed, demonstrations=demonstrations)
        variables: dict[str, Any] = {
            "scene": self._scene(subtask),
            "subtask": subtask,
            "informed": self._options.informed_planner,
            "state": self._episode.environment.state(),
            "note": note,
            "replies": self._replies,
            "actions_per_reply": self._options.actions_per_reply,
            "levels": self._max_depth - depth - 1,
        }
        prompt = PROMPTS["adapt/plan"]
        return scope.ask(PLANNER_ROLE, prompt, read=read_decomposition, history=[system], **variables).value


REFLECTOR = "reflector"
REACT_REPLIES_BY_ENVIRONMENT = {"textcraft": 60}
"""Number of ReAct's replies in some environments (appendix A). In others, it is d_max times the replies of a subtask.

For TextCraft, section 4.2 of the paper implies another number: d_max is 4, and 4 times 20 replies are 80.
"""
TEMPERATURE = 0.7
"""Temperature in the second and all later rounds of Try Again (appendix A)."""


def react(episode: Episode, options: DepthOptions) -> None:
    """Let the executor work alone on the whole task.

    The executor gets as many replies as ADaPT can use in one branch, from the whole task down to the deepest subtask.
    """
    environment, paper = episode.environment.name, DepthOptions()
    replies, depth = options.replies(environment), options.max_depth(environment)
    has_paper_limits = (replies, depth) == (paper.replies(environment), paper.max_depth(environment))
    total = REACT_REPLIES_BY_ENVIRONMENT.get(environment) if has_paper_limits else None
    execute(episode, whole_task(episode), options, total or replies * depth)


def plan_and_execute(episode: Episode, options: PlannedOptions) -> None:
    """Make one plan, more detailed than ADaPT's plans, and execute its steps. A failed step is not decomposed."""
    Recursion(episode, options, 2, detailed=True).decompose(episode.task.goal, 1)


def try_again(episode: Episode, options: DepthOptions) -> None:
    """Play up to d_max independent rounds. The best round counts."""
    environment = episode.environment.name

    def play(number: int) -> None:
        sample = Sample(number, TEMPERATURE) if number else FIRST_SAMPLE
        execute(episode, whole_task(episode), options, options.replies(environment), sample)

    play_in_rounds(episode, options.max_depth(environment), play)


def reflexion(episode: Episode, options: DepthOptions) -> None:
    """Play up to d_max rounds. After each failed round, a lesson from it is added to the prompts of later rounds."""
    environment = episode.environment.name
    lessons: list[str] = []
    first_cell = 0

    def play(number: int) -> None:
        nonlocal first_cell
        if number:
            lessons.extend(filter(None, [_lesson(episode, options, first_cell, lessons)]))
            first_cell = len(episode.cells)
        execute(episode, whole_task(episode), options, options.replies(environment), lessons=lessons)

    play_in_rounds(episode, options.max_depth(environment), play)


def _lesson(episode: Episode, options: DepthOptions, first_cell: int, lessons: Sequence[str]) -> str:
    """Ask the reflector for a lesson from a failed round. Return "" if no reply is usable.

    The round consists of the cells (pieces of code that were run as a unit) from number ``first_cell`` on.
    """
    with episode.frame("reflect") as frame:
        return ask_or_default(
            "",
            frame.scope,
            REFLECTOR,
            PROMPTS["reflexion/reflect"],
            as_text,
            about=episode.environment.about,
            scene=episode.environment.scene(),
            goal=episode.task.goal,
            cells=episode.cells[first_cell:],
            lessons=lessons,
            replies=options.replies(episode.environment.name),
            actions_per_reply=options.actions_per_reply,
        )


def _has_levels(options: DepthOptions, environment: Environment) -> bool:
    """Return True if there may be more than one level of decomposition, or more than one round."""
    return options.max_depth(environment.name) > 1


_executor_method = partial(
    Method,
    streams=True,
    spans=(Subtask,),
    figures=(DecompositionFigures,),
    templates=PROMPTS.files("adapt/*.j2", "executor/*.j2", "reflexion/*.j2"),
)

METHODS: Mapping[str, Method] = {
    "adapt": _executor_method(
        adapt,
        AdaptOptions,
        "execute first, decompose only what fails (ADaPT)",
        (EXECUTOR, PLANNER_ROLE),
        (*DEMONSTRATIONS, PLANNING),
        {PLANNER_ROLE: _has_levels},
    ),
    "plan-and-execute": _executor_method(
        plan_and_execute,
        PlannedOptions,
        "one detailed plan, each step executed",
        (PLANNER_ROLE, EXECUTOR),
        (*DEMONSTRATIONS, PLANNING_DETAILED, PLANNING),
        fallback_demonstrations=(PLANNING,),
    ),
    "react": _executor_method(
        react, DepthOptions, "ADaPT's executor alone, on the whole task", (EXECUTOR,), DEMONSTRATIONS
    ),
    "reflexion": _executor_method(
        reflexion,
        DepthOptions,
        "rounds with a reflection between them",
        (EXECUTOR, REFLECTOR),
        DEMONSTRATIONS,
        {REFLECTOR: _has_levels},
    ),
    "try-again": _executor_method(
        try_again, DepthOptions, "separate rounds, of which the best counts", (EXECUTOR,), DEMONSTRATIONS
    ),
}
