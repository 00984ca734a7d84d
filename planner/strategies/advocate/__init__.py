"""Three methods that search: Devil's Advocate, and two baselines of its paper, Plan+Act and LATS.

Each round makes a plan of subtasks, and then searches for code that carries out the plan. A state of the search is a
situation that the environment was in, and a branch is code that leads from one state to the next. Devil's Advocate
keeps a stack of the branches that it may still try (section 3.3 and algorithm 1 of the paper). Plan+Act is the same
search without alternatives. LATS grows a tree of sampled code, and continues at the state whose value, given by the
evaluator, is most promising.

- ``round`` plays one round, which is one attempt at the task with one plan.
- ``model_calls`` asks the models and reads their replies.
- ``tree`` records the branches, and computes the figures.
"""

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
from planbook.planner.strategies.advocate.tree import Branch, BranchTried, PlanMade, SearchFigures, SearchState
from planbook.planner.strategies.base import Method


class DevilsAdvocateOptions(AdvocateOptions):
    """The shared options, and the number of remedies before each action."""

    remedies: int = Field(
        default=2,
        ge=0,
        le=10,
        description="Number of alternatives to ask for before each action; with 0, the method never turns back. A "
        "model that sees no alternative answers NONE and is not asked for more. Duplicates are dropped.",
    )


def devils_advocate(episode: Episode, options: DevilsAdvocateOptions) -> None:
    """Plan and act. Before each action, ask for alternatives to this action, which are called remedies.

    If the action turns out not to fit its subtask, undo it and try an alternative. When none is left, plan again.
    """
    play_rounds(episode, options, lambda current: search_with_stack(current, options.remedies))


def search_with_stack(advocate_round: AdvocateRound, remedies: int) -> None:
    """Carry out the plan of a round. Return when no branch is left to try.

    Raises EpisodeOver when the task is considered complete.

    Each entry of the stack is a state and a branch to try in this state. Only the first entry has no branch. If the
    stack has several entries for a state, the state has a checkpoint, so that the search can return to it. The return
    makes the checkpoints of later states invalid. They are no longer needed, because by then all branches of those
    states have been tried.
    """
    stack: list[tuple[SearchState, Branch | None]] = [(advocate_round.start, None)]
    while stack:
        state, branch = stack.pop()
        if state is not advocate_round.current:
            advocate_round.return_to(state)
        if branch is not None:
            after = try_branch(advocate_round, state, branch)
            if after is None:
                continue
            state = after
        if advocate_round.model_calls.task_done(state):
            advocate_round.finish(state)
        if advocate_round.model_calls.subtask_done(state):
            state.subtask += 1
        if state.subtask < len(advocate_round.model_calls.parts):
            branches = advocate_round.propose_branches(state, remedies)
            if len(branches) > 1:
                advocate_round.mark(state)
            stack += [(state, proposed) for proposed in reversed(branches)]


def try_branch(advocate_round: AdvocateRound, state: SearchState, branch: Branch) -> SearchState | None:
    """Run the code of a branch. Return the state that it leads to.

    Return None if the code fails, or if the evaluator finds that it does not fit its subtask.
    """
    after = advocate_round.carry_out(state, branch)
    if after is None:
        return None
    evaluation = advocate_round.model_calls.evaluation("align", state, branch.mapped or branch.code, after)
    branch.history, branch.why = evaluation.effect, evaluation.reason
    if not evaluation.value:
        branch.fate = "turned back"
        return None
    advocate_round.keep(branch, after)
    return after


class PlanActOptions(AdvocateOptions):
    """The shared options, and whether a plan is based on the earlier rounds."""

    reflects: bool = Field(
        default=True,
        description="Base each plan after the first on the earlier rounds; false means the paper's Plan+Act without "
        "reflection.",
    )


def plan_act(episode: Episode, options: PlanActOptions) -> None:
    """Plan and act step by step. Plan again as soon as an action does not fit its subtask."""
    play_rounds(episode, options, lambda current: search_with_stack(current, 0), reflects=options.reflects)


class LatsOptions(AdvocateOptions):
    """The shared options, and the width and length of a round's search."""

    samples: int = Field(default=3, ge=1, le=10, description="Number of samples for a state; duplicates are dropped.")
    expansions: int = Field(default=10, ge=1, le=1_000, description="Maximum number of states expanded in a round.")


def lats(episode: Episode, options: LatsOptions) -> None:
    """Plan, and search a tree of sampled code. Plan again if the search does not complete the task."""
    play_rounds(episode, options, lambda current: TreeSearch(current, options).search())


DUPLICATE = "It took the same actions as another sample."


@dataclass(eq=False)
class SearchNode:
    """A node of the search tree: a branch and the state that the branch led to."""

    state: SearchState | None
    """The state, or None if the branch failed or took the same actions as an earlier sample."""
    branch: Branch | None = None
    """The branch, or None for the root."""
    parent: "SearchNode | None" = None
    children: list["SearchNode"] = field(default_factory=list)
    visits: int = 0
    """Number of samples that were run for this node and for the nodes below it, without duplicates."""
    total: float = 0.0
    """Sum of the values of these samples. A value is between 0 and 1, and 0 for a failed sample."""
    closed: bool = False
    """True if nothing is left to try from this node on."""

    @property
    def path(self) -> list["SearchNode"]:
        """The nodes from the root to this one."""
        return [*(self.parent.path if self.parent else []), self]

    @property
    def is_duplicate(self) -> bool:
        """True if an earlier sample for the same state took exactly the same actions."""
        siblings = self.parent.children if self.parent else [self]
        earlier = [node.state.actions for node in siblings[: siblings.index(self)] if node.state]
        return self.state is not None and bool(self.state.actions) and self.state.actions in earlier

    @property
    def uct(self) -> float:
        """The UCT value of the node: the mean value of its samples, plus a bonus for few visits."""
        if not self.visits or not self.parent:
            return inf
        return self.total / self.visits + sqrt(log(self.parent.visits) / self.visits)


