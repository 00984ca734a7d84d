"""A model server in this process. It streams recorded replies at a steady pace, and counts the tokens sent."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

from tools.bench.model_address import openai_at
from tools.bench.model_server import Handler, serve


class RecordedReply(NamedTuple):
    """A reply, and its number of tokens."""

    text: str
    tokens: int

    def pieces(self) -> Sequence[str]:
        """Return the text in as many pieces as it has tokens, all of about the same length."""
        ends = [round(number * len(self.text) / self.tokens) for number in range(self.tokens + 1)]
        return [self.text[begin:end] for begin, end in pairwise(ends)]


class SentReply(NamedTuple):
    """The number of tokens of a reply that were sent before the client hung up, and of all its tokens."""

    sent_tokens: int
    all_tokens: int


ReplyFunction = Callable[[Sequence[str]], RecordedReply]
"""Takes the contents of a conversation's messages, and returns the reply."""


class PacedHandler(Handler):
    """Sends replies in pieces of one token, at ``rate`` tokens per second, and adds each reply to ``sent_replies``."""

    model = "paced"
    answer: ReplyFunction
    rate: float
    sent_replies: list[SentReply]

    def reply(self, request: bytes) -> None:
        """Stream the reply until it ends or the client hangs up."""
        body = json.loads(request)
        reply = type(self).answer([message["content"] for message in body["messages"]])
        self.begin()
        start, sent = time.monotonic(), 0
        try:
            for piece in reply.pieces():
                time.sleep(max(0.0, start + (sent + 1) / self.rate - time.monotonic()))
                self.send(piece)
                sent += 1
            self.end()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        self.sent_replies.append(SentReply(sent, reply.tokens))


@contextmanager
def serve_paced(answer: ReplyFunction, tokens_per_second: float) -> Iterator[list[SentReply]]:
    """Serve the model ``openai:paced`` until the block ends. Yield a list of the replies that have ended."""
    sent_replies: list[SentReply] = []
    members = {"answer": staticmethod(answer), "rate": tokens_per_second, "sent_replies": sent_replies}
    handler = type("ConfiguredHandler", (PacedHandler,), members)
    with serve(handler) as port, openai_at(port):
        yield sent_replies
