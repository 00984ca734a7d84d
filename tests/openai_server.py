"""A server for tests that implements OpenAI's chat completions. A function writes its answers, and it fails on demand.

with serving(lambda messages: "hello") as server:
    server.troubles += [Refusal(429, headers={"Retry-After": "1"}), Break(after=2)]
    OpenAIModel("any", base_url=server.url)...
    server.requests[-1]["temperature"]
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Messages = list[dict[str, Any]]
PIECE = 8
"""Number of characters in one chunk of a stream, and in one token when tokens are counted."""


@dataclass(frozen=True)
class Completion:
    """An answer with the fields of the API besides its text. ``finish`` is the finish_reason."""

    text: str
    finish: str = "stop"
    refusal: str = ""
    cached: int = 0
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"


@dataclass(frozen=True)
class Refusal:
    """An HTTP error instead of an answer, by default in OpenAI's form."""

    status: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None
    param: str | None = None
    body: str | None = None


@dataclass(frozen=True)
class CutStream:
    """A stream that ends after ``after`` pieces. The connection breaks, or, if ``clean``, the stream seems complete.

    ``last`` is sent just before the end, for instance an error, or text that is not JSON.
    """

    after: int = 1
    clean: bool = False
    last: str = ""


@dataclass(frozen=True)
class DelayedAnswer:
    """An answer that begins only ``seconds`` after the server has accepted the request."""

    seconds: float


Trouble = Refusal | CutStream | DelayedAnswer
Answer = Callable[[Messages], str | Completion]


@dataclass
class Server:
    """The state of the server, which tests set and read. Each request uses up the next item of ``troubles``."""

    answer: Answer
    refused_parameters: frozenset[str] = frozenset()
    """Parameters that the server refuses with status 400 and a message that names them."""
    counts: bool = True
    """Whether answers include usage."""
    pause: float = 0.0
    """Seconds before each piece of a stream."""
    model: str = "served-1"
    url: str = ""
    troubles: list[Trouble] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """The time of each request, by time.monotonic."""
    max_concurrent: int = 0
    """Maximum number of requests at the same time."""
    hung_up: int = 0
    """Number of streams that the client closed before their end."""
    pieces: int = 0
    """Number of chunks of streams that were sent."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    busy: int = 0


@contextmanager
def serving(answer: Answer, **settings: Any) -> Iterator[Server]:
    """Serve on a free port of this machine until the block ends; ``settings`` are fields of Server."""
    state = Server(answer, **settings)
    handler = type("Bound", (Handler,), {"state": state})
    server = QuietServer(("127.0.0.1", 0), handler)
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class QuietServer(ThreadingHTTPServer):
    """A server that reports no error when a client hangs up."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Handler(BaseHTTPRequestHandler):
    """Handles one connection."""

    protocol_version = "HTTP/1.1"
    state: Server

    def log_message(self, format: str, *args: object) -> None:
        """Keep the tests' output clean."""

    def do_POST(self) -> None:
        """Answer one request for a completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state = self.state
        with state.lock:
            state.requests.append(body)
            state.keys.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
            state.times.append(time.monotonic())
            state.busy += 1
            state.max_concurrent = max(state.max_concurrent, state.busy)
            trouble = state.troubles.pop(0) if state.troubles else None
        try:
            self.respond(body, trouble)
        except (BrokenPipeError, ConnectionResetError):
            with state.lock:
                state.hung_up += 1
            self.close_connection = True
        finally:
            with state.lock:
                state.busy -= 1

    def respond(self, body: dict[str, Any], trouble: Trouble | None) -> None:
        refusal = trouble if isinstance(trouble, Refusal) else self.objection(body)
        if isinstance(trouble, DelayedAnswer):
            time.sleep(trouble.seconds)
        if refusal:
            self.refuse(refusal)
            return
        answer = self.state.answer(body["messages"])
        completion = Completion(answer) if isinstance(answer, str) else answer
        if body.get("stream"):
            self.stream(body, completion, trouble if isinstance(trouble, CutStream) else None)
        else:
            self.send_json(200, self.completion_body(body, completion))

    def objection(self, body: dict[str, Any]) -> Refusal | None:
        """Return the refusal of a request, or None if this server accepts it."""
        if not self.path.endswith("/v1/chat/completions"):
            return Refusal(404, f"nothing at {self.path}")
        for name in sorted(self.state.refused_parameters & set(body)):
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            return Refusal(400, message, code="unsupported_parameter", param=name)
        return None

    def refuse(self, refusal: Refusal) -> None:
        error = {"message": refusal.message, "type": "error", "param": refusal.param, "code": refusal.code}
        body = refusal.body if refusal.body is not None else json.dumps({"error": error})
        self.send_json(refusal.status, body, refusal.headers)

    def send_json(self, status: int, body: object, headers: Mapping[str, str] = {}) -> None:
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def completion_body(self, body: dict[str, Any], completion: Completion) -> dict[str, object]:
        message = {"role": "assistant", "content": completion.text, "refusal": completion.refusal or None}
        if completion.reasoning:
            message[completion.reasoning_field] = completion.reasoning
        choice = {"index": 0, "message": message, "finish_reason": completion.finish}
        reply = {"id": "1", "object": "chat.completion", "created": 0, "model": self.state.model, "choices": [choice]}
        return {**reply, "usage": self.usage(body, completion)} if self.state.counts else reply

    def stream(self, body: dict[str, Any], completion: Completion, trouble: CutStream | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(self.events(body, completion)):
            if trouble and number == trouble.after:
                if trouble.last:
                    self.send_event(trouble.last)
                self.end(trouble.clean)
                return
            time.sleep(self.state.pause)
            self.send_event(event)
        self.end(clean=True)

    def end(self, clean: bool) -> None:
        """End the stream as HTTP requires if ``clean``; otherwise, drop the connection."""
        if clean:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.wfile.flush()
            self.close_connection = True

    def events(self, body: dict[str, Any], completion: Completion) -> Iterator[str]:
        for start in range(0, len(completion.reasoning), PIECE):
            piece = completion.reasoning[start : start + PIECE]
            yield self.chunk([{"index": 0, "delta": {completion.reasoning_field: piece}}])
        for start in range(0, len(completion.text), PIECE):
            yield self.chunk([{"index": 0, "delta": {"content": completion.text[start : start + PIECE]}}])
        if completion.refusal:
            yield self.chunk([{"index": 0, "delta": {"refusal": completion.refusal}}])
        yield self.chunk([{"index": 0, "delta": {}, "finish_reason": completion.finish}])
        if self.state.counts and body.get("stream_options", {}).get("include_usage"):
            yield self.chunk([], self.usage(body, completion))
        yield "[DONE]"

    def chunk(self, choices: list[dict[str, Any]], usage: object = None) -> str:
        head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": self.state.model}
        return json.dumps({**head, "choices": choices, "usage": usage})

    def send_event(self, data: str) -> None:
        content = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()
        with self.state.lock:
            self.state.pieces += 1

    def usage(self, body: dict[str, Any], completion: Completion) -> dict[str, object]:
        prompt, written = self.tokens(body), -(-len(completion.text) // PIECE)
        details = {"cached_tokens": completion.cached}
        total = prompt + written
        counted = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": total}
        return {**counted, "prompt_tokens_details": details}

    @staticmethod
    def tokens(body: dict[str, Any]) -> int:
        return sum(-(-len(message["content"]) // PIECE) for message in body["messages"])
