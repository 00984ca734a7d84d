"""The page of a run that is being watched, and its updates."""

from typing import Any

from planbook.planner import Budget, Outcome
from planbook.report.episodes import episode_document, row, visible
from planbook.report.page import page_pieces, view
from planbook.report.sections import sections
from planbook.results.rows import Result
from planbook.terminal.printing import spending
from planbook.watching.following import OFFERED, Following, RunControl
from planbook.wording import describe, first_line

ANCHOR = "run-0"
MAX_OPEN, MAX_CHARS = 8, 160
"""Maximum open episodes at the top of the page, and characters of the last activity of each."""


class Pages:
    """Renders the run that is followed; new events are read first."""

    def __init__(self, following: Following, control: RunControl) -> None:
        self._run, self._control = following, control

    def page(self) -> str:
        """Return the whole page."""
        version, news = self.news(0)
        with self._run.lock:
            run_view = view(0, self._run.read, live=self._run.played)
        for line in run_view["rows"]:
            line["document"] = line["n"]
        live = news | {"version": version, "sections": None, "rows": []}
        return "".join(page_pieces([run_view], news["title"], "planbook watch", live=live))

    def document(self, index: int) -> Any:
        """Return the document of an episode; None if there is no such episode."""
        with self._run.lock:
            self._run.catch_up()
            episode = self._run.read.episodes.get(index)
            return None if episode is None else episode_document(self._run.read, episode)

    def news(self, since: int) -> tuple[int, dict[str, Any]]:
        """Return the current version, and everything that has changed since the given one."""
        run = self._run
        with run.lock:
            run.catch_up()
            state = self._state()
            news: dict[str, Any] = {
                "state": state,
                "title": f"{state['ended']}/{state['total']} {state['doing']} · {run.read.name}",
                "can": OFFERED[self._control.state],
                "under_way": [f"{ANCHOR}-{episode.index}" for episode in run.under_way()] if run.played else [],
            }
            if run.version > since:
                changed = (run.read.episodes[index] for index, version in run.changed.items() if version > since)
                news["sections"] = sections(run.read, ANCHOR, live=run.played)
                news["rows"] = [row(run.read, episode, ANCHOR, live=run.played) for episode in changed]
            return run.version, visible(news)

    def _state(self) -> dict[str, Any]:
        """Return the figures at the top, and the open episodes."""
        run = self._run
        endings = [episode.ending for episode in run.so_far()]
        return {
            "doing": self._control.state,
            "problem": self._control.problem,
            "total": run.entries,
            "ended": len(endings),
            "solved": sum(ending.outcome.solved for ending in endings),
            "broken": sum(ending.outcome is Outcome.BROKEN for ending in endings),
            "spending": spending(run.read.cost, Budget()),
            "now": [self._open_episode(episode) for episode in run.under_way()[:MAX_OPEN]],
        }

    def _open_episode(self, episode: Result) -> dict[str, str]:
        task = {"id": f"{ANCHOR}-{episode.index}", "task": episode.entry.task.id, "goal": episode.task.goal}
        detail = self._last_activity(episode) if self._run.played else "cut off; a resume continues it"
        return task | {"detail": detail}

    def _last_activity(self, episode: Result) -> str:
        event = self._run.last.get(episode.index)
        if event is None:
            return ""
        body: Any = event.body
        if event.kind == "ask":
            return f"{body['role']} replied to {body['template']}"
        if event.kind != "heard":
            return first_line(describe(event.kind, body).strip())[:MAX_CHARS]
        lines = [line for line in body["text"].splitlines() if line.strip()]
        return f"writing: {lines[-1] if lines else ''}"[:MAX_CHARS]
