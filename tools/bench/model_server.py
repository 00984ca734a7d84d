"""The base of local model servers, which stream their replies in the format of OpenAI's chat completions."""

import json
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler, ABC):
    """Serves one connection. Subclasses define the replies."""

    protocol_version = "HTTP/1.1"
    model: str
    """The name of the model, sent with each piece of a reply."""

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        """Read and answer one request."""
        self.reply(self.rfile.read(int(self.headers["Content-Length"])))

    @abstractmethod
    def reply(self, request: bytes) -> None:
        """Answer a request: call ``begin``, then ``send`` for each piece of the reply, and then ``end``."""

    def begin(self) -> None:
        """Send the headers, before the first piece."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send(self, piece: str) -> None:
        """Send a piece of the reply."""
        self._send({"index": 0, "delta": {"content": piece}})

    def end(self) -> None:
        """Finish the reply, after the last piece."""
        self._send({"index": 0, "delta": {}, "finish_reason": "stop"})
        self._write("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, choice: dict[str, Any]) -> None:
        self._write(f"data: {json.dumps({'id': '1', 'model': self.model, 'choices': [choice]})}\n\n")

    def _write(self, text: str) -> None:
        content = text.encode()
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")


class _ModelServer(ThreadingHTTPServer):
    """Accepts many connections at the same time, and ignores clients that hang up."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless a client hung up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serve(handler: type[Handler]) -> Iterator[int]:
    """Serve on a free port of this machine until the block ends; yield the port."""
    server = _ModelServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
