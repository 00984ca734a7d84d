"""The parameters of a request, and which of them one server refuses."""

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
"""What to send where a server refuses a parameter; None sends nothing. In the order they are looked for."""
_NEEDS: Mapping[str, str] = {"stream_options": "stream"}
_NAMED = (
    r"""["'`]{name}["'`]""",
    r"\b(parameters?|arguments?|fields?|keys?|inputs?)\b( supplied| given)?[\s:]+{name}\b",
    r"\b(unsupported|unrecognized|unknown|unexpected)\b[\s:]+{name}\b",
    r"\b{name}\b( parameter| argument| field)?( is| are)? (un|not |no longer )",
)
"""How a message names a parameter; the bare word is not enough: "stop" and "seed" are words like any other."""


class Parameters:
    """What one server takes; every refusal is learnt once, for all threads."""

    def __init__(self) -> None:
        self._replaced: dict[str, str | None] = {}
        self._lock = threading.Lock()

    @property
    def replaced(self) -> dict[str, str | None]:
        """The parameters refused so far, and what is sent in the place of each."""
        with self._lock:
            return dict(self._replaced)

    def of(self, sampling: Sampling) -> dict[str, Any]:
        """What to send for a sampling."""
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
        """Do without a parameter that the error names. False where it names none that could be left out."""
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
