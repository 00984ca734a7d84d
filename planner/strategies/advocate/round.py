"""Play the rounds of Devil's Advocate and its baselines. A round is one attempt at the task with one plan.

``SearchRound`` runs the code of the nodes of its search tree (section 3.2 of the Devil's Advocate paper), returns to
earlier states, and records the fate of each branch. ``play_rounds`` makes a plan, plays a round, and then plans
again with a review of the round (section 3.3.3).
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
from planbook.planner.strategies.advocate.tree import BranchTried, Node, PlanMade
from planbook.planner.strategies.base import play_in_rounds, public_task_fields
from planbook.planner.types import FeedbackKind, Plan, RenderedText, Step

NOTE_DOWN = "note_down"
MAX_NOTE, MAX_NOTES = 1_000, 50


class Notebook:
    """Notes that plan code takes for later code, for later rounds and for the answer to the task.

    If the environment has no action ``note_down``, plan code can call a function with this name.
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


class SearchRound(ModelCalls):
    """A round in progress, with its search tree. Creating it asks for the plan. Raises NoPlan if no reply is usable.

    The span of a branch begins when its code is first run, and ends when the span of the next branch begins. If the
    branch changes later, its span is updated. Branches that were never needed are recorded at the end of the round.
    """

    def __init__(
        self,
        episode: Episode,
        frame: Frame,
        options: AdvocateOptions,
        notebook: Notebook,
        number: int,
        earlier: Sequence[FailedRound],
        *,
        revision: bool,
    ) -> None:
        super().__init__(episode, frame, options, notebook.texts, number, earlier)
        self._notebook, self._idle_cells, self._first_step = notebook, 0, len(episode.steps)
        self._nodes: list[Node] = []
        """All nodes except the root."""
        self._marked: list[Node] = []
        """The nodes that have a checkpoint, in order of the checkpoints."""
        page = episode.observation.text
        self.root = Node(BranchTried(round=number, number=-1, subtask="", code="", fate="kept"))
        self.root.update_page(page, self._report("", page), self._scene())
        self.current_node: Node | None = self.root
        """The node in whose state the environment is. None after code has run, until ``keep`` or ``return_to``."""
        try:
            outline = self.ask_for_plan(self.root)
        except UnusableReply as unusable:
            raise NoPlan(str(unusable)) from unusable
        plan = PlanMade(round=number, parts=outline.parts, revision=revision, why=outline.review if revision else "")
        self._span: Span[PlanMade] = frame.scope.span(plan)

    def add_child(self, node: Node, idea: int, plan: Plan) -> Node:
        """Add a node for code that was proposed in the state of a node. ``idea`` is the index of the proposal."""
        node.written_for = node.page
        branch = BranchTried(
            round=self.number,
            number=len(self._nodes),
            parent=node.branch.number if node.parent else None,
            subtask=self.parts[node.subtask],
            idea=idea,
            code=plan.code,
            fate="not tried",
        )
        child = Node(branch, node, plan.thought)
        node.children.append(child)
        self._nodes.append(child)
        return child

    def propose(self, node: Node, remedies: int) -> list[Node]:
        """Ask for code to run in the state of a node, and then for up to ``remedies`` alternatives to this code.

        Return a node for each proposal. If several proposals have the same code, only the first gets a node.
        """
        plans: dict[str, Plan] = {}
        plan, history = self.ask_for_code(node)
        while plan is not None:
            plans.setdefault(normal_form(plan.code), plan)
            if remedies <= 0:
                break
            remedies -= 1
            plan, history = self.ask_for_remedy(history)
        return [self.add_child(node, number, proposal) for number, proposal in enumerate(plans.values())]

    def mark(self, node: Node) -> None:
        """Make a checkpoint of a node's state, which must be the current one, unless the node already has one."""
        if node.mark is None:
            node.mark = self._episode.mark()
            self._marked.append(node)

    def return_to(self, node: Node) -> None:
        """Restore the state of a node that has a checkpoint. Later checkpoints become invalid.

        Kept branches that do not lead to the node become abandoned.
        """
        assert node.mark is not None, "the search returns only to states that have a checkpoint"
        page = self._episode.rewind(node.mark).text
        while self._marked[-1] is not node:
            self._marked.pop().mark = None
        node.update_page(page, self._report("", page), self._scene())
        for tried_node in self._tried:
            if tried_node.branch.fate == "kept" and tried_node not in node.path:
                tried_node.change(fate="abandoned")
        self._record_changes()
        self.current_node = node

    def carry_out(self, node: Node) -> bool:
        """Run the code of a node in the state of its parent. Return True if the code ran without an error.

        If the parent's page (its observation) has changed since the code was written, a model adapts the code first.
        Return False if this is impossible, or if the code fails. Raises EpisodeOver if the episode or the round ends.
        """
        parent, is_first = node.parent, node not in self._tried
        assert parent is not None, "the root has no code"
        if self._idle_cells >= MAX_IDLE:  # otherwise a round whose code has stopped acting would never end
            raise RoundOver(f"{MAX_IDLE} pieces of code in this round took no action.")
        proposed = node.branch.code
        code = proposed if parent.page == parent.written_for else self.adapt_code(proposed, parent)
        if is_first:
            self._begin(node, None if code is None else self._frame.cell_count)
        if code is None:
            node.change(fate="failed", why=GONE)
            return False
        if is_first and code != proposed:
            node.change(mapped=code)
        return self._run(node, parent, code, is_first=is_first)

    def _run(self, node: Node, parent: Node, code: str, *, is_first: bool) -> bool:
        first_step, max_actions = len(self._episode.steps), None if self._options.whole_subtasks else 1
        try:
            feedback = self._episode.run(code, source=PLANNER_ROLE, thought=node.thought, actions=max_actions)
        except EpisodeOver as over:
            node.change(fate="over", why=str(over))
            raise
        finally:
            steps = self._count_steps(node, first_step)
        if feedback.kind is not FeedbackKind.CHECK:
            self.current_node = None
        if feedback.is_error:
            node.change(fate="failed", why=str(feedback.faults[0]))
            return False
        page = steps[-1].observation.text if steps else parent.page
        report = self._report(self._events(parent, steps, feedback.output), page)
        node.update_page(page, report, self._scene())
        if is_first:
            node.subtask, node.actions = parent.subtask, tuple(str(step.action) for step in steps)
        return True

    def keep(self, node: Node) -> None:
        """Accept the branch of a node. The environment must be in the state of the node."""
        node.change(fate="kept")
        self._record_changes()
        self.current_node = node

    def finish(self, node: Node) -> None:
        """Give the answer, if the environment expects one, and end the episode.

        Always raises EpisodeOver.
        """
        answer_action = self._episode.environment.answer_action
        answer = self.ask_for_answer(node) if answer_action else None
        if answer is not None:
            self._episode.run(f"agent.{answer_action}({answer!r})", source=PLANNER_ROLE)
        raise EpisodeOver(CONSIDERED_COMPLETE)

    def end(self, reason: str) -> FailedRound:
        """Record the branches of the round, its number of actions, and the environment's verdict.

        Return a description of the round for the next plan's prompt. ``reason`` says why the round ended.
        """
        for node in self._nodes:
            if node.span is None:
                self._frame.scope.record_instant(node.branch)
            else:
                node.span.end(**dict(node.branch))
        steps = self._episode.steps[self._first_step :]
        self._span.end(
            actions=sum(step.action.name != self._episode.environment.answer_action for step in steps),
            solved=self._episode.verdict().solved,
        )
        return FailedRound(self.parts, [node.branch.effect for node in self._tried], reason)

    def _begin(self, node: Node, cell: int | None) -> None:
        """Begin the span of a branch whose code is about to be run for the first time, as the cell with this number."""
        self._record_changes()
        if self._tried and (last_span := self._tried[-1].span):
            last_span.end()
        node.change(fate="", cell=cell)
        node.span = self._frame.scope.span(node.branch)
        self._tried.append(node)

    def _record_changes(self) -> None:
        for node in self._tried:
            if node.span is not None:
                node.span.update(**dict(node.branch))

    def _count_steps(self, node: Node, first_step: int) -> Sequence[Step]:
        """Return the steps since ``first_step``. Count them for the branch, and add their notes to the notebook."""
        steps = self._episode.steps[first_step:]
        self._idle_cells += not steps
        lasting = node.branch.lasting or any(step.observation.lasting for step in steps)
        node.change(actions=node.branch.actions + len(steps), lasting=lasting)
        self._notebook.add_from_steps(steps)
        return steps

    def _events(self, parent: Node, steps: Sequence[Step], output: str) -> str:
        """Return the text for prompts on the effects of code that was run in the state of ``parent``."""
        events = CellSteps(self._episode.environment, steps, Observation(parent.page)).report(output)
        if limit_message := self._frame.limit_message:
            events = RenderedText.of(f"{events}\n{limit_message}", events, limit_message)
        return events or "The code took no action and printed nothing."

    def _scene(self) -> str:
        """Return the scene for prompts.

        If plans pause to look at observations (``pauses``), return "", since the observation already shows the scene.
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
    episode: Episode, options: AdvocateOptions, play: Callable[[SearchRound], None], *, reflects: bool = True
) -> None:
    """Plan and play up to ``options.rounds`` rounds. ``play`` carries out the plan of one round.

    If ``reflects`` is True, rounds share notes, and each plan after the first is based on the earlier rounds. If the
    task is considered complete in a round, or if an answer is given, no other round follows. The last round counts
    (see ``play_in_rounds``).
    """
    earlier: list[FailedRound] = []
    shared_notebook = Notebook()

    def play_one(number: int) -> None:
        notebook, known_rounds = (shared_notebook, tuple(earlier)) if reflects else (Notebook(), ())
        functions, helpers = notebook.functions(episode), episode.recall().helpers
        with episode.frame("act", functions, helpers, task=public_task_fields(episode)) as frame:
            search = SearchRound(episode, frame, options, notebook, number, known_rounds, revision=bool(earlier))
            try:
                play(search)
            except EpisodeOver as over:
                earlier.append(search.end(str(over)))
                if episode.environment.answered:
                    raise EpisodeOver(CONSIDERED_COMPLETE) from over
                raise
            earlier.append(search.end(NOTHING_LEFT))

    play_in_rounds(episode, options.rounds, play_one, until_solved=False)
