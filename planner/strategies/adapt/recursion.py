"""ADaPT (section 3, algorithm 1): try to do a task; where that fails, take it apart and do the same with its parts."""

from typing import Any

from pydantic import BaseModel, Field

from planbook.planner.action_docs import action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import CellOver, EpisodeOver, UnusableReply
from planbook.planner.frames import Functions
from planbook.planner.roles import PLANNER
from planbook.planner.scope import Scope
from planbook.planner.strategies.adapt.depth import DepthOptions
from planbook.planner.strategies.adapt.executor import ExecutorOptions, Subtask, claimed, execute, handed_on
from planbook.planner.strategies.adapt.order import Decomposition, read_decomposition
from planbook.planner.templates import PROMPTS
from planbook.planner.types import Thought

PLANNING, PLANNING_DETAILED = "planning", "planning_detailed"


class PlannedOptions(ExecutorOptions):
    """For methods with a planner above the executor."""

    informed_planner: bool = Field(
        default=False,
        description="Whether the planner is told where things stand, why the executor gave up and what it may use; "
        "the paper's plans from the scene alone.",
    )


class AdaptOptions(PlannedOptions, DepthOptions):
    """Both: a planner, asked again at every level."""


def adapt(episode: Episode, options: BaseModel) -> None:
    """Achieve the task: execute, and decompose as needed."""
    chosen = AdaptOptions.model_validate(options)
    Recursion(episode, chosen, chosen.deepest(episode.world.name)).achieve(episode.task.goal, 1)


class Recursion:
    """The paper's controller (section 3.3): carries what one executor hands on to the next, and knows when to stop."""

    def __init__(self, episode: Episode, options: PlannedOptions, deepest: int, *, detailed: bool = False) -> None:
        self._episode, self._options, self._deepest, self._detailed = episode, options, deepest, detailed
        self._replies = options.replies(episode.world.name)
        self._carried = ""
        """What the last executor that succeeded leaves to the next: its last action, or what it said at its end."""
        self._failed: list[str] = []

    def achieve(self, subtask: str, depth: int) -> bool:
        """Whether the sub-task was achieved, as far as the executor can tell. A failure hands nothing on."""
        before = self._carried
        claim = self._execute(subtask, depth)
        done = bool(claim.done) or (depth < self._deepest and self.decompose(subtask, depth, claim.note))
        if not done:
            self._carried = before
            self._failed.append(subtask)
        return done

    def decompose(self, subtask: str, depth: int, note: str = "") -> bool:
        """Ask the planner for sub-tasks, and try them in the order that it gives, as plan code.

        ``note`` is what the executor gave up with.
        """
        results: list[bool] = []
        with self._episode.frame("plan", self._functions(depth, results)) as frame:
            span = frame.scope.span(Subtask(by=PLANNER, text=subtask, depth=depth))

            def end(done: bool | None, note: str = "") -> None:
                claimed(self._episode, span.end(done=done, note=note))

            try:
                plan = self._plan(frame.scope, subtask, depth, note)
                self._episode.run(plan.code, source=PLANNER, thought=Thought(text=plan.thought))
            except UnusableReply as unusable:
                end(False, str(unusable))
                return False
            except EpisodeOver as over:
                end(None, str(over))
                raise
            done = results == [True]
            end(done)
            return done

    def _functions(self, depth: int, results: list[bool]) -> Functions:
        """What the code of a plan calls; what it says at its end is added to ``results``."""
        handed: list[str] = []

        def achieve(step: str) -> bool:
            """Try a sub-task; take it apart if that fails."""
            return self.achieve(step, depth + 1)

        def begin() -> bool:
            """Begin steps that belong together."""
            handed.append(self._carried)
            return True

        def together(done: bool) -> bool:
            """End them: what failed as a whole hands nothing on, whatever was achieved of it."""
            before = handed.pop()
            self._carried = self._carried if done else before
            return done

        def finish(done: bool) -> None:
            """Say whether the task is done."""
            results.append(done)
            raise CellOver(f"finish({done}) was called.")

        return {"achieve": achieve, "begin": begin, "together": together, "finish": finish}

    def _execute(self, subtask: str, depth: int) -> Subtask:
        episode, begun = self._episode, len(self._episode.steps)
        given = Subtask(text=subtask, depth=depth, handed=handed_on(episode, self._carried))
        claim = execute(episode, given, self._options, self._replies)
        accepted = [step for step in episode.steps[begun:] if step.observation.accepted]
        if claim.done and episode.world.hands_on == "note":
            self._carried = claim.note or self._carried
        elif claim.done and accepted:
            self._carried = f"agent.{accepted[-1].action} -> {accepted[-1].observation.text}"
        return claim

    def _scene(self, subtask: str) -> str:
        """What the planner sees, and, in worlds where notes are handed on, what failed before."""
        scene = self._episode.world.scene()
        failed = [each for each in dict.fromkeys(self._failed) if each != subtask]
        if self._episode.world.hands_on != "note" or not failed:
            return scene
        return PROMPTS["adapt/failed"].render(scene=scene, failed=failed)

    def _plan(self, scope: Scope, subtask: str, depth: int, note: str) -> Decomposition:
        world, shown = self._episode.world, self._episode.recall().demonstrations
        system = PROMPTS["adapt/system"].system(
            about=world.about,
            action_docs=action_docs_of(world),
            detailed=self._detailed,
            demonstrations=shown.get(PLANNING_DETAILED if self._detailed else PLANNING) or shown.get(PLANNING, ""),
        )
        told: dict[str, Any] = {
            "scene": self._scene(subtask),
            "subtask": subtask,
            "informed": self._options.informed_planner,
            "state": world.state(),
            "note": note,
            "replies": self._replies,
            "actions_per_reply": self._options.actions_per_reply,
            "levels": self._deepest - depth - 1,
        }
        return scope.ask(PLANNER, PROMPTS["adapt/plan"], read=read_decomposition, history=[system], **told).value
