"""Access control: whoever has the printed address can look and steer, no other user or web page of this machine."""

import secrets
from http.cookies import SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planbook.report import script_hash

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
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


class AccessControl:
    """Middleware that checks the token, which comes with the first request's address and then in a cookie.

    ``Host`` must be this machine's own name: a page whose name was made to lead here has another. What is posted must
    come from our own page.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in NAMES}
        self._cookie = f"planbook-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope, Headers(scope=scope))

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if not refused:
                    headers["Set-Cookie"] = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            await send(message)

        answer = PlainTextResponse(f"{refused}\n", 403) if refused else self._app
        await answer(scope, receive, guarded)

    def _refused(self, scope: Scope, headers: Headers) -> str:
        if headers.get("host", "") not in self._hosts:
            return "This server answers to its own address only."
        if not self._has_token(scope, headers):
            return "Open the address that `planbook watch` has printed."
        if scope["method"] != "GET" and headers.get("origin", "") != f"http://{headers['host']}":
            return "Only our own page may steer."
        return ""

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        given += [cookie.value] if cookie else []
        return any(secrets.compare_digest(each.encode(), self._token.encode()) for each in given)
