"""Three searches: Devil's Advocate with its stack (section 3.3, algorithm 1), Plan+Act, and LATS."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf, log, sqrt

from pydantic import Field

from planbook.envs import Environment
from planbook.planner.episode import Episode
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import PLANNER_ROLE, Sample
from planbook.planner.strategies.advocate.model_calls import EVALUATOR, SUMMARIZER, AdvocateOptions, normal_form
from planbook.planner.strategies.advocate.round import AdvocateRound, play_rounds
from planbook.planner.strategies.advocate.tree import Branch, BranchTried, Moment, PlanMade, SearchFigures
from planbook.planner.strategies.base import Method


class DevilsAdvocateOptions(AdvocateOptions):
    """The shared options, and the number of remedies before each action."""

    remedies: int = Field(
        default=2,
        ge=0,
        le=10,
        description="Number of alternatives to ask for before each action; with 0, the method never turns back.",
    )


def devils_advocate(episode: Episode, options: DevilsAdvocateOptions) -> None:
    """Plan, act with remedies ready, turn back if an action does not fit its subtask; then plan again."""
    play_rounds(episode, options, lambda current: search_with_stack(current, options.remedies))


def search_with_stack(advocate_round: AdvocateRound, remedies: int) -> None:
    """Carry out a plan. Return when no branch is left; raise EpisodeOver when the task is considered complete.

    Each entry of the stack is a moment and a branch to try there; the first entry has no branch. A moment with several
    entries is marked. By the time an entry is popped, all entries of later moments have been tried, so returning to its
    mark forgets only marks that are no longer needed.
    """
    stack: list[tuple[Moment, Branch | None]] = [(advocate_round.start, None)]
    while stack:
        moment, branch = stack.pop()
        if moment is not advocate_round.here:
            advocate_round.return_to(moment)
        if branch is not None:
            after = follow(advocate_round, moment, branch)
            if after is None:
                continue
            moment = after
        if advocate_round.model_calls.task_done(moment):
            advocate_round.finish(moment)
        if advocate_round.model_calls.subtask_done(moment):
            moment.subtask += 1
        if moment.subtask < len(advocate_round.model_calls.parts):
            ideas = advocate_round.ideas(moment, remedies)
            if len(ideas) > 1:
                advocate_round.mark(moment)
            stack += [(moment, idea) for idea in reversed(ideas)]


def follow(advocate_round: AdvocateRound, moment: Moment, branch: Branch) -> Moment | None:
    """Run a branch. Return the moment it leads to; None if it fails or does not fit its subtask."""
    after = advocate_round.carry_out(moment, branch)
    if after is None:
        return None
    evaluation = advocate_round.model_calls.alignment(moment, branch.mapped or branch.code, after)
    branch.history, branch.why = evaluation.did, evaluation.why
    if not evaluation.value:
        branch.fate = "turned back"
        return None
    advocate_round.keep(branch, after)
    return after


class PlanActOptions(AdvocateOptions):
    """The shared options, and whether a round knows about earlier rounds."""

    reflects: bool = Field(
        default=True,
        description="Base each plan after the first on the earlier rounds; false is the paper's Plan+Act without "
        "reflection.",
    )


def plan_act(episode: Episode, options: PlanActOptions) -> None:
    """Plan, act step by step, and plan again as soon as an action does not fit its subtask."""
    play_rounds(episode, options, lambda current: search_with_stack(current, 0), reflects=options.reflects)


class LatsOptions(AdvocateOptions):
    """The shared options, and the width and length of a round's search."""

    samples: int = Field(default=3, ge=1, le=10, description="Number of samples at a moment; duplicates are dropped.")
    expansions: int = Field(default=10, ge=1, le=1_000, description="Maximum number of moments expanded in a round.")
    exploration: float = Field(
        default=1.0,
        ge=0,
        allow_inf_nan=False,
        description="Weight of rarely visited moments when one is chosen.",
    )
    temperature: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="Temperature of the samples; null is the planner's."
    )


def lats(episode: Episode, options: LatsOptions) -> None:
    """Plan, search, and plan again if the search found nothing."""
    play_rounds(episode, options, lambda current: Search(current, options).search())


DUPLICATE = "It took the same actions as another sample."


@dataclass(eq=False)
class SearchNode:
    """A moment in the search tree, or a failed idea. ``total`` is the sum of values from 0 to 1."""

    moment: Moment | None
    branch: Branch | None = None
    parent: "SearchNode | None" = None
    children: list["SearchNode"] = field(default_factory=list)
    visits: int = 0
    total: float = 0.0
    closed: bool = False
    """True if nothing is left to try from here."""

    @property
    def path(self) -> list["SearchNode"]:
        """The nodes from the root to this one."""
        return [*(self.parent.path if self.parent else []), self]

    @property
    def is_duplicate(self) -> bool:
        """True if an earlier idea took exactly the same actions from the same moment."""
        siblings = self.parent.children if self.parent else [self]
        earlier = [node.moment.actions for node in siblings[: siblings.index(self)] if node.moment]
        return self.moment is not None and bool(self.moment.actions) and self.moment.actions in earlier

    def uct(self, exploration: float) -> float:
        """Return the UCT value: the mean value plus a bonus for few visits."""
        if not self.visits or not self.parent:
            return inf
        return self.total / self.visits + exploration * sqrt(log(self.parent.visits) / self.visits)


