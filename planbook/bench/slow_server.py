"""A model server that takes its time: one answer to every question, after so many seconds. Run as a module.

It speaks OpenAI's chat completions, streamed, on a free port of this machine, which it prints first; it ends with its
standard input.
"""

import json
import sys
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = "### Understanding\nNothing is known yet.\n### Mistakes\nNone\n### Rules\nNone\n### Plan\n1. Wait.\n" + (
    "### Code\n```python\nwaited = True\n```\n"
)
"""A plan that runs and does nothing: every episode asks as often as it may."""
PIECE = 8
"""Characters in one piece of the stream."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    seconds = 0.0

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Wait, then stream the answer."""
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.seconds)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(ANSWER), PIECE):
            self._send([{"index": 0, "delta": {"content": ANSWER[start : start + PIECE]}}])
        self._send([{"index": 0, "delta": {}, "finish_reason": "stop"}])
        self._write("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, choices: list[dict[str, object]]) -> None:
        self._write(f"data: {json.dumps({'id': '1', 'model': 'slow', 'choices': choices})}\n\n")

    def _write(self, text: str) -> None:
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())


class Server(ThreadingHTTPServer):
    """Takes many connections at once."""

    daemon_threads = True
    request_queue_size = 128


def main(arguments: Sequence[str]) -> None:
    """Serve until standard input is closed."""
    Handler.seconds = float(arguments[0])
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
