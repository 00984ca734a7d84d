"""Roles: which model answers which kind of question, with which sampling. Also reads the JSON in replies.

A role is a kind of question that a run asks, such as "planner" or "executor". Each can have its own model.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import JsonValue

from planbook.planner.budget import Meter
from planbook.planner.errors import ModelError, ModelRefused
from planbook.planner.models.context import FittedPrompt, fit, prompt_limit
from planbook.planner.models.reasoning import ReasoningFilter, without_reasoning
from planbook.planner.models.tokens import max_usage
from planbook.planner.models.types import Message, Model, OnText, Reply, Sampling

Read = TypeVar("Read")
DEFAULT_ROLE = "default"
"""The role whose model and sampling parameters are used for every role that has none."""
PLANNER_ROLE = "planner"
"""The role that plans in most methods."""
REPAIRS = 2
"""How often a model is asked to repair an unusable reply."""
POLL_SECONDS = 0.05
"""Seconds between two checks of the budget while a call waits for other calls to end."""
_MAX_BRACKETS = 10_000
"""Maximum number of brackets that are tried as the beginning of a JSON value."""
_FIRST_KEY = re.compile(r'[\s\[{]*+"(?:[^"\\]|\\.)*+"\s*+')
"""Matches a JSON value up to its first key. If no colon follows, it may be prose, such as ``Begin with {".``"""
_FENCE = re.compile(r"^[ \t]*+(`{3,}+)([^`\n]*+)\n", re.MULTILINE)
_KINDS: Mapping[type | None, tuple[str, str]] = {
    dict: ("{", "an object in braces, {...}"),
    list: ("[", "a list in brackets, [...]"),
    None: ("{[", "a value"),
}
"""Maps each kind of JSON value to the brackets that it may begin with, and to its name in messages."""


class Sample(NamedTuple):
    """Which of several replies to the same prompt to ask for, and its temperature if it differs from the role's."""

    sample: int = 0
    temperature: float | None = None

    def apply(self, sampling: Sampling) -> Sampling:
        """Return a role's sampling parameters, changed for this sample."""
        temperature = sampling.temperature if self.temperature is None else self.temperature
        return sampling.model_copy(update={"sample": self.sample, "temperature": temperature})


FIRST_SAMPLE = Sample()


class Answer(NamedTuple, Generic[Read]):
    """A usable reply, and the value read from it. ``history`` is the conversation up to and including the reply."""

    value: Read
    reply: Reply
    history: tuple[Message, ...]


def as_text(text: str) -> str:
    """Return the reply, stripped. Raises ValueError if it is empty."""
    if not text.strip():
        raise ValueError("the reply is empty")
    return text.strip()


class Roles:
    """The models of a run and their sampling parameters.

    ``load`` takes a role and returns its model; it is not called before the role is asked. ``guard`` is called before
    each call of a model, and may raise EpisodeStopped. ``meter`` enforces the budget.
    """

    def __init__(
        self,
        load: Callable[[str], Model],
        sampling: Mapping[str, Sampling],
        *,
        guard: Callable[[], None] = lambda: None,
        meter: Meter | None = None,
        repairs: int = REPAIRS,
        seed: int = 0,
    ) -> None:
        self._load, self._sampling, self._guard, self.repairs = load, dict(sampling), guard, repairs
        self._meter, self._seed = meter or Meter(), seed

    def seeded(self, seed: int) -> "Roles":
        """Return the same roles, with ``seed`` added to the seed of each role's sampling, for repeats of a task."""
        roles = copy(self)
        roles._seed = seed
        return roles

    def guarded(self, guard: Callable[[], None]) -> "Roles":
        """Return the same roles with an additional guard, which is called before the current one."""

        def both_guards() -> None:
            guard()
            self._guard()

        roles = copy(self)
        roles._guard = both_guards
        return roles

    def sampling(self, role: str) -> Sampling:
        """Return the sampling parameters of a role."""
        sampling = self._sampling.get(role) or self._sampling.get(DEFAULT_ROLE) or Sampling()
        return sampling if sampling.seed is None else sampling.model_copy(update={"seed": sampling.seed + self._seed})

    def fit(self, role: str, messages: Sequence[Message]) -> FittedPrompt:
        """Return the messages, shortened to the context of the role's model. Raises ContextExceeded if that fails."""
        return fit(messages, prompt_limit(self.sampling(role)))

    def reserve_cost(self, role: str, messages: Sequence[Message]) -> AbstractContextManager[None]:
        """Return a context manager that reserves the highest possible cost of a call until its reply is recorded.

        It raises BudgetEnded if the budget does not suffice, or EpisodeStopped if the run is stopped while it waits.
        """
        return self._meter.call(self._load(role).name, max_usage(messages, self.sampling(role)), self._wait)

    def _wait(self) -> None:
        self._guard()
        time.sleep(POLL_SECONDS)

    def complete(
        self,
        role: str,
        messages: Sequence[Message],
        sample: Sample = FIRST_SAMPLE,
        on_text: OnText | None = None,
    ) -> tuple[Reply, str, Sampling]:
        """Ask the role's model. Return its reply, its name, and the sampling parameters.

        Raises ModelError if the model gives no Reply, EpisodeStopped if the run is stopped, or BudgetEnded if its time
        is used up.
        """
        self._guard()
        model, sampling = self._load(role), sample.apply(self.sampling(role))
        reply = model.complete(messages, sampling, on_text and ReasoningFilter(on_text))
        if not isinstance(reply, Reply):
            raise ModelRefused(
                f"complete() of the model {model.name} returned a {type(reply).__name__}; it must return a Reply, "
                'such as planbook.planner.Reply(text="...")'
            )
        return without_reasoning(reply), model.name, sampling


def no_model(role: str) -> Model:
    """Raise ModelError, because the run has no model for the role."""
    raise ModelError(f"the {role} has no model to ask; name one with --model, for example --model openai:NAME")


NO_MODELS: Roles = Roles(no_model, {})
"""The roles of a run without models."""


# JSON in replies is parsed, never repaired.


def as_json(text: str, kind: type | None = None) -> JsonValue:
    """Return the last JSON value of a kind in a reply, preferably from a code fence. Raises ValueError if none."""
    text = as_text(text)
    problems: list[tuple[int, str]] = []
    fenced = (_only_value(block, problems) for block in _fenced_blocks(text))
    candidates = [value for values in fenced for value in values if kind is None or isinstance(value, kind)]
    candidates = candidates or (_only_value(text, problems) if kind is None else [])
    openers, name = _KINDS[kind]
    candidates = candidates or _values_in_prose(text, openers, problems)
    if candidates:
        return candidates[-1]
    reason = f": {max(problems)[1]}" if problems else ""
    raise ValueError(f"there is no JSON in the reply that can be read as {name}{reason}")


def _fenced_blocks(text: str) -> Iterator[str]:
    """Yield the contents of code blocks whose language is JSON or not given.

    If a fence is never closed, fences of its length are not searched for again.
    """
    unclosed, at = set[str](), 0
    while fence := _FENCE.search(text, at):
        at = fence.end()
        if fence[1] in unclosed:
            continue
        if end := re.compile(rf"\n[ \t]*+{fence[1]}[ \t]*+$", re.MULTILINE).search(text, at - 1):
            if fence[2].strip().lower() in ("", "json"):
                yield text[at : end.start()]
            at = end.end()
        else:
            unclosed.add(fence[1])


def _only_value(text: str, problems: list[tuple[int, str]]) -> list[JsonValue]:
    try:
        value, end = _decode(text, len(text) - len(text.lstrip()))
    except _Unreadable as error:
        problems.append(error.args)
        return []
    if rest := text[end:].strip():
        problems.append((end, f"there is text after the value: {rest[:40]!r}"))
        return []
    return [value]


def _values_in_prose(text: str, openers: str, problems: list[tuple[int, str]]) -> list[JsonValue]:
    """Return the JSON values that are surrounded by prose. If one is faulty, the search continues after the fault."""
    values: list[JsonValue] = []
    opener, place = re.compile(f"[{re.escape(openers)}]"), 0
    for _ in range(_MAX_BRACKETS):
        if not (match := opener.search(text, place)):
            break
        try:
            value, place = _decode(text, match.start())
            values.append(value)
        except _Unreadable as error:
            problems.append(error.args)
            place = max(match.end(), error.args[0])
    return values


class _Unreadable(ValueError):
    """JSON that cannot be read. Its arguments are the position at which to continue the search, and the reason."""


def _decode(text: str, start: int) -> tuple[JsonValue, int]:
    """Return the JSON value that begins at ``start``, and the position of its end."""
    faults: list[str] = []
    decoder = json.JSONDecoder(object_pairs_hook=partial(_unique_keys, faults), parse_constant=partial(_refuse, faults))
    try:
        value, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        place = repr(text[error.pos : error.pos + 30]) if error.pos < len(text) else "the end of the text"
        is_open = error.msg.startswith("Unterminated string")  # the string then holds everything that follows
        is_prose = error.msg.startswith("Expecting ':'") and _FIRST_KEY.fullmatch(text, start, error.pos)
        reason = f"{error.msg.removesuffix(' at')} at {place}"
        after_quote = text.find('"', start) + 1
        raise _Unreadable(len(text) if is_open else after_quote if is_prose else error.pos, reason) from error
    except RecursionError:
        raise _Unreadable(len(text), "it is nested too deeply") from None
    if faults:
        raise _Unreadable(end, faults[0])
    return value, end


def _unique_keys(faults: list[str], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if repeated := sorted(key for key, times in Counter(key for key, _ in pairs).items() if times > 1):
        faults.append(f"the key {repeated[0]!r} appears twice in one object")
    return dict(pairs)


def _refuse(faults: list[str], name: str) -> None:
    faults.append(f"{name} is not a JSON number")
