"""A model server that gives recorded replies at a steady pace, in this process, and counts the tokens that it sent."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any, NamedTuple


class Recorded(NamedTuple):
    """A reply, and how many tokens it has."""

    text: str
    tokens: int

    def pieces(self) -> Sequence[str]:
        """The text in as many pieces, of about the same length."""
        places = [round(number * len(self.text) / self.tokens) for number in range(self.tokens + 1)]
        return [self.text[begin:end] for begin, end in pairwise(places)]


class Sent(NamedTuple):
    """What was sent of a reply, in tokens."""

    tokens: int
    whole: int


Answer = Callable[[Sequence[str]], Recorded]
"""From the contents of a conversation's messages."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    answer: Answer
    rate: float
    sent: list[Sent]

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Stream the reply until it ends or nobody listens."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = type(self).answer([message["content"] for message in body["messages"]])
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        begun, sent = time.monotonic(), 0
        try:
            for piece in reply.pieces():
                time.sleep(max(0.0, begun + (sent + 1) / self.rate - time.monotonic()))
                self._send({"index": 0, "delta": {"content": piece}})
                sent += 1
            self._send({"index": 0, "delta": {}, "finish_reason": "stop"})
            self._write("data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        self.sent.append(Sent(sent, reply.tokens))

    def _send(self, choice: dict[str, Any]) -> None:
        self._write(f"data: {json.dumps({'id': '1', 'model': 'paced', 'choices': [choice]})}\n\n")

    def _write(self, text: str) -> None:
        content = text.encode()
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")


class Server(ThreadingHTTPServer):
    """Takes many connections at once, and does not mind clients that hang up."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell of what is no hanging up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def paced(answer: Answer, tokens_a_second: float) -> Iterator[list[Sent]]:
    """Serve ``openai:paced`` until the block ends; what was sent of each reply, in the order in which they ended."""
    sent: list[Sent] = []
    handler = type("Bound", (Handler,), {"answer": staticmethod(answer), "rate": tokens_a_second, "sent": sent})
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    before = {name: os.environ.get(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")}
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
    os.environ["OPENAI_API_KEY"] = "none"
    try:
        yield sent
    finally:
        server.shutdown()
        server.server_close()
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
