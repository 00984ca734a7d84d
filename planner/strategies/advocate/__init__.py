"""Three methods that search: Devil's Advocate, and two baselines of its paper, Plan+Act and LATS.

Each round makes a plan of subtasks, and then searches for code that carries out the plan. All three grow a tree: a node
is a piece of code with the state of the environment to which it leads. Devil's Advocate keeps a stack of the nodes that
it may still try (section 3.3 and algorithm 1 of the paper). Plan+Act is the same search without alternatives. LATS
continues at the most promising node, according to the values that the evaluator gives.

- ``round`` plays one round, which is one attempt at the task with one plan.
- ``model_calls`` asks the models and reads their replies.
- ``tree`` defines the nodes and their records, and computes the figures.
"""

from collections.abc import Mapping
from functools import partial
from math import inf, log, sqrt

from pydantic import Field

from planbook.envs import Environment
from planbook.planner.episode import Episode
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import PLANNER_ROLE, Sample
from planbook.planner.strategies.advocate.model_calls import EVALUATOR, SUMMARIZER, AdvocateOptions, normal_form
from planbook.planner.strategies.advocate.round import SearchRound, play_rounds
from planbook.planner.strategies.advocate.tree import BranchTried, Node, PlanMade, SearchFigures
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
    """Plan and act. Before each action, ask for alternatives to it (remedies).

    If the action turns out not to fit its subtask, undo it and try an alternative. When none is left, plan again.
    """
    play_rounds(episode, options, lambda search: search_with_stack(search, options.remedies))


def search_with_stack(search: SearchRound, remedies: int) -> None:
    """Carry out the plan of a round. Return when no branch is left to try.

    Raises EpisodeOver when the task is considered complete.

    The stack holds the nodes that are still to be tried. A state with several proposals gets a checkpoint, so that the
    search can return to it.
    """
    stack = [search.root]
    while stack:
        node = stack.pop()
        if node.parent is not None and not _try(search, node.parent, node):
            continue
        if search.is_task_done(node):
            search.finish(node)
        if search.is_subtask_done(node):
            node.subtask += 1
        if node.subtask < len(search.parts):
            proposals = search.propose(node, remedies)
            if len(proposals) > 1:
                search.mark(node)
            stack += reversed(proposals)


def _try(search: SearchRound, parent: Node, node: Node) -> bool:
    """Run the code of a node. Return False if it fails, or if the evaluator finds that it does not fit its subtask."""
    if parent is not search.current_node:
        search.return_to(parent)
    if not search.carry_out(node):
        return False
    if not search.evaluate("align", parent, node):
        node.change(fate="turned back")
        return False
    search.keep(node)
    return True


class PlanActOptions(AdvocateOptions):
    """The shared options, and the use of earlier rounds in plans."""

    reflects: bool = Field(
        default=True,
        description="Base each plan after the first on the earlier rounds; false means the paper's Plan+Act without "
        "reflection.",
    )


def plan_act(episode: Episode, options: PlanActOptions) -> None:
    """Plan and act step by step. Plan again as soon as an action does not fit its subtask."""
    play_rounds(episode, options, lambda search: search_with_stack(search, 0), reflects=options.reflects)


class LatsOptions(AdvocateOptions):
    """The shared options, and the width and length of a round's search."""

    samples: int = Field(default=3, ge=1, le=10, description="Number of samples for a state; duplicates are dropped.")
    expansions: int = Field(default=10, ge=1, le=1_000, description="Maximum number of states expanded in a round.")


def lats(episode: Episode, options: LatsOptions) -> None:
    """Plan, and search a tree of sampled code. Plan again if the search does not complete the task."""
    play_rounds(episode, options, lambda search: search_tree(search, options))


DUPLICATE = "It took the same actions as another sample."


def search_tree(search: SearchRound, options: LatsOptions) -> None:
    """Repeatedly expand the most promising node, until all nodes are closed or the limit is reached.

    Raises EpisodeOver when the task is considered complete.
    """
    search.current_path_only = True
    if search.is_task_done(search.root):
        search.finish(search.root)
    for _ in range(options.expansions):
        node = _select(search.root)
        if node is None:
            return
        node.closed = not _reach(search, node) or not _expand(search, node, options.samples)


def uct(node: Node) -> float:
    """Return the UCT value of a node: the mean value of its samples, plus a bonus for few visits."""
    if not node.visits or not node.parent:
        return inf
    return node.total / node.visits + sqrt(log(node.parent.visits) / node.visits)


def _select(root: Node) -> Node | None:
    """Descend from the root to a leaf, choosing the open child with the highest UCT value at each level.

    Return the leaf, or None if all nodes are closed.
    """
    node = root
    while node.children or node.closed:
        open_children = [child for child in node.children if not child.closed]
        if open_children:
            node = max(open_children, key=uct)
        elif node.parent is None:
            return None
        else:
            node.closed, node = True, node.parent
    return node


def _reach(search: SearchRound, node: Node) -> bool:
    """Bring the environment back to the state of a node. Return False if this fails.

    Restore the last checkpoint on the path to the node, and run the code of the later nodes on the path again.
    """
    if node is search.current_node:
        return True
    path = node.path
    last_marked = max(index for index, path_node in enumerate(path) if path_node.mark)
    search.return_to(path[last_marked])
    for next_node in path[last_marked + 1 :]:
        if not search.carry_out(next_node):
            next_node.closed = True
            return False
        search.keep(next_node)
        search.mark(next_node)
    return True


def _expand(search: SearchRound, node: Node, samples: int) -> bool:
    """Ask for samples of code for the state of a node, and try each. Return False if there is nothing to try."""
    if search.is_subtask_done(node):
        node.subtask += 1
    if node.subtask == len(search.parts):
        return False
    search.mark(node)
    for child in _sample(search, node, samples):
        if node is not search.current_node:
            search.return_to(node)
        _simulate(search, node, child)
    return bool(node.children)


def _sample(search: SearchRound, node: Node, samples: int) -> list[Node]:
    """Ask for independent samples of code for the state of a node. Return a child for each, without duplicates."""
    children: dict[str, Node] = {}
    for number in range(samples):
        plan, _ = search.ask_for_code(node, Sample(search.number * samples + number))
        if plan is not None and (code := normal_form(plan.code)) not in children:
            children[code] = search.add_child(node, number, plan)
    return list(children.values())


def _simulate(search: SearchRound, parent: Node, node: Node) -> None:
    """Run the sample of a new node, evaluate the state that it leads to, and update all nodes on its path."""
    is_reached, value = search.carry_out(node), 0.0
    node.closed = not is_reached
    if node.actions and node.actions in [child.actions for child in parent.children[: parent.children.index(node)]]:
        node.change(fate="turned back", why=DUPLICATE)
        node.closed = True
        return
    if is_reached:
        value = search.evaluate("value", parent, node)
        search.keep(node)
    for path_node in node.path:
        path_node.visits, path_node.total = path_node.visits + 1, path_node.total + value
        path_node.change(visits=path_node.visits, value=path_node.total / path_node.visits)
    if is_reached and search.is_task_done(node):
        search.finish(node)


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
