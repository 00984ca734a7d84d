"""Declare the preconditions of actions, and find out which of them hold at each line of a plan.

An environment declares one function for each action. The function takes the arguments of the action and returns a
``Contract``, which says what the action needs and what it changes. Needs and changes refer to facts, such as
``Fact("open", ("box_2",))``. An argument, or the value of a fact, may be UNKNOWN.

    HOLDING = Fact("holding")

    def take(thing: ArgValue, box: ArgValue) -> Contract:
        return Contract(
            needs=[Need.equal(HOLDING, "nothing", "the hand already holds {now}")],
            changes=[Change(HOLDING, thing)],
        )

    Preconditions({"take": take}, start={HOLDING: "nothing"})

A dry run analyses a plan without running it. ``Beliefs`` are the possible values of all facts at one of its lines.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

MAX_VALUES = 12
"""Maximum number of possible values to remember for a fact. If there are more, every value counts as possible."""


Values = frozenset[Hashable] | None
"""The possible values of a fact. None if every value is possible."""


class UnknownValue(Enum):
    """The type of UNKNOWN."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "..."


UNKNOWN = UnknownValue.UNKNOWN
"""The value of a fact or an argument that is known only when the plan runs."""
ArgValue = Any
"""The value of an action's argument: JSON, or UNKNOWN."""


class Fact(NamedTuple):
    """Something that has one value at a time. ``Fact("open", ("box_2",))``, for example, is True or False."""

    name: str
    objects: tuple[Hashable, ...] = ()
    """The objects that the fact is about. If one of them is UNKNOWN, any fact with the same name may be meant."""


@dataclass(frozen=True)
class Need:
    """One condition of an action, which the value of a fact must meet."""

    fact: Fact
    refusal: Callable[[Any], str]
    """Returns the reason why a value does not meet the need, or "" if it does.

    "{now}" in the reason is replaced with the value.
    """
    only_value: Hashable = UNKNOWN
    """The only value that meets the need, or UNKNOWN if several values may meet it."""

    @classmethod
    def equal(cls, fact: Fact, value: Hashable, reason: str) -> "Need":
        """Return the need for a fact to have this value. If ``value`` is UNKNOWN, every value meets the need."""
        return cls(fact, lambda now: "" if value in (UNKNOWN, now) else reason, value)

    @classmethod
    def satisfies(cls, fact: Fact, condition: Callable[[Any], bool], reason: str) -> "Need":
        """Return the need for ``condition`` to be true of a fact's value."""
        return cls(fact, lambda now: "" if condition(now) else reason)

    @classmethod
    def at_least(cls, fact: Fact, count: int, reason: str) -> "Need":
        """Return the need for a fact's value to be at least ``count``."""
        return cls.satisfies(fact, lambda now: now >= count, reason)


class Change(NamedTuple):
    """The effect of a successful action on a fact."""

    fact: Fact
    new_value: Any
    """The new value, or UNKNOWN, or a function that returns the new value for an old value."""

    @classmethod
    def add(cls, fact: Fact, count: int) -> "Change":
        """Return the change that adds ``count``, which may be negative, to the value of a fact."""
        return cls(fact, lambda now: now + count)


@dataclass(frozen=True)
class Contract:
    """The needs of an action with certain arguments, and the changes that it makes if it succeeds."""

    needs: Sequence[Need] = ()
    changes: Sequence[Change] = ()
    impossible_reason: str = ""
    """The reason why the action can never succeed with these arguments, or ""."""
    needs_suffice: bool = False
    """True if the action always succeeds when its needs are met."""


def rule_contract(rule: Callable[..., Contract], refusal_type: type[Exception], fact: Fact) -> Callable[..., Contract]:
    """Turn ``rule``, which cannot handle UNKNOWN arguments, into a function for ``Preconditions.contracts``.

    ``rule`` returns the contract of a call, or raises ``refusal_type`` if a call with these arguments can never
    succeed. If an argument is UNKNOWN, ``rule`` is not called: the contract has no needs, and sets ``fact`` to UNKNOWN.
    """

    def contract(*args: ArgValue) -> Contract:
        if any(arg is UNKNOWN for arg in args):
            return Contract(changes=[Change(fact, UNKNOWN)])
        try:
            return rule(*args)
        except refusal_type as reason:
            return Contract(impossible_reason=str(reason))

    return contract


@dataclass(frozen=True)
class Preconditions:
    """The preconditions of the actions in one task.

    At the start, every value of a fact is possible, unless ``start`` or ``defaults`` declares a value.
    """

    contracts: Mapping[str, Callable[..., Contract]]
    """Maps the name of an action to the function that returns its contract.

    An action that is missing here may change every fact.
    """
    start: Mapping[Fact, Hashable] = field(default_factory=dict)
    """Maps facts that the agent may know at the start to their initial values."""
    defaults: Mapping[str, Hashable] = field(default_factory=dict)
    """Maps a name to the initial value of all facts with this name that ``start`` does not contain."""
    attributes: Mapping[str, Fact] = field(default_factory=dict)
    """Maps the name of an attribute of the plan's ``agent`` to the fact that gives its value."""

    def contract(self, name: str, args: Sequence[ArgValue]) -> Contract | None:
        """Return the contract of an action, or None if the action has no contract.

        If an argument is UNKNOWN, the field ``needs_suffice`` is False.
        """
        if name not in self.contracts:
            return None
        contract = self.contracts[name](*args)
        return replace(contract, needs_suffice=False) if any(arg is UNKNOWN for arg in args) else contract


