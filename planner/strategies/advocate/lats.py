"""Tree search over sampled actions, as in LATS, which Devil's Advocate is compared with (section 4.1): its questions.

Only a moment that still lies behind the present one can be gone back to (``Episode.rewind``). To reach another one, the
search goes back to the last moment on the way there that it can, and runs the code of the rest of the way again: the
steps left behind are marked undone, those taken again are counted again.
"""

from dataclasses import dataclass, field
from math import inf, log, sqrt

from pydantic import BaseModel, Field

from planbook.planner.episode import Episode
from planbook.planner.roles import Sample
from planbook.planner.strategies.advocate.options import AdvocateOptions
from planbook.planner.strategies.advocate.playing import Playing
from planbook.planner.strategies.advocate.replies import meaning
from planbook.planner.strategies.advocate.rounds import play_rounds
from planbook.planner.strategies.advocate.tree import Branch, Moment


class LatsOptions(AdvocateOptions):
    """Both: what is shared, and how wide and how long a round searches."""

    samples: int = Field(default=3, ge=1, le=10, description="Actions sampled at a moment; what comes twice is one.")
    expansions: int = Field(default=10, ge=1, le=1_000, description="Moments of a round at which actions are sampled.")
    exploration: float = Field(
        default=1.0, ge=0, allow_inf_nan=False, description="Weight of what was seldom visited when a moment is chosen."
    )
    temperature: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="Of the samples; null is that of the planner."
    )


def lats(episode: Episode, options: BaseModel) -> None:
    """Plan, search, and plan anew when the search has found nothing."""
    chosen = LatsOptions.model_validate(options)
    play_rounds(episode, chosen, lambda playing: Search(playing, chosen).search())


TWIN = "It took the same actions as another sample."


@dataclass(eq=False)
class SearchNode:
    """A moment in the tree of a search, or an idea that failed. ``total`` sums up values from 0 to 1."""

    moment: Moment | None
    branch: Branch | None = None
    parent: "SearchNode | None" = None
    children: list["SearchNode"] = field(default_factory=list)
    visits: int = 0
    total: float = 0.0
    closed: bool = False
    """Nothing more can be tried from here."""

    @property
    def way(self) -> list["SearchNode"]:
        """The nodes from the root to this one."""
        return [*(self.parent.way if self.parent else []), self]

    @property
    def is_a_twin(self) -> bool:
        """Whether an idea before it took the very same actions from the same moment."""
        others = self.parent.children if self.parent else []
        before = [other.moment.actions for other in others[: others.index(self)] if other.moment] if others else []
        return self.moment is not None and bool(self.moment.actions) and self.moment.actions in before

    def worth(self, exploration: float) -> float:
        """Its mean value, more if it was seldom visited (UCT)."""
        if not self.visits or not self.parent:
            return inf
        return self.total / self.visits + exploration * sqrt(log(self.parent.visits) / self.visits)


class Search:
    """The search of one round. ``_line`` are the nodes, from the root on, whose marks can be gone back to."""

    def __init__(self, playing: Playing, options: LatsOptions) -> None:
        self._playing, self._options = playing, options
        self._root = SearchNode(playing.start)
        self._line: list[SearchNode] = []
        playing.counsel.line_only = True

    def search(self) -> None:
        """Expand the most promising moment, again and again. Raises EpisodeOver when the task is held complete."""
        if self._playing.counsel.task_done(self._playing.start):
            self._playing.finish(self._playing.start)
        for _ in range(self._options.expansions):
            chosen = self._select()
            if chosen is None:
                return
            moment = self._reach(chosen)
            chosen.closed = moment is None or not self._expand(chosen, moment)

    def _select(self) -> SearchNode | None:
        """The leaf that the best of the open children lead to; None where there is none."""
        node = self._root
        while node.children or node.closed:
            open_children = [child for child in node.children if not child.closed]
            if open_children:
                node = max(open_children, key=lambda child: child.worth(self._options.exploration))
            elif node.parent is None:
                return None
            else:
                node.closed, node = True, node.parent
        return node

    def _reach(self, node: SearchNode) -> Moment | None:
        """Go to a node's moment; None if the way there no longer leads there."""
        if node.moment is self._playing.here:
            return node.moment
        way = node.way
        while self._line[-1] not in way:
            self._line.pop()
        last = self._line[-1]
        assert last.moment is not None
        self._playing.return_to(last.moment)
        for each in way[way.index(last) + 1 :]:
            if not self._again(each):
                each.closed = True
                return None
        return node.moment

    def _again(self, node: SearchNode) -> bool:
        """Run a node's code again, from where its parent led to."""
        assert node.parent is not None
        assert node.branch is not None
        assert node.moment is not None
        assert node.parent.moment is not None
        after = self._playing.carry_out(node.parent.moment, node.branch)
        if after is None:
            return False
        node.moment.looks(after.page, after.seen)
        self._playing.keep(node.branch, node.moment)
        self._mark(node, node.moment)
        return True

    def _mark(self, node: SearchNode, moment: Moment) -> None:
        if node not in self._line:
            self._playing.mark(moment)
            self._line.append(node)

    def _expand(self, node: SearchNode, moment: Moment) -> bool:
        """Try what is sampled at a moment; False where there is nothing to try."""
        counsel = self._playing.counsel
        if counsel.subtask_done(moment):
            moment.subtask += 1
        if moment.subtask == len(counsel.parts):
            return False
        self._mark(node, moment)
        for branch in self._samples(moment):
            if moment is not self._playing.here:
                self._playing.return_to(moment)
                del self._line[self._line.index(node) + 1 :]
            node.children.append(SearchNode(None, branch, node))
            self._simulate(node.children[-1], moment)
        return bool(node.children)

    def _samples(self, moment: Moment) -> list[Branch]:
        """Actions for a moment, drawn independently of each other."""
        count, found = self._options.samples, dict[str, Branch]()
        for sample in range(count):
            plan = self._playing.act(moment, Sample(self._playing.number * count + sample, self._options.temperature))
            if plan is not None and meaning(plan.code) not in found:
                found[meaning(plan.code)] = self._playing.idea(moment, sample, plan)
        return list(found.values())

    def _simulate(self, node: SearchNode, before: Moment) -> None:
        """Run a sample, value where it leads, and let the nodes on the way know."""
        assert node.branch is not None
        branch, counsel = node.branch, self._playing.counsel
        node.moment = self._playing.carry_out(before, branch)
        node.closed = node.moment is None
        if node.is_a_twin:
            branch.fate, branch.why, node.closed, node.moment = "turned back", TWIN, True, None
            return
        value = 0.0
        if node.moment is not None:
            judged = counsel.valued(before, branch.mapped or branch.code, node.moment)
            branch.history, branch.why, value = judged.did, judged.why, judged.value
            self._playing.keep(branch, node.moment)
        for each in node.way:
            each.visits, each.total = each.visits + 1, each.total + value
            if each.branch is not None:
                each.branch.visits, each.branch.value = each.visits, each.total / each.visits
        if node.moment is not None and counsel.task_done(node.moment):
            self._playing.finish(node.moment)
