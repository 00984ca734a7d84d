"""The page of a run that is being watched, and the updates that it appends."""

from typing import Any

from planbook.planner import Budget, Outcome, Step, call_of
from planbook.report import episode_document, rendered, row, sections, view, visible
from planbook.results import Result
from planbook.terminal.printing import spending
from planbook.watching.following import Doing, Following, Steered
from planbook.wording import clock, counted, first_line
from planbook.workers import Request

ANCHOR = "run-0"
CAN: dict[Doing, tuple[Request, ...]] = {
    "playing": ("pause", "stop"),
    "pausing": ("go on", "stop"),
    "paused": ("go on", "stop"),
    "stopping": (),
    "starting again": (),
    "stopped": ("go on",),
    "over": (),
}
"""Requests that are offered, by the state of the run."""
MOST_NOW, LONG = 8, 160
"""Episodes under way that the top of the page lists, and characters of what happens there."""


class Pages:
    """Renders the run that is followed; news are read first."""

    def __init__(self, following: Following, steered: Steered) -> None:
        self._at, self._steered = following, steered

    def page(self) -> str:
        """Return the page as it opens."""
        version, news = self.news(0)
        with self._at.lock:
            shown = view(0, self._at.read, live=self._at.played)
        for each in shown["rows"]:
            each["document"] = each["n"]
        live = news | {"version": version, "sections": None, "rows": []}
        return "".join(rendered([shown], news["title"], "planbook watch", live=live))

    def inside(self, index: int) -> Any:
        """Return the document of an episode; None where there is none of that number."""
        with self._at.lock:
            self._at.catch_up()
            episode = self._at.read.episodes.get(index)
            return None if episode is None else episode_document(self._at.read, episode)

    def news(self, since: int) -> tuple[int, dict[str, Any]]:
        """Return the version by now, and what is new since that one."""
        at = self._at
        with at.lock:
            at.catch_up()
            state = self._state()
            told: dict[str, Any] = {
                "state": state,
                "title": f"{state['ended']}/{state['total']} {state['doing']} · {at.read.name}",
                "can": CAN[self._steered.doing],
                "under_way": [f"{ANCHOR}-{each.index}" for each in at.under_way()] if at.played else [],
            }
            if at.version > since:
                changed = (at.read.episodes[index] for index, version in at.changed.items() if version > since)
                told["sections"] = sections(at.read, ANCHOR, live=at.played)
                told["rows"] = [row(at.read, each, ANCHOR, live=at.played) for each in changed]
            return at.version, visible(told)

    def _state(self) -> dict[str, Any]:
        """Return the line at the top, and what happens now."""
        at, doing = self._at, self._steered.doing
        endings = [each.ending for each in at.so_far()]
        waits = doing in ("playing", "paused", "pausing") and len(endings) < at.entries
        left = at.left()
        return {
            "doing": doing,
            "problem": self._steered.problem,
            "total": at.entries,
            "ended": len(endings),
            "solved": sum(ending.outcome.solved for ending in endings),
            "broken": sum(ending.outcome is Outcome.BROKEN for ending in endings),
            "spending": spending(at.read.cost, Budget()),
            "left": "" if not waits or left is None else f"about {clock(left)} left",
            "now": [self._now(each) for each in at.under_way()[:MOST_NOW]],
        }

    def _now(self, episode: Result) -> dict[str, str]:
        """Return an episode that is under way, with the last thing that happened in it."""
        task = {"id": f"{ANCHOR}-{episode.index}", "task": episode.entry.task.id, "goal": episode.task.goal}
        return task | {"said": "" if self._at.played else "cut off; a resume goes on with it"} | self._last(episode)

    def _last(self, episode: Result) -> dict[str, str]:
        event = self._at.last.get(episode.index)
        body: Any = event.body if event else None
        if event is None or not self._at.played:
            return {}
        if event.kind == "act":
            step = Step.model_validate(body)
            return {"said": f"{call_of(step.action)} → {first_line(step.observation.text)}"[:LONG]}
        if event.kind == "heard":
            lines = [line for line in body["text"].splitlines() if line.strip()]
            return {"said": f"is being written: {lines[-1] if lines else ''}"[:LONG]}
        said = (
            f"{body['role']} replied to {body['template']}"
            if event.kind == "ask"
            else f"a cell ended: {body['feedback']['kind']}"
        )
        return {"said": f"{said}, {counted(episode.cost.actions, 'action')} so far"}
