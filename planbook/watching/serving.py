"""The web server of `planbook watch` and its access control. It listens on the loopback address only."""

import asyncio
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from typing import get_args

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from planbook.errors import BadArgument, BadRun
from planbook.report.page import script_hash
from planbook.watching.followed_run import FollowedRun
from planbook.watching.pages import Pages
from planbook.workers import Request as ControlRequest

POLL_SECONDS = 1.0
"""Seconds between two reads of the store."""
HEARTBEAT = 15
"""Number of reads without news after which a comment is sent, so that a closed connection is noticed."""


def serve(run: FollowedRun, port: int, on_address: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. ``on_address`` is called with the address, which contains the token.

    Raises BadArgument if the port is not available.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # a browser that connects immediately waits until the server runs
    except OSError as error:
        raise BadArgument(f"port {port} is not available: {error.strerror}; name another with --port") from error
    with listener:
        token, bound_port = secrets.token_urlsafe(24), listener.getsockname()[1]
        app = application(run, token, bound_port, lambda: server.should_exit)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, lifespan="off"))
        on_address(f"http://{HOST}:{bound_port}/?token={token}")
        server.run(sockets=[listener])


def application(run: FollowedRun, token: str, port: int, is_stopping: Callable[[], bool]) -> ASGIApp:
    """Return the web application with its access control. Event streams end when ``is_stopping`` returns True."""
    pages = Pages(run)

    async def page(request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(pages.page))

    async def episode(request: Request) -> Response:
        document = await run_in_threadpool(pages.document, request.path_params["index"])
        return PlainTextResponse("There is no such episode.\n", 404) if document is None else JSONResponse(document)

    async def ask(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in get_args(ControlRequest):
            return PlainTextResponse("There is no such request.\n", 404)
        await run_in_threadpool(run.ask, name)
        return PlainTextResponse("asked\n")

    async def refuse(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{error}\n", 409)

    async def news(request: Request) -> Response:
        since = request.headers.get("last-event-id") or request.query_params.get("since", "")
        version = int(since) if since.isdecimal() else 0
        return StreamingResponse(_news(pages, version, is_stopping), media_type="text/event-stream")

    routes = [
        Route("/", page),
        Route("/episode/{index:int}", episode),
        Route("/news", news),
        Route("/ask/{name}", ask, methods=["POST"]),
    ]
    return AccessControl(Starlette(routes=routes, exception_handlers={BadRun: refuse}), token, port)


async def _news(pages: Pages, version: int, is_stopping: Callable[[], bool]) -> AsyncIterator[str]:
    """Yield updates since a version as server-sent events, whose ids are versions.

    If the run cannot be read, the reason is sent as the event ``problem``, and reading is tried again.
    """
    sent, silent_reads = "", 0
    while not is_stopping():
        try:
            version, news = await run_in_threadpool(pages.news, version)
            text = f"id: {version}\ndata: {json.dumps(news)}\n\n"
        except BadRun as error:
            text = f"event: problem\ndata: {json.dumps(str(error))}\n\n"
        if text != sent:
            sent, silent_reads = text, 0
            yield text
        elif (silent_reads := silent_reads + 1) % HEARTBEAT == 0:
            yield ": still here\n\n"
        await asyncio.sleep(POLL_SECONDS)


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


class AccessControl(BaseHTTPMiddleware):
    """Middleware that admits only requests with the token, which a browser sends first in the URL, then in a cookie.

    The header ``Host`` must name the loopback address, which prevents DNS rebinding. POST requests must come from the
    page of this server.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        super().__init__(app)
        self._token = token
        self._hosts = {f"{name}:{port}" for name in HOST_NAMES}
        self._cookie = f"planbook-{port}"

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Answer a request, or refuse it."""
        refusal = self._refusal(request)
        response = PlainTextResponse(f"{refusal}\n", 403) if refusal else await call_next(request)
        response.headers.update(HEADERS)
        if not refusal:
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return response

    def _refusal(self, request: Request) -> str:
        """Return the reason to refuse a request, or "" if it is allowed."""
        host = request.headers.get("host", "")
        if host not in self._hosts:
            return "This server answers to its own address only."
        tokens = [*request.query_params.getlist("token"), request.cookies.get(self._cookie, "")]
        if not any(secrets.compare_digest(token.encode(), self._token.encode()) for token in tokens):
            return "Open the address that `planbook watch` has printed."
        if request.method != "GET" and request.headers.get("origin", "") != f"http://{host}":
            return "Only the page of this server may control the run."
        return ""
