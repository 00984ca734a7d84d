"""A model that says what it was given to say, and remembers what it was asked."""

from collections.abc import Sequence

from planbook.planner import Message, OnText, Reply, Sampling


class Replies:
    """Answers with one text after another; being asked once more than that is an error of the test."""

    name = "replies"

    def __init__(self, texts: Sequence[str], model: str = "") -> None:
        self._texts, self._model = list(texts), model
        self.asked: list[Sequence[Message]] = []

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """The next text."""
        self.asked.append(messages)
        return Reply(text=self._texts[len(self.asked) - 1], model=self._model)
