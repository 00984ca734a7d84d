"""The parameters of a request, and those that a server refuses."""

import re
import threading
from collections.abc import Mapping
from typing import Any

import openai

from planbook.planner.models.types import Sampling

INSTEAD: Mapping[str, str | None] = {
    "max_tokens": "max_completion_tokens",
    "temperature": None,
    "stop": None,
    "seed": None,
    "stream_options": None,
    "stream": None,
}
"""What to send instead of a refused parameter; None sends nothing. Looked up in this order."""
_NEEDS: Mapping[str, str] = {"stream_options": "stream"}
_NAMED = (
    r"""["'`]{name}["'`]""",
    r"\b(parameters?|arguments?|fields?|keys?|inputs?)\b( supplied| given)?[\s:]+{name}\b",
    r"\b(unsupported|unrecognized|unknown|unexpected)\b[\s:]+{name}\b",
    r"\b{name}\b( parameter| argument| field)?( is| are)? (un|not |no longer )",
)
"""Patterns by which a message names a parameter. A bare word does not count: "stop" and "seed" are ordinary words."""


class Parameters:
    """The parameters that one server accepts. Each refusal is learned once, for all threads."""

    def __init__(self) -> None:
        self._replaced: dict[str, str | None] = {}
        self._lock = threading.Lock()

    @property
    def replaced(self) -> dict[str, str | None]:
        """The parameters refused so far, and what is sent instead of each."""
        with self._lock:
            return dict(self._replaced)

    def of(self, sampling: Sampling) -> dict[str, Any]:
        """Return the parameters to send for a sampling."""
        wanted = {
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "stop": list(sampling.stop) or None,
            "seed": None if sampling.seed is None else sampling.seed + sampling.sample,
            "stream_options": {"include_usage": True},
            "stream": True,
        }
        replaced = self.replaced
        names = {
            name: replaced.get(name, name) for name in wanted if replaced.get(_NEEDS.get(name, ""), "") is not None
        }
        return {sent: wanted[name] for name, sent in names.items() if sent is not None and wanted[name] is not None}

    def learn(self, error: openai.APIStatusError, sent: Mapping[str, Any]) -> bool:
        """Stop sending a parameter that the error names. Return False if it names none that can be dropped."""
        name = next((name for name in INSTEAD if name in sent and _names(error, name)), None)
        if name is None:
            return False
        with self._lock:
            self._replaced[name] = INSTEAD[name]
        return True


def _names(error: openai.APIStatusError, parameter: str) -> bool:
    if error.param is not None:
        return error.param == parameter
    said = f"{error.message} {error.body}"
    return any(re.search(named.format(name=parameter), said, re.IGNORECASE) for named in _NAMED)