@dataclass(frozen=True)
class Beliefs:
    """The possible values of all facts. Immutable.

    If a fact has an UNKNOWN object, the methods consider all facts with the same name.
    """

    fact_values: Mapping[Fact, Values]
    """Maps a fact to its possible values."""
    defaults: Mapping[str, Values]
    """Maps a name to the possible values of every fact of this name that is not in ``fact_values``."""

    @classmethod
    def at_start(cls, preconditions: Preconditions) -> "Beliefs":
        """Return the beliefs before the first action."""
        fact_values = {fact: frozenset({value}) for fact, value in preconditions.start.items()}
        return cls(fact_values, {name: frozenset({value}) for name, value in preconditions.defaults.items()})

    def values(self, fact: Fact) -> Values:
        """Return the possible values of a fact or, if an object is UNKNOWN, of all facts with the same name."""
        merged = self.defaults.get(fact.name)
        if UNKNOWN not in fact.objects:
            return self.fact_values.get(fact, merged)
        for other_fact, values in self.fact_values.items():
            merged = _merge(merged, values) if other_fact.name == fact.name else merged
        return merged

    def merged_with(self, other: "Beliefs") -> "Beliefs":
        """Return the beliefs if one of the two sets of beliefs is true, but it is unknown which."""
        facts = {*self.fact_values, *other.fact_values}
        names = self.defaults.keys() & other.defaults.keys()
        return Beliefs(
            {fact: _merge(self.values(fact), other.values(fact)) for fact in facts},
            {name: _merge(self.defaults[name], other.defaults[name]) for name in names},
        )

    def with_values(self, fact: Fact, values: Values) -> "Beliefs":
        """Return these beliefs with new possible values of a fact.

        If the fact has an UNKNOWN object, merge the new values into those of all facts with the same name.
        """
        if UNKNOWN not in fact.objects:
            return Beliefs({**self.fact_values, fact: values}, self.defaults)
        fact_values = {
            other: _merge(old, values) if other.name == fact.name else old for other, old in self.fact_values.items()
        }
        defaults = {name: _merge(old, values) if name == fact.name else old for name, old in self.defaults.items()}
        return Beliefs(fact_values, defaults)

    def after(self, contract: Contract) -> "tuple[Beliefs, str]":
        """Return the beliefs after an action, and the reason why the action cannot succeed, or "" if it may succeed.

        Unless the action is certain to succeed, the beliefs also cover the case in which it was refused.
        """
        if contract.impossible_reason:
            return self, contract.impossible_reason
        if_met, open_needs = self, list[Need]()
        for need in contract.needs:
            values = self.values(need.fact)
            if reason := _violation(need, values):
                return self, reason
            if values is None or any(map(need.refusal, values)):
                open_needs.append(need)
                if_met = if_met._assume_met(need, values)
        after = if_met._apply(contract)
        if open_needs or not contract.needs_suffice:
            after = after.merged_with(self._assume_unmet(open_needs) if contract.needs_suffice else self)
        return after, ""

    def _assume_met(self, need: Need, values: Values) -> "Beliefs":
        """Return the beliefs for the case in which the need is met."""
        if UNKNOWN in need.fact.objects:
            return self
        if values is None:
            met_by = None if need.only_value is UNKNOWN else frozenset({need.only_value})
        else:
            met_by = frozenset(value for value in values if not need.refusal(value))
        return self.with_values(need.fact, met_by)

    def _assume_unmet(self, needs: Sequence[Need]) -> "Beliefs":
        """Return the beliefs for the case in which at least one of these needs is not met.

        If the needs concern different facts, nothing is known about any single fact, and the beliefs are unchanged.
        """
        fact = needs[0].fact
        values = self.values(fact)
        if UNKNOWN in fact.objects or values is None or any(need.fact != fact for need in needs):
            return self
        refused = frozenset(value for value in values if any(need.refusal(value) for need in needs))
        return self.with_values(fact, refused)

    def _apply(self, contract: Contract) -> "Beliefs":
        after = self
        for fact, new_value in contract.changes:
            old_values = self.values(fact)
            if callable(new_value):
                values = None if old_values is None else frozenset(map(new_value, old_values))
            else:
                values = None if new_value is UNKNOWN else frozenset({new_value})
            after = after.with_values(fact, values)
        return after


def _merge(first: Values, second: Values) -> Values:
    """Return the values that are possible if one of the two sets is right, but it is unknown which."""
    if first is None or second is None or (first != second and len(first | second) > MAX_VALUES):
        return None
    return first | second


def _violation(need: Need, possible: Values) -> str:
    """Return the reason why no possible value of the fact meets the need, or "" if a possible value meets it.

    Also return "" if every value is possible.
    """
    values = sorted(possible or (), key=repr)
    reasons = [need.refusal(value).replace("{now}", str(value)) for value in values]
    return ", or ".join(dict.fromkeys(reasons)) if all(reasons) else ""
