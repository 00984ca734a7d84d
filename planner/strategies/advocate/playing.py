"""One round of Devil's Advocate and of what it is compared with: code is run (section 3.2), moments come back to."""

from collections.abc import Sequence

from planbook.envs import Observation
from planbook.planner.episode import Episode
from planbook.planner.errors import EpisodeOver, RoundOver, UnusableReply
from planbook.planner.feedback import Ran
from planbook.planner.frames import Frame
from planbook.planner.models.types import Message
from planbook.planner.rendered import Rendered
from planbook.planner.roles import PLANNER, Sample
from planbook.planner.spans import Span
from planbook.planner.strategies.advocate.counsel import Counsel, Past
from planbook.planner.strategies.advocate.notes import Notes
from planbook.planner.strategies.advocate.options import AdvocateOptions
from planbook.planner.strategies.advocate.replies import meaning
from planbook.planner.strategies.advocate.tree import Branch, Moment, PlanMade, Tree
from planbook.planner.types import Feedback, FeedbackKind, Plan, Step

MOST_IDLE = 30
"""Pieces of code without an action, in a round."""
GONE = "What the code works on is no longer there."
HELD_COMPLETE = "The task was held to be complete."


class Playing:
    """What the methods do in a round; ``here`` is the good moment where things stand, None where they are past it."""

    def __init__(self, episode: Episode, frame: Frame, options: AdvocateOptions, notes: Notes, number: int) -> None:
        self._episode, self._frame, self._options, self._notes = episode, frame, options, notes
        self.number, self._idle, self._begun = number, 0, len(episode.steps)
        self._span: Span[PlanMade] | None = None
        self.tree = Tree(frame.scope, number)
        self.counsel = Counsel(episode, frame, options, self.tree, notes.taken, number)
        self.start = Moment(episode.observation.text, self._seen("", episode.observation.text))
        self.here: Moment | None = self.start

    def plan(self, earlier: Sequence[Past], *, revision: bool) -> bool:
        """Make the plan of the round; False where no usable one came."""
        try:
            outline = self.counsel.plan(self.start, earlier)
        except UnusableReply:
            return False
        self.counsel.parts = outline.parts
        why = outline.review if revision else ""
        made = PlanMade(round=self.number, parts=tuple(outline.parts), revision=revision, why=why)
        self._span = self._frame.scope.span(made)
        return True

    def idea(self, moment: Moment, idea: int, plan: Plan) -> Branch:
        """Something to try at a moment."""
        return self.tree.grow(moment, self.counsel.parts[moment.subtask], idea, plan.code, plan.thought)

    def act(self, moment: Moment, sample: Sample) -> Plan | None:
        """One sample of what to do at a moment."""
        return self.counsel.act(moment, sample)[0]

    def ideas(self, moment: Moment, remedies: int) -> list[Branch]:
        """What to do at a moment, and what instead if that is not right; what was said already is left out."""
        found: list[Plan] = []
        history: Sequence[Message] = ()
        plan, history = self.counsel.act(moment)
        while plan is not None:
            if meaning(plan.code) not in {meaning(known.code) for known in found}:
                found.append(plan)
            if remedies <= 0:
                break
            remedies -= 1
            plan, history = self.counsel.remedy(history)
        return [self.idea(moment, number, each) for number, each in enumerate(found)]

    def mark(self, moment: Moment) -> None:
        """Make it possible to come back to the present moment."""
        moment.mark = self._episode.mark()

    def return_to(self, moment: Moment) -> None:
        """Go back to a moment that was marked: world and names; what was kept since is abandoned."""
        assert moment.mark is not None, "only moments with more than one idea are come back to"
        page = self._episode.rewind(moment.mark).text
        moment.looks(page, self._seen("", page))
        self.tree.back_to(moment)
        self.here = moment

    def carry_out(self, moment: Moment, branch: Branch) -> Moment | None:
        """Run a branch's code at its moment, as it fits what is there now; None where that failed."""
        self._unless_idle()
        code = branch.code if moment.page == moment.written_for else self.counsel.mapped(branch.code, moment)
        is_first = branch not in self.tree.tried
        if is_first:
            self.tree.begin(branch, None if code is None else self._frame.cells)
        if code is None:
            branch.fate, branch.why = "failed", GONE
            return None
        branch.ran_as(code, is_first=is_first)
        begun = len(self._episode.steps)
        try:
            feedback = self._run(branch, code)
        except EpisodeOver as over:
            branch.fate, branch.why = "over", str(over)
            raise
        finally:
            steps = self._count(branch, begun)
        if feedback.kind is not FeedbackKind.CHECK:
            self.here = None
        if feedback.is_error:
            branch.fate, branch.why = "failed", str(feedback.faults[0])
            return None
        return self._after(moment, branch, steps, feedback)

    def keep(self, branch: Branch, after: Moment) -> None:
        """Things stand well where a branch has led."""
        self.tree.keep(branch)
        self.here = after

    def finish(self, moment: Moment) -> None:
        """The task is held to be complete: deliver its answer where there is one to give. Ends the episode."""
        answering = self._episode.world.answering
        answer = self.counsel.answer(moment) if answering else None
        if answer is not None:
            self._episode.run(f"agent.{answering}({answer!r})", source=PLANNER)
        raise (RoundOver if self._options.until_solved else EpisodeOver)(HELD_COMPLETE)

    def end(self, ended: str) -> Past:
        """Write down what was tried; what the next plan is told of it."""
        self.tree.end()
        steps = self._episode.steps[self._begun :]
        lasting = [step for step in steps if step.observation.lasting]
        if self._span is not None:
            self._span.end(
                actions=sum(step.counted for step in steps),
                lasting=len(lasting),
                lasting_gone_behind=sum(step.undone for step in lasting),
            )
        return Past(self.counsel.parts, self.tree.deeds(), ended)

    def _run(self, branch: Branch, code: str) -> Feedback:
        most = None if self._options.whole_subtasks else 1
        return self._episode.run(code, source=PLANNER, thought=branch.thought, actions=most)

    def _unless_idle(self) -> None:
        """A round whose code does nothing any more would go on for ever."""
        if self._idle >= MOST_IDLE:
            raise RoundOver(f"{MOST_IDLE} pieces of code of this round took no action.")

    def _count(self, branch: Branch, begun: int) -> Sequence[Step]:
        steps = self._episode.steps[begun:]
        counted = sum(step.counted for step in steps)
        self._idle += not counted
        branch.actions += counted
        branch.lasting = branch.lasting or any(step.observation.lasting for step in steps)
        self._notes.of(steps)
        return steps

    def _after(self, moment: Moment, branch: Branch, steps: Sequence[Step], feedback: Feedback) -> Moment:
        """The moment that a branch has led to."""
        told = Ran(self._episode.world, steps, Observation(moment.page)).told(feedback.output)
        page = steps[-1].observation.text if steps else moment.page
        seen = self._seen(told or "The code took no action and printed nothing.", page)
        actions = tuple(str(step.action) for step in steps)
        return Moment(page, seen, moment.subtask, branch, len(self.tree.path) + 1, actions=actions)

    def _seen(self, happened: str, page: str) -> Rendered:
        """What prompts tell of a moment: what led to it, the page unless that tells it, and the world's state line."""
        state = self._episode.world.state()
        shown = "" if page in happened else page
        parts = [happened, shown, f"Current state: {state}" if state else ""]
        return Rendered.of("\n".join(filter(None, parts)), happened, shown, state)
