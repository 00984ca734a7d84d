"""The page of a run that is being watched, and its updates."""

from typing import Any

from planbook.planner import Budget, Outcome
from planbook.report.episodes import episode_document, escape_json, row
from planbook.report.page import page_pieces, view
from planbook.report.sections import sections
from planbook.results.rows import Result
from planbook.terminal.printing import spending
from planbook.watching.followed_run import ACCEPTED_REQUESTS, FollowedRun
from planbook.wording import describe, first_line

ANCHOR = "run-0"
MAX_OPEN, MAX_CHARS = 8, 160
"""Maximum number of open episodes at the top of the page, and of characters that describe what an episode is doing."""


class Pages:
    """Renders the run that is followed. Every method reads new events first."""

    def __init__(self, run: FollowedRun) -> None:
        self._run = run

    def page(self) -> str:
        """Return the whole page."""
        version, news = self.news(0)
        with self._run.lock:
            run_view = view(0, self._run.results, live=self._run.is_played)
        for line in run_view["rows"]:
            line["document"] = line["n"]
        live = news | {"version": version, "sections": None, "rows": []}
        return "".join(page_pieces([run_view], news["title"], "planbook watch", live=live))

    def document(self, index: int) -> Any:
        """Return the document of everything that happened in an episode, or None if there is no such episode."""
        with self._run.lock:
            self._run.catch_up()
            episode = self._run.results.episodes.get(index)
            return None if episode is None else episode_document(self._run.results, episode)

    def news(self, since: int) -> tuple[int, dict[str, Any]]:
        """Return the current version of the run, and what has changed since the version ``since``."""
        run = self._run
        with run.lock:
            run.catch_up()
            state = self._state()
            news: dict[str, Any] = {
                "state": state,
                "title": f"{state['ended']}/{state['total']} {state['doing']} · {run.results.name}",
                "can": ACCEPTED_REQUESTS.get(run.state, ()),
                "under_way": [f"{ANCHOR}-{episode.index}" for episode in run.open_episodes()] if run.is_played else [],
            }
            if run.version > since:
                changed = (run.results.episodes[index] for index, version in run.changed.items() if version > since)
                news["sections"] = sections(run.results, ANCHOR, live=run.is_played)
                news["rows"] = [row(run.results, episode, ANCHOR, live=run.is_played) for episode in changed]
            return run.version, escape_json(news)

    def _state(self) -> dict[str, Any]:
        """Return what the top of the page shows: the state of the run, counts, spending, and the open episodes."""
        run = self._run
        endings = [episode.ending for episode in run.ended_episodes()]
        return {
            "doing": run.state,
            "total": run.episode_count,
            "ended": len(endings),
            "solved": sum(ending.outcome.solved for ending in endings),
            "broken": sum(ending.outcome is Outcome.BROKEN for ending in endings),
            "spending": spending(run.results.cost, Budget()),
            "now": [self._open_episode(episode) for episode in run.open_episodes()[:MAX_OPEN]],
        }

    def _open_episode(self, episode: Result) -> dict[str, str]:
        task = {"id": f"{ANCHOR}-{episode.index}", "task": episode.entry.task.id, "goal": episode.task.goal}
        detail = self._last_activity(episode) if self._run.is_played else "cut off; a resume continues it"
        return task | {"detail": detail}

    def _last_activity(self, episode: Result) -> str:
        event = self._run.last_activity.get(episode.index)
        if event is None:
            return ""
        body: Any = event.body
        if event.kind == "ask":
            return f"{body['role']} replied to {body['template']}"
        if event.kind != "heard":
            return first_line(describe(event.kind, body).strip())[:MAX_CHARS]
        lines = [line for line in body["text"].splitlines() if line.strip()]
        return f"writing: {lines[-1] if lines else ''}"[:MAX_CHARS]
