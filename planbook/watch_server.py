"""`planbook watch`: view and control a run in a browser on this machine while another process plays it.

``FollowedRun`` reads new events of the run, and sends requests, such as "pause", to the process that plays it. It makes
the page and its updates with the code that also makes the report. ``serve`` runs the web server. It listens only on the
loopback address, and ``with_access_control`` checks every request.
"""

import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, get_args

import uvicorn
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from planbook.errors import BadArgument, BadRun
from planbook.planner import INVOCATION, Budget, Outcome
from planbook.report import page_pieces, run_data, script_hash
from planbook.report.episodes import episode_document, escape_json, row
from planbook.report.sections import sections
from planbook.results import RunResults
from planbook.results.rows import EpisodeResult
from planbook.runs import PAUSED, Run
from planbook.store import Event, Store
from planbook.terminal import describe_spending
from planbook.wording import describe_event, first_line
from planbook.workers import Request as ControlRequest, send_request

ACTIVITY = ("act", "ask", "cell", "piece")
"""Kinds of events that show what happens in an open episode: an action (``act``), a reply of a model (``ask``), the end
of a cell, which is a piece of plan code run as a unit, and a part of a streamed reply (``piece``)."""
RunState = Literal["playing", "paused", "pausing", "stopping", "stopped", "finished"]
ACCEPTED_REQUESTS: dict[RunState, tuple[ControlRequest, ...]] = {
    "playing": ("pause", "stop"),
    "pausing": ("go on", "stop"),
    "paused": ("go on", "stop"),
}
"""Maps states of a run to the requests that it accepts. In all other states, it accepts none."""
PENDING: dict[str, RunState] = {"pause": "pausing", "stop": "stopping", "finish calls": "stopping"}
"""Maps each request to the state of the run until the run acts on the request."""
ANCHOR = "run-0"
MAX_OPEN, MAX_CHARS = 8, 160
"""Limits for the top of the page: at most MAX_OPEN open episodes, each described by at most MAX_CHARS characters."""


class FollowedRun:
    """A run that another process plays, as the page shows it.

    ``version`` is a number that grows with every change. ``changed`` maps the index of each changed episode to the
    version of its last change. ``page``, ``document``, ``update_since`` and ``send`` read new events first; any thread
    may call them.
    """

    def __init__(self, folder: Path) -> None:
        self.run, self._lock = Run.open(folder), threading.RLock()
        self.results = RunResults.empty(self.run, folder.resolve().name)
        self.version = 0
        self.changed: dict[int, int] = {}
        self.is_running = self._paused = False
        self._pending_request = ""
        """The latest request, or "" if the run has acted on it."""
        self._last_activity: dict[int, Event] = {}
        """Maps the index of each open episode to its last event of a kind in ACTIVITY."""
        self._row = 0

    def close(self) -> None:
        """Close the run."""
        self.run.close()

    def catch_up(self) -> None:
        """Read new events, and check whether a process is playing the run."""
        with self._lock:
            before = self.is_running, self._row
            try:
                self.is_running = self.run.is_running
                for row, event in self.run.store.events_after(self._row):
                    self._row = row
                    self._take(event)
            finally:  # even if the store fails, since some events may have been read before
                self.version += before != (self.is_running, self._row)

    def _take(self, event: Event) -> None:
        for index in self.results.take(event):
            self.changed[index] = self.version + 1
            if event.kind in ACTIVITY:
                self._last_activity[index] = event
            elif event.kind == "outcome":
                self._last_activity.pop(index, None)
        if event.kind == INVOCATION:
            self._paused, self._pending_request = PAUSED in event.body, ""
        elif event.kind == "control":
            self._pending_request = str(event.body["do"])

    def page(self) -> str:
        """Return the whole page."""
        with self._lock:
            update = self.update_since(0)
            run_view = run_data(0, self.results, live=self.is_running)
        for line in run_view["rows"]:
            line["document"] = line["n"]
        live = update | {"sections": None, "rows": []}
        return "".join(page_pieces([run_view], update["title"], live=live))

    def document(self, index: int) -> Any:
        """Return a JSON document that describes everything in an episode, or None if there is no such episode."""
        with self._lock:
            self.catch_up()
            episode = self.results.episodes.get(index)
            return None if episode is None else episode_document(self.results, episode)

    def update_since(self, version: int) -> dict[str, Any]:
        """Return an update for a page that shows this version of the run. The update states the current version."""
        with self._lock:
            self.catch_up()
            state, open_rows = self._state(), [row for row in self.results.episodes.values() if row.is_open]
            update: dict[str, Any] = {
                "version": self.version,
                "state": state | {"now": [self._open_episode(row) for row in open_rows[:MAX_OPEN]]},
                "title": f"{state['ended']}/{state['total']} {state['doing']} · {self.results.name}",
                "can": ACCEPTED_REQUESTS.get(state["doing"], ()),
                "under_way": [f"{ANCHOR}-{row.index}" for row in open_rows] if self.is_running else [],
            }
            if self.version > version:
                changed = (self.results.episodes[index] for index, at in self.changed.items() if at > version)
                update["sections"] = sections(self.results, ANCHOR, live=self.is_running)
                update["rows"] = [row(self.results, episode, ANCHOR, live=self.is_running) for episode in changed]
            return escape_json(update)  # type: ignore[no-any-return]

    def send(self, request: ControlRequest) -> None:
        """Send a request to the process that plays the run. Do nothing if the run's state does not accept the request.

        Raises BadRun if the store cannot be read or written.
        """
        with self._lock:
            self.catch_up()
            if request in ACCEPTED_REQUESTS.get(self._state()["doing"], ()):
                with closing(Store(self.run.store.location)) as store:
                    send_request(store, request)

    def _state(self) -> dict[str, Any]:
        """Return the run's state, the counts of its episodes (except skipped ones), and its spending."""
        total = len(self.results.counted_rows)
        endings = [row.ending for row in self.results.so_far().counted_rows]
        doing: RunState = "finished" if len(endings) == total else "stopped"
        if self.is_running:
            doing = PENDING.get(self._pending_request, "paused" if self._paused else "playing")
        return {
            "doing": doing,
            "total": total,
            "ended": len(endings),
            "solved": sum(ending.outcome.solved for ending in endings),
            "broken": sum(ending.outcome is Outcome.BROKEN for ending in endings),
            "spending": describe_spending(self.results.cost, Budget()),
            "resume": f"planbook run --resume {self.run.folder}" if doing == "stopped" else "",
        }

    def _open_episode(self, episode: EpisodeResult) -> dict[str, str]:
        task = {"id": f"{ANCHOR}-{episode.index}", "task": episode.entry.task.id, "goal": episode.task.goal}
        activity = self._last_activity.get(episode.index)
        detail = _describe_activity(activity) if activity else ""
        return task | {"detail": detail if self.is_running else "interrupted; resuming the run continues it"}