class TreeSearch:
    """The tree search of one round (LATS)."""

    def __init__(self, advocate_round: AdvocateRound, options: LatsOptions) -> None:
        self._round, self._options = advocate_round, options
        self._root = SearchNode(advocate_round.start)
        self._marked_path: list[SearchNode] = []
        """The nodes, beginning with the root, whose states have a checkpoint that is still valid."""
        advocate_round.model_calls.current_path_only = True

    def search(self) -> None:
        """Expand the most promising node, again and again, until all nodes are closed or the limit is reached.

        Raises EpisodeOver when the task is considered complete.
        """
        if self._round.model_calls.task_done(self._round.start):
            self._round.finish(self._round.start)
        for _ in range(self._options.expansions):
            chosen = self._select()
            if chosen is None:
                return
            state = self._reach(chosen)
            chosen.closed = state is None or not self._expand(chosen, state)

    def _select(self) -> SearchNode | None:
        """Descend from the root to a leaf, at each level to the child with the highest UCT value that is not closed.

        Return the leaf, or None if all nodes are closed.
        """
        node = self._root
        while node.children or node.closed:
            open_children = [child for child in node.children if not child.closed]
            if open_children:
                node = max(open_children, key=lambda child: child.uct)
            elif node.parent is None:
                return None
            else:
                node.closed, node = True, node.parent
        return node

    def _reach(self, node: SearchNode) -> SearchState | None:
        """Bring the environment back to the state of a node, and return the state.

        Restore the last valid checkpoint on the path to the node, and run the code of the later branches on the path
        again. Return None if this code fails.
        """
        if node.state is self._round.current:
            return node.state
        path = node.path
        while self._marked_path[-1] not in path:
            self._marked_path.pop()
        last = self._marked_path[-1]
        assert last.state is not None
        state = last.state
        self._round.return_to(state)
        for path_node in path[path.index(last) + 1 :]:
            assert path_node.branch is not None
            assert path_node.state is not None
            after = self._round.carry_out(state, path_node.branch)
            if after is None:
                path_node.closed = True
                return None
            state = path_node.state
            state.update_page(after.page, after.report, after.scene)
            self._round.keep(path_node.branch, state)
            self._mark(path_node, state)
        return node.state

    def _mark(self, node: SearchNode, state: SearchState) -> None:
        """Make a checkpoint of the current state, which is the state of the node, unless it has a valid one."""
        if node not in self._marked_path:
            self._round.mark(state)
            self._marked_path.append(node)

    def _expand(self, node: SearchNode, state: SearchState) -> bool:
        """Ask for samples of code for the state of a node, and try each. Return False if there is nothing to try."""
        if self._round.model_calls.subtask_done(state):
            state.subtask += 1
        if state.subtask == len(self._round.model_calls.parts):
            return False
        self._mark(node, state)
        for branch in self._samples(state):
            if state is not self._round.current:
                self._round.return_to(state)
                del self._marked_path[self._marked_path.index(node) + 1 :]
            node.children.append(SearchNode(None, branch, node))
            self._simulate(node.children[-1], state)
        return bool(node.children)

    def _samples(self, state: SearchState) -> list[Branch]:
        """Ask for independent samples of code for a state. Return a branch for each, without duplicates."""
        count, branches = self._options.samples, dict[str, Branch]()
        for sample in range(count):
            number = self._round.number * count + sample
            plan, _ = self._round.model_calls.ask_for_code(state, Sample(number))
            if plan is None:
                continue
            code = normal_form(plan.code)
            if code not in branches:
                branches[code] = self._round.add_branch(state, sample, plan)
        return list(branches.values())

    def _simulate(self, node: SearchNode, before: SearchState) -> None:
        """Run the sample of a new node, evaluate the state that it leads to, and update all nodes on its path."""
        assert node.branch is not None
        branch, model_calls = node.branch, self._round.model_calls
        node.state = self._round.carry_out(before, branch)
        node.closed = node.state is None
        if node.is_duplicate:
            branch.fate, branch.why, node.closed, node.state = "turned back", DUPLICATE, True, None
            return
        value = 0.0
        if node.state is not None:
            evaluation = model_calls.evaluation("value", before, branch.mapped or branch.code, node.state)
            branch.history, branch.why, value = evaluation.effect, evaluation.reason, evaluation.value
            self._round.keep(branch, node.state)
        for ancestor in node.path:
            ancestor.visits, ancestor.total = ancestor.visits + 1, ancestor.total + value
            if ancestor.branch is not None:
                ancestor.branch.visits, ancestor.branch.value = ancestor.visits, ancestor.total / ancestor.visits
        if node.state is not None and model_calls.task_done(node.state):
            self._round.finish(node.state)


def _asks_summarizer(options: AdvocateOptions, environment: Environment) -> bool:
    """Return True if the role ``summarizer``, which shortens long observations, is asked with these options."""
    return options.summarise_above is not None


_search_method = partial(
    Method,
    roles=(PLANNER_ROLE, EVALUATOR, SUMMARIZER),
    conditional_roles={SUMMARIZER: _asks_summarizer},
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
    "lats": _search_method(lats, LatsOptions, "tree search over sampled actions, valued by the evaluator (like LATS)"),
    "plan-act": _search_method(
        plan_act, PlanActOptions, "plan and act step by step; an action that does not fit ends the round (Plan+Act)"
    ),
}
