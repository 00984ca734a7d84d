"""One round of Devil's Advocate or a baseline: running code (section 3.2), returning to moments, and notes.

``play_rounds`` plans, plays, reviews and plans again (section 3.3.3).
"""

from collections.abc import Callable, Sequence

from planbook.envs import Observation
from planbook.planner.episode import Episode
from planbook.planner.errors import EpisodeOver, RoundOver, UnusableReply
from planbook.planner.feedback import CellSteps
from planbook.planner.frames import Frame, Functions
from planbook.planner.rendered import Rendered
from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.spans import Span
from planbook.planner.strategies.advocate.model_calls import AdvocateOptions, FailedRound, ModelCalls, normal_form
from planbook.planner.strategies.advocate.tree import Branch, Moment, PlanMade, Tree
from planbook.planner.strategies.base import in_rounds, model_task
from planbook.planner.types import Feedback, FeedbackKind, Plan, Step

NOTE_DOWN = "note_down"
MAX_NOTE, MAX_NOTES = 1_000, 50


class Notebook:
    """Notes that plan code takes for later code, later rounds and the answer.

    If the environment has no action for notes, plan code gets a function ``note_down``.
    """

    def __init__(self) -> None:
        self.taken: list[str] = []

    def functions(self, episode: Episode) -> Functions:
        """Return the functions for notes in the frame of a round."""
        return {} if NOTE_DOWN in episode.environment.offer.actions else {NOTE_DOWN: self.note_down}

    def note_down(self, text: str) -> str:
        """Keep a piece of information that will be needed later."""
        if not text.strip() or len(text) > MAX_NOTE:
            return f"Not noted: a note has 1 to {MAX_NOTE} characters."
        if len(self.taken) >= MAX_NOTES:
            return f"Not noted: there are {MAX_NOTES} notes already."
        if text not in self.taken:
            self.taken.append(text)
        return "Noted."

    def take_from(self, steps: Sequence[Step]) -> None:
        """Keep the notes that actions of the environment took."""
        for step in steps:
            if step.action.name == NOTE_DOWN and step.observation.accepted and step.action.args:
                self.note_down(str(step.action.args[0])[:MAX_NOTE])


MAX_IDLE = 30
"""Maximum number of cells without an action in a round."""
GONE = "What the code works on is no longer there."
CONSIDERED_COMPLETE = "The task was held to be complete."