def _describe_activity(activity: Event) -> str:
    body: Any = activity.body
    if activity.kind == "ask":
        return f"{body['role']} replied to {body['template']}"
    if activity.kind != "piece":
        return first_line(describe_event(activity.kind, body).strip())[:MAX_CHARS]
    lines = [line for line in body["text"].splitlines() if line.strip()]
    return f"writing: {lines[-1] if lines else ''}"[:MAX_CHARS]


def serve(run: FollowedRun, port: int, on_address: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C. ``on_address`` is called with the address of the page, which contains the token.

    Raises BadArgument if the port is not available.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # a browser that connects now waits until the server runs
    except OSError as error:
        raise BadArgument(f"port {port} is not available: {error.strerror}; choose another one with --port") from error
    with listener:
        token, bound_port = secrets.token_urlsafe(24), listener.getsockname()[1]
        app = with_access_control(application(run), token, bound_port)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, lifespan="off"))
        on_address(f"http://{HOST}:{bound_port}/?token={token}")
        server.run(sockets=[listener])


def application(run: FollowedRun) -> ASGIApp:
    """Return the web application, without access control. Starlette calls its functions in threads."""

    def page(request: Request) -> Response:
        return HTMLResponse(run.page())

    def episode(request: Request) -> Response:
        document = run.document(request.path_params["index"])
        return PlainTextResponse("There is no such episode.\n", 404) if document is None else JSONResponse(document)

    def ask(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in get_args(ControlRequest):
            return PlainTextResponse("There is no such request.\n", 404)
        run.send(name)
        return PlainTextResponse("asked\n")

    def refuse(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{error}\n", 409)

    def news(request: Request) -> Response:
        since = request.query_params.get("since", "")
        return JSONResponse(run.update_since(int(since) if since.isdecimal() else 0))

    routes = [
        Route("/", page),
        Route("/episode/{index:int}", episode),
        Route("/news", news),
        Route("/ask/{name}", ask, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={BadRun: refuse})


HOST = "127.0.0.1"
HOST_NAMES = (HOST, "localhost")
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src '{script_hash()}'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def with_access_control(app: ASGIApp, token: str, port: int) -> ASGIApp:
    """Return the application with access control, which refuses requests without the token.

    A browser sends the token first in the URL, and later in a cookie. The header ``Host`` must name the loopback
    address; this prevents DNS rebinding. POST requests must come from the page of this server.
    """
    hosts, cookie = {f"{name}:{port}" for name in HOST_NAMES}, f"planbook-{port}"

    def refusal_of(request: Request) -> str:
        host = request.headers.get("host", "")
        if host not in hosts:
            return "This server answers only requests to its own address."
        tokens = [*request.query_params.getlist("token"), request.cookies.get(cookie, "")]
        if not any(secrets.compare_digest(found.encode(), token.encode()) for found in tokens):
            return "Open the address that `planbook watch` has printed."
        if request.method != "GET" and request.headers.get("origin", "") != f"http://{host}":
            return "Only the page of this server may control the run."
        return ""

    async def dispatch(request: Request, call_next: RequestResponseEndpoint) -> Response:
        refusal = refusal_of(request)
        response = PlainTextResponse(f"{refusal}\n", 403) if refusal else await call_next(request)
        response.headers.update(HEADERS)
        if not refusal:
            response.set_cookie(cookie, token, httponly=True, samesite="strict")
        return response

    return BaseHTTPMiddleware(app, dispatch)
