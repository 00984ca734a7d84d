"""Play the rounds of Devil's Advocate and its baselines. A round is one attempt at the task with one plan.

A state of the search is a situation that the environment was in. A branch is code that was proposed for a state, and
leads to another state. ``AdvocateRound`` runs the code of branches (section 3.2 of the Devil's Advocate paper) and
returns to earlier states. ``play_rounds`` makes a plan, plays a round, and then plans again with a review of the round
(section 3.3.3).
"""

from collections.abc import Callable, Sequence

from planbook.envs import Observation
from planbook.planner.episode import Episode
from planbook.planner.errors import EpisodeOver, NoPlan, RoundOver, UnusableReply
from planbook.planner.feedback import CellSteps
from planbook.planner.frames import Frame, Functions
from planbook.planner.journal import Span
from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.strategies.advocate.model_calls import AdvocateOptions, FailedRound, ModelCalls, normal_form
from planbook.planner.strategies.advocate.tree import Branch, PlanMade, SearchState, Tree
from planbook.planner.strategies.base import model_task, play_in_rounds
from planbook.planner.types import Feedback, FeedbackKind, Plan, RenderedText, Step

NOTE_DOWN = "note_down"
MAX_NOTE, MAX_NOTES = 1_000, 50


class Notebook:
    """Notes that plan code takes for later code, for later rounds and for the answer to the task.

    If the environment has no action ``note_down``, plan code gets a function with this name.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []

    def functions(self, episode: Episode) -> Functions:
        """Return the function for taking notes, unless the environment has an action for this."""
        return {} if NOTE_DOWN in episode.environment.offer.actions else {NOTE_DOWN: self.note_down}

    def note_down(self, text: str) -> str:
        """Keep a piece of information that will be needed later."""
        if not text.strip() or len(text) > MAX_NOTE:
            return f"Not noted: a note must have 1 to {MAX_NOTE} characters."
        if len(self.texts) >= MAX_NOTES:
            return f"Not noted: there are {MAX_NOTES} notes already."
        if text not in self.texts:
            self.texts.append(text)
        return "Noted."

    def add_from_steps(self, steps: Sequence[Step]) -> None:
        """Add the notes that plan code took with the environment's own action ``note_down``."""
        for step in steps:
            if step.action.name == NOTE_DOWN and step.observation.accepted and step.action.args:
                self.note_down(str(step.action.args[0])[:MAX_NOTE])


MAX_IDLE = 30
"""A round ends when this many of its cells (pieces of code that are run as a unit) have taken no action."""
GONE = "The objects that the code works on are no longer there."
CONSIDERED_COMPLETE = "The task was considered complete."