class AdvocateRound:
    """A round in progress. ``here`` is the current moment; None once code has run, until ``keep`` or ``return_to``."""

    def __init__(self, episode: Episode, frame: Frame, options: AdvocateOptions, notes: Notebook, number: int) -> None:
        self._episode, self._frame, self._options, self._notes = episode, frame, options, notes
        self.number, self._idle, self._first_step = number, 0, len(episode.steps)
        self._span: Span[PlanMade] | None = None
        self.tree = Tree(frame.scope, number)
        self.model_calls = ModelCalls(episode, frame, options, self.tree, notes.taken, number)
        page = episode.observation.text
        self.start = Moment(page, self._seen("", page), self._scene())
        self.here: Moment | None = self.start

    def plan(self, earlier: Sequence[FailedRound], *, revision: bool) -> bool:
        """Make the plan of the round. Return False if no reply is usable."""
        try:
            outline = self.model_calls.plan(self.start, earlier)
        except UnusableReply:
            return False
        self.model_calls.parts = outline.parts
        why = outline.review if revision else ""
        plan = PlanMade(round=self.number, parts=outline.parts, revision=revision, why=why)
        self._span = self._frame.scope.span(plan)
        return True

    def idea(self, moment: Moment, idea: int, plan: Plan) -> Branch:
        """Return a new branch to try at a moment."""
        return self.tree.grow(moment, self.model_calls.parts[moment.subtask], idea, plan.code, plan.thought)

    def ideas(self, moment: Moment, remedies: int) -> list[Branch]:
        """Ask for code to run at a moment, then for up to ``remedies`` alternatives. Return them without duplicates."""
        plans: dict[str, Plan] = {}
        plan, history = self.model_calls.ask_for_code(moment)
        while plan is not None:
            plans.setdefault(normal_form(plan.code), plan)
            if remedies <= 0:
                break
            remedies -= 1
            plan, history = self.model_calls.remedy(history)
        return [self.idea(moment, number, distinct) for number, distinct in enumerate(plans.values())]

    def mark(self, moment: Moment) -> None:
        """Mark the current moment, so that ``return_to`` can restore it."""
        moment.mark = self._episode.mark()

    def return_to(self, moment: Moment) -> None:
        """Restore environment and namespace to a marked moment. Branches kept since are abandoned."""
        assert moment.mark is not None, "only moments with several ideas are returned to"
        page = self._episode.rewind(moment.mark).text
        moment.update_page(page, self._seen("", page), self._scene())
        self.tree.return_to(moment)
        self.here = moment

    def carry_out(self, moment: Moment, branch: Branch) -> Moment | None:
        """Run a branch's code, adapted to the current page. Return the moment that it leads to; None if it fails."""
        if self._idle >= MAX_IDLE:  # otherwise a round whose code has stopped acting would never end
            raise RoundOver(f"{MAX_IDLE} pieces of code of this round took no action.")
        code = branch.code if moment.page == moment.written_for else self.model_calls.adapt(branch.code, moment)
        is_first = branch not in self.tree.tried
        if is_first:
            self.tree.begin(branch, None if code is None else self._frame.cells)
        if code is None:
            branch.fate, branch.why = "failed", GONE
            return None
        branch.record_run(code, is_first=is_first)
        first_step = len(self._episode.steps)
        try:
            most = None if self._options.whole_subtasks else 1
            feedback = self._episode.run(code, source=PLANNER_ROLE, thought=branch.thought, actions=most)
        except EpisodeOver as over:
            branch.fate, branch.why = "over", str(over)
            raise
        finally:
            steps = self._count(branch, first_step)
        if feedback.kind is not FeedbackKind.CHECK:
            self.here = None
        if feedback.is_error:
            branch.fate, branch.why = "failed", str(feedback.faults[0])
            return None
        return self._after(moment, branch, steps, feedback)

    def keep(self, branch: Branch, after: Moment) -> None:
        """Accept the moment to which a branch has led."""
        self.tree.keep(branch)
        self.here = after

    def finish(self, moment: Moment) -> None:
        """End the episode as complete, delivering an answer if the environment takes one."""
        answering = self._episode.environment.answering
        answer = self.model_calls.answer(moment) if answering else None
        if answer is not None:
            self._episode.run(f"agent.{answering}({answer!r})", source=PLANNER_ROLE)
        raise (RoundOver if self._options.until_solved else EpisodeOver)(CONSIDERED_COMPLETE)

    def end(self, ended: str) -> FailedRound:
        """Record the branches, and return the round for the prompt of the next plan."""
        self.tree.end()
        steps = self._episode.steps[self._first_step :]
        lasting = [step for step in steps if step.observation.lasting]
        if self._span is not None:
            self._span.end(
                actions=len(steps),
                lasting=len(lasting),
                lasting_gone_behind=sum(step.undone for step in lasting),
            )
        return FailedRound(self.model_calls.parts, self.tree.deeds(), ended)

    def _count(self, branch: Branch, first_step: int) -> Sequence[Step]:
        steps = self._episode.steps[first_step:]
        self._idle += not steps
        branch.actions += len(steps)
        branch.lasting = branch.lasting or any(step.observation.lasting for step in steps)
        self._notes.take_from(steps)
        return steps

    def _after(self, moment: Moment, branch: Branch, steps: Sequence[Step], feedback: Feedback) -> Moment:
        """Return the moment to which a branch has led."""
        report = CellSteps(self._episode.environment, steps, Observation(moment.page)).report(feedback.output)
        page = steps[-1].observation.text if steps else moment.page
        seen = self._seen(report or "The code took no action and printed nothing.", page)
        actions = tuple(str(step.action) for step in steps)
        depth = len(self.tree.path) + 1
        return Moment(page, seen, self._scene(), moment.subtask, branch, depth, actions=actions)

    def _scene(self) -> str:
        """Return the scene for prompts; empty where plans pause, since there the observation is the scene."""
        environment = self._episode.environment
        return "" if environment.pauses else environment.scene()

    def _seen(self, happened: str, page: str) -> Rendered:
        """Return a moment as text for prompts: the report on its actions, the page if not included, and the state."""
        state = self._episode.environment.state()
        shown = "" if page in happened else page
        parts = [happened, shown, f"Current state: {state}" if state else ""]
        return Rendered.of("\n".join(filter(None, parts)), happened, shown, state)


NOTHING_LEFT = "Of all that was thought of, nothing is left to try."


def play_rounds(
    episode: Episode, options: AdvocateOptions, play: Callable[[AdvocateRound], None], *, reflects: bool = True
) -> None:
    """Plan and play up to ``options.rounds`` rounds. Each plan but the first is based on the earlier rounds.

    Without reflection, no round knows about the others. A round in which the task is considered complete, or was
    answered, is the last one, unless ``options.until_solved``.
    """
    earlier: list[FailedRound] = []
    notes = Notebook()

    def play_one(number: int) -> None:
        notebook = notes if reflects else Notebook()
        functions, helpers = notebook.functions(episode), episode.recall().helpers
        with episode.frame("act", functions, helpers, task=model_task(episode)) as frame:
            advocate_round = AdvocateRound(episode, frame, options, notebook, number)
            if not advocate_round.plan(earlier if reflects else (), revision=bool(earlier)):
                return
            try:
                play(advocate_round)
            except EpisodeOver as over:
                earlier.append(advocate_round.end(str(over)))
                if _answered(episode) and not options.until_solved:
                    raise EpisodeOver(CONSIDERED_COMPLETE) from over
                raise
            earlier.append(advocate_round.end(NOTHING_LEFT))

    in_rounds(episode, options.rounds, play_one)


def _answered(episode: Episode) -> bool:
    """Return True if the environment's episode ended with an answer."""
    return episode.environment.ended and episode.steps[-1].action.name == episode.environment.answering
