"""Separate a model's reasoning from its reply. The reasoning is stored, but it is never read as a plan.

Open models write their reasoning at the beginning of the reply, between ``<think>`` and ``</think>``. Some servers
remove the opening tag. In this case, all text before ``</think>`` is reasoning, unless that tag is in a code block.
"""

import re

from planbook.planner.models.types import OnText, Reply

_OPEN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_CLOSE_ALONE = re.compile(r"^[ \t]*</think(?:ing)?>", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_TAGS = ("<think>", "<thinking>")


def split_reasoning(text: str) -> tuple[str, str]:
    """Return the reasoning at the beginning of a text, and the text after it, which is empty if a tag is not closed."""
    reasoning, rest = _blocks(text)
    closed = _CLOSE_ALONE.search(text) if rest == text else None
    if closed and len(_FENCE.findall(text, 0, closed.start())) % 2 == 0:
        reasoning, rest = text[: closed.start()], text[closed.end() :]
    return reasoning, rest


def _blocks(text: str) -> tuple[str, str]:
    """Return the text inside the tagged blocks at the beginning, and the text after them."""
    reasoning: list[str] = []
    while opened := _OPEN.match(text):
        closed = _CLOSE.search(text, opened.end())
        end, rest = (closed.start(), closed.end()) if closed else (len(text), len(text))
        reasoning.append(text[opened.end() : end])
        text = text[rest:]
    return "\n".join(reasoning), text


def without_reasoning(reply: Reply) -> Reply:
    """Return the reply with the reasoning moved from its text to its field ``reasoning``."""
    reasoning, text = split_reasoning(reply.text)
    if text == reply.text:
        return reply
    return reply.model_copy(update={"text": text, "reasoning": f"{reply.reasoning}{reasoning}"})


class ReasoningFilter:
    """Takes the pieces of a reply, and passes on the text after the reasoning.

    If the server has removed the opening tag, reasoning cannot be recognised before its end, and is passed on as well.
    """

    def __init__(self, on_text: OnText) -> None:
        self._on_text, self._buffer, self._passes = on_text, "", False

    def __call__(self, piece: str) -> bool:
        """Pass the piece on, or keep it while it may be reasoning. Return False to stop the reply."""
        if self._passes:
            return self._on_text(piece)
        self._buffer += piece
        while opened := _OPEN.match(self._buffer):
            closed = _CLOSE.search(self._buffer, opened.end())
            if closed is None:  # the end may be the beginning of the closing tag
                self._buffer = opened[0] + self._buffer[opened.end() :][-len("</thinking>") :]
                return True
            self._buffer = self._buffer[closed.end() :]
        if any(tag.startswith(self._buffer.lstrip().lower()) for tag in _TAGS):
            return True
        self._passes = True
        return self._on_text(self._buffer)
