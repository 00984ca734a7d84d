"""Estimates tokens without a tokenizer, for what must be known before a server has counted."""

import re
from collections.abc import Iterable, Sequence

from planbook.planner.models.types import Message, Sampling, Usage
from planbook.sandbox import cached_up_to

_PIECE = re.compile(r"[A-Za-z]+| ?[0-9]|\n[ \t]*|[ \t]{2,}|[!-/:-@\[-`{-~]|[^\x00-\x7f]")
_LETTERS_A_TOKEN = 7
_BYTES_A_TOKEN = 2
MESSAGE_TOKENS = 4
"""Tokens that a chat template adds to each message: its role and two marks."""
_KEPT = 16 << 20
"""Maximum characters of the messages whose token counts are cached."""
MARGIN = 1.35
"""Factor from the estimate to the most that a prompt may have: the estimate of German texts was 26 % too low."""


@cached_up_to(_KEPT)  # a conversation is counted again at each of its replies
def estimate_tokens(text: str) -> int:
    """About how many tokens a text is, meant to be rather too many than too few.

    Measured against five tokenizers (cl100k, o200k, DeepSeek's, Claude 2's, SmolLM2's): Python code 9 to 41 % too
    many, English 0 to 27 %, HTML and JSON 21 to 45 %, observations full of numbered objects -4 to 22 %. Other scripts
    vary with the vocabulary: German 26 % too few to 8 % too many, Chinese 19 % too few to 2.4 times, Russian 1.1 to 2.7
    times too many.
    """
    return int(sum(map(_piece_tokens, _PIECE.findall(text))) + 0.5)


def _piece_tokens(piece: str) -> float:
    if not piece.isascii():
        return len(piece.encode("utf-8", "surrogatepass")) / _BYTES_A_TOKEN
    if piece[0].isalpha():
        return -(-len(piece) // _LETTERS_A_TOKEN)
    return len(piece) if piece[-1].isdigit() else 1  # " 7" is two tokens nearly everywhere


def estimate_prompt(messages: Iterable[Message]) -> int:
    """Return the estimated tokens of a conversation, chat template included."""
    return sum(estimate_tokens(message.content) + MESSAGE_TOKENS for message in messages)


def most_usage(messages: Iterable[Message], sampling: Sampling) -> Usage:
    """Return the tokens that a call may take at most: of the prompt, by estimate, and of the longest reply."""
    prompt = int(estimate_prompt(messages) * MARGIN)
    longest = sampling.max_tokens or max(sampling.context - prompt, 0)
    return Usage(prompt=prompt, completion=longest, estimated=True)


def usage_of_cut(usage: Usage, whole: str, text: str) -> Usage:
    """Return the usage of a reply that was counted whole and of which this much text was passed on."""
    if text == whole:
        return usage
    completion = round(usage.completion * len(text) / len(whole))
    return usage.model_copy(update={"completion": completion, "estimated": True})


def estimated_usage(messages: Sequence[Message], text: str) -> Usage:
    """Return the estimated usage of a reply whose server did not count."""
    return Usage(prompt=estimate_prompt(messages), completion=estimate_tokens(text), estimated=True)
