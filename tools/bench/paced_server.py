"""A model server in this process that streams recorded replies at a steady pace, and counts the tokens it sent."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

from tools.bench.model_address import openai_at
from tools.bench.model_server import Handler, served


class Recorded(NamedTuple):
    """A reply, and its number of tokens."""

    text: str
    tokens: int

    def pieces(self) -> Sequence[str]:
        """Return the text in as many pieces as it has tokens, all of about the same length."""
        ends = [round(number * len(self.text) / self.tokens) for number in range(self.tokens + 1)]
        return [self.text[begin:end] for begin, end in pairwise(ends)]


class Sent(NamedTuple):
    """The number of tokens of a reply that were sent, and that of the whole reply."""

    tokens: int
    whole: int


Answer = Callable[[Sequence[str]], Recorded]
"""Returns the reply to a conversation, given the contents of its messages."""


class PacedHandler(Handler):
    """Answers in pieces of one token."""

    model = "paced"
    answer: Answer
    rate: float
    sent: list[Sent]

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
        self.sent.append(Sent(sent, reply.tokens))


@contextmanager
def paced(answer: Answer, tokens_per_second: float) -> Iterator[list[Sent]]:
    """Serve ``openai:paced`` until the block ends; yield what was sent, one entry for each ended reply."""
    sent: list[Sent] = []
    handler = type("Bound", (PacedHandler,), {"answer": staticmethod(answer), "rate": tokens_per_second, "sent": sent})
    with served(handler) as port, openai_at(port):
        yield sent
