"""A model server that gives recorded replies at a steady pace, in this process, and counts the tokens that it sent."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

from tools.bench.model_address import openai_at
from tools.bench.model_server import Handler, served


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


class PacedHandler(Handler):
    """Answers in pieces of one token."""

    model = "paced"
    answer: Answer
    rate: float
    sent: list[Sent]

    def reply(self, question: bytes) -> None:
        """Stream the reply until it ends or nobody listens."""
        body = json.loads(question)
        reply = type(self).answer([message["content"] for message in body["messages"]])
        self.begin()
        begun, sent = time.monotonic(), 0
        try:
            for piece in reply.pieces():
                time.sleep(max(0.0, begun + (sent + 1) / self.rate - time.monotonic()))
                self.send(piece)
                sent += 1
            self.end()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        self.sent.append(Sent(sent, reply.tokens))


@contextmanager
def paced(answer: Answer, tokens_a_second: float) -> Iterator[list[Sent]]:
    """Serve ``openai:paced`` until the block ends; what was sent of each reply, in the order in which they ended."""
    sent: list[Sent] = []
    handler = type("Bound", (PacedHandler,), {"answer": staticmethod(answer), "rate": tokens_a_second, "sent": sent})
    with served(handler) as port, openai_at(port):
        yield sent