class AdvocateRound:
    """A round in progress. ``start`` is the state of the search at the beginning of the round."""

    def __init__(self, episode: Episode, frame: Frame, options: AdvocateOptions, notes: Notebook, number: int) -> None:
        self._episode, self._frame, self._options, self._notebook = episode, frame, options, notes
        self.number, self._idle, self._first_step = number, 0, len(episode.steps)
        self._span: Span[PlanMade] | None = None
        self.tree = Tree(frame.scope, number)
        self.model_calls = ModelCalls(episode, frame, options, self.tree, notes.texts, number)
        page = episode.observation.text
        self.start = SearchState(page, self._report("", page), self._scene())
        self.current: SearchState | None = self.start
        """The state that the environment is in. None after code has run, until ``keep`` or ``return_to`` is called."""

    def plan(self, earlier: Sequence[FailedRound], *, revision: bool) -> None:
        """Ask for the plan of the round. Raises NoPlan if no reply is usable."""
        try:
            outline = self.model_calls.plan(self.start, earlier)
        except UnusableReply as unusable:
            raise NoPlan(str(unusable)) from unusable
        self.model_calls.parts = outline.parts
        review = outline.review if revision else ""
        plan = PlanMade(round=self.number, parts=outline.parts, revision=revision, why=review)
        self._span = self._frame.scope.span(plan)

    def add_branch(self, state: SearchState, idea: int, plan: Plan) -> Branch:
        """Add a branch for code that was proposed for a state, and return it. ``idea`` is the index of the proposal."""
        return self.tree.add_branch(state, self.model_calls.parts[state.subtask], idea, plan.code, plan.thought)

    def propose_branches(self, state: SearchState, remedies: int) -> list[Branch]:
        """Ask for code to run in a state, and then for up to ``remedies`` alternatives to this code.

        Return a branch for each proposal. If several proposals have the same code, only the first gets a branch.
        """
        plans: dict[str, Plan] = {}
        plan, history = self.model_calls.ask_for_code(state)
        while plan is not None:
            plans.setdefault(normal_form(plan.code), plan)
            if remedies <= 0:
                break
            remedies -= 1
            plan, history = self.model_calls.remedy(history)
        return [self.add_branch(state, number, proposal) for number, proposal in enumerate(plans.values())]

    def mark(self, state: SearchState) -> None:
        """Make a checkpoint of the current state, so that ``return_to`` can restore it."""
        state.mark = self._episode.mark()

    def return_to(self, state: SearchState) -> None:
        """Restore the environment and namespace of a state that has a checkpoint. Branches after it are abandoned."""
        assert state.mark is not None, "the search returns only to states that have a checkpoint"
        page = self._episode.rewind(state.mark).text
        state.update_page(page, self._report("", page), self._scene())
        self.tree.return_to(state)
        self.current = state

    def carry_out(self, state: SearchState, branch: Branch) -> SearchState | None:
        """Run the code of a branch. Return the state that it leads to, or None if the code fails.

        If the page (the observation) of the state is no longer the one that the code was written for, a model adapts
        the code first. Return None if this is impossible. Raises RoundOver if the round ends, or EpisodeOver.
        """
        if self._idle >= MAX_IDLE:  # otherwise a round whose code has stopped acting would never end
            raise RoundOver(f"{MAX_IDLE} pieces of code in this round took no action.")
        code = branch.code if state.page == state.written_for else self.model_calls.adapt(branch.code, state)
        is_first = branch not in self.tree.tried
        if is_first:
            self.tree.begin(branch, None if code is None else self._frame.cells)
        if code is None:
            branch.fate, branch.why = "failed", GONE
            return None
        if is_first and code != branch.code:
            branch.mapped = code
        first_step = len(self._episode.steps)
        try:
            max_actions = None if self._options.whole_subtasks else 1
            feedback = self._episode.run(code, source=PLANNER_ROLE, thought=branch.thought, actions=max_actions)
        except EpisodeOver as over:
            branch.fate, branch.why = "over", str(over)
            raise
        finally:
            steps = self._record_steps(branch, first_step)
        if feedback.kind is not FeedbackKind.CHECK:
            self.current = None
        if feedback.is_error:
            branch.fate, branch.why = "failed", str(feedback.faults[0])
            return None
        return self._next_state(state, branch, steps, feedback)

    def keep(self, branch: Branch, after: SearchState) -> None:
        """Accept a branch, and make ``after``, the state that it led to, the current state."""
        self.tree.keep(branch)
        self.current = after

    def finish(self, state: SearchState) -> None:
        """Give the answer, if the environment expects one, and end the episode.

        Always raises EpisodeOver.
        """
        answering = self._episode.environment.answering
        answer = self.model_calls.answer(state) if answering else None
        if answer is not None:
            self._episode.run(f"agent.{answering}({answer!r})", source=PLANNER_ROLE)
        raise EpisodeOver(CONSIDERED_COMPLETE)

    def end(self, reason: str) -> FailedRound:
        """Record the branches of the round, its numbers of actions, and the environment's verdict.

        Return a description of the round, with the ``reason`` why it ended, for the prompt of the next plan.
        """
        self.tree.end()
        steps = self._episode.steps[self._first_step :]
        if self._span is not None:
            self._span.end(
                actions=sum(step.action.name != self._episode.environment.answering for step in steps),
                solved=self._episode.verdict().solved,
            )
        return FailedRound(self.model_calls.parts, self.tree.effects(), reason)

    def _record_steps(self, branch: Branch, first_step: int) -> Sequence[Step]:
        """Count the steps since ``first_step`` for the branch, add notes in them to the notebook, and return them."""
        steps = self._episode.steps[first_step:]
        self._idle += not steps
        branch.actions += len(steps)
        branch.lasting = branch.lasting or any(step.observation.lasting for step in steps)
        self._notebook.add_from_steps(steps)
        return steps

    def _next_state(self, state: SearchState, branch: Branch, steps: Sequence[Step], feedback: Feedback) -> SearchState:
        """Return the state that a branch has led to, after these steps, from ``state``."""
        events = CellSteps(self._episode.environment, steps, Observation(state.page)).report(feedback.output)
        if withheld := self._frame.withheld:
            events = RenderedText.of(f"{events}\n{withheld}", events, withheld)
        page = steps[-1].observation.text if steps else state.page
        report = self._report(events or "The code took no action and printed nothing.", page)
        actions = tuple(str(step.action) for step in steps)
        depth = len(self.tree.path) + 1
        return SearchState(page, report, self._scene(), state.subtask, branch, depth, actions=actions)

    def _scene(self) -> str:
        """Return the scene for prompts.

        If plans of the environment stop early to look at observations (``pauses``), return "", since the observation
        already shows the scene.
        """
        environment = self._episode.environment
        return "" if environment.pauses else environment.scene()

    def _report(self, events: str, page: str) -> RenderedText:
        """Return the text that describes the current situation in prompts.

        It consists of the events that led to the situation, the page if it is not part of the events, and the
        environment's state.
        """
        state = self._episode.environment.state()
        shown_page = "" if page in events else page
        parts = [events, shown_page, f"Current state: {state}" if state else ""]
        return RenderedText.of("\n".join(filter(None, parts)), events, shown_page, state)


NOTHING_LEFT = "No alternative is left to try."


def play_rounds(
    episode: Episode, options: AdvocateOptions, play: Callable[[AdvocateRound], None], *, reflects: bool = True
) -> None:
    """Plan and play up to ``options.rounds`` rounds. ``play`` carries out the plan of one round.

    Each plan after the first is based on the earlier rounds. If ``reflects`` is False, no round knows about others. If
    the task is considered complete in a round, or if an answer is given, no other round follows. The last round counts
    (see ``play_in_rounds``).
    """
    earlier: list[FailedRound] = []
    shared_notebook = Notebook()

    def play_one(number: int) -> None:
        notebook = shared_notebook if reflects else Notebook()
        functions, helpers = notebook.functions(episode), episode.recall().helpers
        with episode.frame("act", functions, helpers, task=model_task(episode)) as frame:
            advocate_round = AdvocateRound(episode, frame, options, notebook, number)
            advocate_round.plan(earlier if reflects else (), revision=bool(earlier))
            try:
                play(advocate_round)
            except EpisodeOver as over:
                earlier.append(advocate_round.end(str(over)))
                if _has_answered(episode):
                    raise EpisodeOver(CONSIDERED_COMPLETE) from over
                raise
            earlier.append(advocate_round.end(NOTHING_LEFT))

    play_in_rounds(episode, options.rounds, play_one, until_solved=False)


def _has_answered(episode: Episode) -> bool:
    """Return True if an answer ended the environment's episode."""
    return episode.environment.ended and episode.steps[-1].action.name == episode.environment.answering
