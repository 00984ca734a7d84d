"""One connection to one tab of the browser, in the DevTools protocol, straight over its websocket."""

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import websocket
from pydantic import JsonValue

from envs.errors import WorldBroken

Command = tuple[str, Mapping[str, Any]]
"""A method of the protocol and its parameters."""

Answer = dict[str, Any]
"""What the protocol, or a script of ours, answers: JSON, its shape fixed by what was asked."""

DEAD = ("Inspector.targetCrashed", "Inspector.detached")
"""Events after which no answer will come."""


PATIENCE = 120.0
"""Seconds until a silent browser is taken for dead. One that dies hangs up at once: this is for a stalled machine."""


class Connection:
    """Sends commands and reads their answers. Belongs to one thread at a time."""

    def __init__(self, url: str, patience: float = PATIENCE) -> None:
        """``patience`` is in seconds."""
        self._numbers = count(1)
        self._lost = ""
        try:
            self._socket = websocket.create_connection(
                url, timeout=patience, suppress_origin=True, skip_utf8_validation=True, enable_multithread=False
            )
        except (OSError, websocket.WebSocketException) as error:
            raise WorldBroken(f"the browser does not answer at {url}: {error}") from error

    def call(self, method: str, **parameters: JsonValue) -> Answer:
        """One command and its answer. Raises WorldBroken where the browser refuses it or is gone."""
        return self.call_all([(method, parameters)])[0]

    def call_all(self, commands: Sequence[Command]) -> list[Answer]:
        """Send all, then wait for all: the browser works on them in this order."""
        if self._lost:
            raise WorldBroken(self._lost)
        numbers = [next(self._numbers) for _ in commands]
        try:
            for number, (method, parameters) in zip(numbers, commands, strict=True):
                self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
            answers = self._receive(set(numbers))
        except (OSError, ValueError, websocket.WebSocketException) as error:
            raise WorldBroken(f"the browser is gone ({type(error).__name__}: {error}) at {commands[0][0]}") from error
        for number, (method, _) in zip(numbers, commands, strict=True):
            if problem := answers[number].get("error"):
                raise WorldBroken(f"the browser refused {method}: {problem.get('message')}")
        return [answers[number].get("result", {}) for number in numbers]

    def evaluate(self, expression: str, *, milliseconds: int = 60_000) -> JsonValue:
        """The value of a JavaScript expression, a promise awaited. Raises WorldBroken if it raised."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, timeout=milliseconds
        )
        if problem := answer.get("exceptionDetails"):
            reason = problem.get("exception", {}).get("description") or problem.get("text", "unknown")
            raise WorldBroken(f"a script of ours failed in the page: {reason}")
        value: JsonValue = answer["result"].get("value")
        return value

    def close(self) -> None:
        """Hang up; the tab itself stays."""
        try:
            self._socket.close(timeout=1)
        except (OSError, websocket.WebSocketException):
            return

    def _receive(self, wanted: set[int]) -> dict[int, Answer]:
        answers: dict[int, Answer] = {}
        while wanted:
            message = json.loads(self._socket.recv())
            if message.get("method") in DEAD:
                self._lost = f"the tab is gone: {message['method']}"
                raise WorldBroken(self._lost)
            if (number := message.get("id")) in wanted:
                wanted.discard(number)
                answers[number] = message
        return answers