class Search:
    """The search of one round. ``_marked_path`` holds the nodes, from the root on, whose marks are still valid."""

    def __init__(self, advocate_round: AdvocateRound, options: LatsOptions) -> None:
        self._round, self._options = advocate_round, options
        self._root = SearchNode(advocate_round.start)
        self._marked_path: list[SearchNode] = []
        advocate_round.model_calls.line_only = True

    def search(self) -> None:
        """Expand the most promising moment repeatedly. Raise EpisodeOver when the task is considered complete."""
        if self._round.model_calls.task_done(self._round.start):
            self._round.finish(self._round.start)
        for _ in range(self._options.expansions):
            chosen = self._select()
            if chosen is None:
                return
            moment = self._reach(chosen)
            chosen.closed = moment is None or not self._expand(chosen, moment)

    def _select(self) -> SearchNode | None:
        """Descend to the open child with the highest UCT value, level by level.

        Return the leaf; None if all nodes are closed.
        """
        node = self._root
        while node.children or node.closed:
            open_children = [child for child in node.children if not child.closed]
            if open_children:
                node = max(open_children, key=lambda child: child.uct(self._options.exploration))
            elif node.parent is None:
                return None
            else:
                node.closed, node = True, node.parent
        return node

    def _reach(self, node: SearchNode) -> Moment | None:
        """Return to a node's moment. Return None if its path no longer leads there."""
        if node.moment is self._round.here:
            return node.moment
        path = node.path
        while self._marked_path[-1] not in path:
            self._marked_path.pop()
        last = self._marked_path[-1]
        assert last.moment is not None
        self._round.return_to(last.moment)
        for step in path[path.index(last) + 1 :]:
            if not self._run_again(step):
                step.closed = True
                return None
        return node.moment

    def _run_again(self, node: SearchNode) -> bool:
        """Run a node's code again from its parent's moment. Return False if it fails."""
        assert node.parent is not None
        assert node.branch is not None
        assert node.moment is not None
        assert node.parent.moment is not None
        after = self._round.carry_out(node.parent.moment, node.branch)
        if after is None:
            return False
        node.moment.update_page(after.page, after.seen, after.scene)
        self._round.keep(node.branch, node.moment)
        self._mark(node, node.moment)
        return True

    def _mark(self, node: SearchNode, moment: Moment) -> None:
        if node not in self._marked_path:
            self._round.mark(moment)
            self._marked_path.append(node)

    def _expand(self, node: SearchNode, moment: Moment) -> bool:
        """Try the samples for a moment. Return False if there is nothing to try."""
        if self._round.model_calls.subtask_done(moment):
            moment.subtask += 1
        if moment.subtask == len(self._round.model_calls.parts):
            return False
        self._mark(node, moment)
        for branch in self._samples(moment):
            if moment is not self._round.here:
                self._round.return_to(moment)
                del self._marked_path[self._marked_path.index(node) + 1 :]
            node.children.append(SearchNode(None, branch, node))
            self._simulate(node.children[-1], moment)
        return bool(node.children)

    def _samples(self, moment: Moment) -> list[Branch]:
        """Return independent samples of code for a moment."""
        count, branches = self._options.samples, dict[str, Branch]()
        for sample in range(count):
            number = self._round.number * count + sample
            plan, _ = self._round.model_calls.ask_for_code(moment, Sample(number, self._options.temperature))
            if plan is not None and (code := normal_form(plan.code)) not in branches:
                branches[code] = self._round.idea(moment, sample, plan)
        return list(branches.values())

    def _simulate(self, node: SearchNode, before: Moment) -> None:
        """Run a sample, evaluate the moment it leads to, and update the nodes on the path."""
        assert node.branch is not None
        branch, model_calls = node.branch, self._round.model_calls
        node.moment = self._round.carry_out(before, branch)
        node.closed = node.moment is None
        if node.is_duplicate:
            branch.fate, branch.why, node.closed, node.moment = "turned back", DUPLICATE, True, None
            return
        value = 0.0
        if node.moment is not None:
            evaluation = model_calls.valuation(before, branch.mapped or branch.code, node.moment)
            branch.history, branch.why, value = evaluation.did, evaluation.why, evaluation.value
            self._round.keep(branch, node.moment)
        for ancestor in node.path:
            ancestor.visits, ancestor.total = ancestor.visits + 1, ancestor.total + value
            if ancestor.branch is not None:
                ancestor.branch.visits, ancestor.branch.value = ancestor.visits, ancestor.total / ancestor.visits
        if node.moment is not None and model_calls.task_done(node.moment):
            self._round.finish(node.moment)


def _summarises(options: AdvocateOptions, environment: Environment) -> bool:
    """Return True if long observations are summarised."""
    return options.summarise_above is not None


_search_method = partial(
    Method,
    roles=(PLANNER_ROLE, EVALUATOR, SUMMARIZER),
    sometimes={SUMMARIZER: _summarises},
    spans=(PlanMade, BranchTried),
    figures=(SearchFigures,),
    templates=PROMPTS.files("advocate/*.j2"),
)

METHODS: Mapping[str, Method] = {
    "devils-advocate": _search_method(
        devils_advocate,
        DevilsAdvocateOptions,
        "remedies before each action, turning back after a wrong one (Devil's Advocate)",
    ),
    "lats": _search_method(lats, LatsOptions, "tree search over sampled actions, valued by the evaluator (as LATS)"),
    "plan-act": _search_method(
        plan_act, PlanActOptions, "plan and act step by step; an action that does not fit ends the round (Plan+Act)"
    ),
}
