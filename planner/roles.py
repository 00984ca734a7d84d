"""Roles: the model and the sampling parameters for each kind of question.

A role is the part that a model plays in a run, such as "planner" or "executor". Each role can have its own model.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Generic, NamedTuple, TypeVar

from planbook.planner.budget import Meter
from planbook.planner.errors import ModelError, ModelRefused
from planbook.planner.models.types import Message, Model, OnText, Reply, Sampling, max_usage
from planbook.planner.replies import ReasoningFilter, without_reasoning
from planbook.planner.shortening import FittedPrompt, fit, prompt_limit

Read = TypeVar("Read")
DEFAULT_ROLE = "default"
"""The role whose model and sampling parameters apply to every role that has none."""
PLANNER_ROLE = "planner"
"""The role that writes the plans in most methods."""
REPAIRS = 2
"""How many times a model may be asked to repair an unusable reply."""
POLL_SECONDS = 0.05
"""Number of seconds between two checks of the budget while a call waits for other calls to end."""


class Sample(NamedTuple):
    """One of several replies to the same prompt, with its ``number``, from 0.

    ``temperature`` is used instead of the role's temperature, unless it is None.
    """

    number: int = 0
    temperature: float | None = None

    def apply(self, sampling: Sampling) -> Sampling:
        """Return a role's sampling parameters, with the number and the temperature of this sample."""
        temperature = sampling.temperature if self.temperature is None else self.temperature
        return sampling.model_copy(update={"sample": self.number, "temperature": temperature})


FIRST_SAMPLE = Sample()


class Answer(NamedTuple, Generic[Read]):
    """A usable reply, and the value read from it. ``history`` is the conversation up to and including the reply."""

    value: Read
    reply: Reply
    history: tuple[Message, ...]


class Roles:
    """The models of a run and their sampling parameters.

    ``load`` takes a role and returns its model. It is called only when the role is needed. ``guard`` is called before
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
        """Return a copy of the roles, for a repeat of a task. ``seed`` is added to the seed of each role."""
        roles = copy(self)
        roles._seed = seed
        return roles

    def sampling(self, role: str) -> Sampling:
        """Return the sampling parameters of a role."""
        sampling = self._sampling.get(role) or self._sampling.get(DEFAULT_ROLE) or Sampling()
        return sampling if sampling.seed is None else sampling.model_copy(update={"seed": sampling.seed + self._seed})

    def fit(self, role: str, messages: Sequence[Message]) -> FittedPrompt:
        """Return the messages, shortened until they fit into the context of the role's model.

        Raises ContextExceeded if they cannot be shortened enough.
        """
        return fit(messages, prompt_limit(self.sampling(role)))

    def reserve_cost(self, role: str, messages: Sequence[Message]) -> AbstractContextManager[None]:
        """Return a context manager that reserves the highest possible cost of a call until its reply is recorded.

        Entering it raises BudgetEnded if the budget does not suffice, or EpisodeStopped if the run is stopped while the
        call waits for other calls.
        """
        return self._meter.reserve(self._load(role).name, max_usage(messages, self.sampling(role)), self._wait)

    def _wait(self) -> None:
        self._guard()
        time.sleep(POLL_SECONDS)

    def complete(
        self, role: str, messages: Sequence[Message], sample: Sample = FIRST_SAMPLE, on_text: OnText | None = None
    ) -> tuple[Reply, str, Sampling]:
        """Ask the role's model. Return the reply, the name of the model, and the sampling parameters that were used.

        Raises ModelError if the model gives no Reply, EpisodeStopped if the run is stopped, or BudgetEnded if the
        run's time is used up.
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
