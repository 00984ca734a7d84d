"""What the browser is shown: the page, and what has become of it since."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from planbook.planner import Budget, Outcome
from planbook.report.costs import costs
from planbook.report.episodes import episode_html, head_rows
from planbook.report.learnt import learnt
from planbook.report.page import STYLES, figures_of, joined
from planbook.report.rendering import plain
from planbook.results import known_milestones, milestones, unlocked
from planbook.terminal.printing import spending
from planbook.watching.following import Following
from planbook.watching.steered import Doing, Steered
from planbook.wording import clock
from planbook.workers import Request

ANCHOR = "run-0"
PAGE = "watch.html.j2"
SCRIPTS = ("watch_inside.js", "report_episodes.js", "report_filter.js", "report.js", "watch.js")
CAN: dict[Doing, tuple[Request, ...]] = {
    "playing": ("pause", "stop"),
    "pausing": ("go on", "stop"),
    "paused": ("go on", "stop"),
    "stopping": (),
    "beginning again": (),
    "stopped": ("go on",),
    "over": (),
}
"""What can be asked for, by what the run is doing."""


@dataclass(frozen=True)
class Now:
    """The line at the top."""

    doing: Doing
    problem: str
    total: int
    ended: int
    under_way: int
    solved: int
    broken: int
    spending: str
    left: str
    first: str
    """Where the first episode is that is under way; empty for none."""


class Pages:
    """Renders what is followed; what is new is read just before."""

    def __init__(self, following: Following, steered: Steered) -> None:
        self._at, self._steered = following, steered
        self.style, self.script = joined((*STYLES, "watch.css")), joined(SCRIPTS)

    def page(self) -> str:
        """The page as it opens."""
        at = self._at
        with at.lock:
            at.catch_up()
            return _render("page", at.read, ANCHOR, self._now(), range(at.entries), Markup(self._figures()), at.version)

    def inside(self, index: int) -> str | None:
        """An episode cell by cell; None where there is none of that number."""
        with self._at.lock:
            self._at.catch_up()
            played = self._at.read.episodes.get(index)
            return None if played is None else episode_html(self._at.read, played, f"{ANCHOR}-{index}")

    def news(self, since: int) -> tuple[int, dict[str, Any]]:
        """The version by now, and what is new since that one."""
        at = self._at
        with at.lock:
            at.catch_up()
            now = self._now()
            told: dict[str, Any] = {
                "state": _render("state", now),
                "title": f"{now.ended}/{now.total} {now.doing} · {at.read.name}",
                "can": CAN[now.doing],
                "under_way": [
                    f"{ANCHOR}-{index}" for index, each in at.read.episodes.items() if each.is_open and at.played
                ],
            }
            if at.version > since:
                told["figures"] = self._figures()
                told["rows"] = self._rows({index for index, version in at.changed.items() if version > since})
            return at.version, told

    def _figures(self) -> str:
        """Those of the report, but for charts and for what counts episodes as failed that may not: they end yet."""
        read = self._at.read
        figures, cost = figures_of(read, ANCHOR), replace(costs(read), charts=())
        if self._at.played:
            figures["failures"] = [each for each in figures["failures"] if each[0] != Outcome.NOT_RUN]
            figures |= self._reached()
        return _render("figures", figures, cost, self._at.run.config, learnt(read.run))

    def _reached(self) -> dict[str, Any]:
        """What was reached on the way in the episodes that have ended: those to come may reach it yet."""
        so_far, known = self._at.so_far(), known_milestones(self._at.run.config)
        reached = milestones(so_far, known)
        return {"milestones": reached, "unlock_score": unlocked(reached, known), "so_far": len(so_far)}

    def _rows(self, changed: Collection[int]) -> str:
        read = self._at.read
        some = {index: played for index, played in read.episodes.items() if index in changed}
        return head_rows(replace(read, episodes=some), ANCHOR, changed, live=True)

    def _now(self) -> Now:
        at = self._at
        endings = [each.ending for each in at.so_far()]
        left = at.left()
        return Now(
            doing=self._steered.doing,
            problem=self._steered.problem,
            total=at.entries,
            ended=len(endings),
            under_way=at.under_way,
            solved=sum(ending.outcome.solved for ending in endings),
            broken=sum(ending.outcome is Outcome.BROKEN for ending in endings),
            spending=spending(at.read.cost, Budget()),
            left="" if left is None else clock(left),
            first=next((f"{ANCHOR}-{index}" for index, each in at.read.episodes.items() if each.is_open), ""),
        )


def _render(macro: str, *arguments: object) -> str:
    return str(getattr(plain().get_template(PAGE).module, macro)(*arguments))
