"""Declare the preconditions of actions, and track what is known about them along a plan.

An environment declares one function for each action. It takes the action's arguments and returns a ``Deed``: the needs
and changes of the action, stated as facts such as ``Fact("open", ("box_2",))``. An argument may be UNKNOWN, and
so may the value of a fact.

    HOLDING = Fact("holding")

    def take(thing: Given, box: Given) -> Deed:
        return Deed(
            needs=[Need.equal(HOLDING, "nothing", "the hand already holds {now}")],
            changes=[Change(HOLDING, thing)],
        )

    Preconditions({"take": take}, start={HOLDING: "nothing"})
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

MAX_VALUES = 12
"""Maximum number of possible values of a fact. With more, any value counts as possible."""


@dataclass(frozen=True)
class Belief:
    """The possible values of a fact (None: any), and the plan lines that made them possible.

    ``before`` holds the previous beliefs: one, or two where branches of the plan were merged.
    """

    values: frozenset[Hashable] | None = None
    since: frozenset[int] = frozenset()
    before: tuple["Belief", ...] = field(default=(), compare=False, repr=False)

    def either(self, other: "Belief") -> "Belief":
        """Return the belief that follows if one of two beliefs holds, and it is unknown which."""
        if self == other:
            return self
        if self.values is None or other.values is None or len(self.values | other.values) > MAX_VALUES:
            return Belief()
        return Belief(self.values | other.values, self.since | other.since, (self, other))

    def following(self, before: "Belief", line: int) -> "Belief":
        """Return this belief as the result of a plan line; ``before`` if the values are the same."""
        return before if self.values == before.values else Belief(self.values, frozenset({line}), (before,))

    def since_when(self, reason_of: "Callable[[Belief], str]") -> tuple[int, ...]:
        """Return the lines since which ``reason_of`` has returned its current reason; empty if from the start."""
        waiting, seen, lines = [self], set[int](), set[int]()
        while waiting:
            belief = waiting.pop()
            if id(belief) in seen:
                continue
            seen.add(id(belief))
            if len(belief.before) > 1 or any(reason_of(earlier) == reason_of(belief) for earlier in belief.before):
                waiting.extend(belief.before)
            else:
                lines |= belief.since
        return tuple(sorted(lines))


ANY = Belief()


class UnknownValue(Enum):
    """The type of UNKNOWN: a value that is known only when the plan runs."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "..."


UNKNOWN = UnknownValue.UNKNOWN
"""The value of a fact or an argument that cannot be known before acting."""
Given = Any
"""An argument of an action: JSON, or UNKNOWN."""


class Fact(NamedTuple):
    """Something that has one value at a time: ``Fact("open", ("box_2",))`` is True or False."""

    name: str
    of: tuple[Hashable, ...] = ()


@dataclass(frozen=True)
class Need:
    """One thing that must hold. ``refusal`` returns why a value does not meet it, or "".

    The value replaces "{now}" in the reason. ``only`` is the value that meets the need, if there is exactly one.
    """

    fact: Fact
    refusal: Callable[[Any], str]
    only: Hashable = UNKNOWN

    @classmethod
    def equal(cls, fact: Fact, value: Hashable, why: str) -> "Need":
        """Return the need that a fact has this value; any value meets it if ``value`` is UNKNOWN."""
        return cls(fact, lambda now: "" if value in (UNKNOWN, now) else why, value)

    @classmethod
    def that(cls, fact: Fact, holds: Callable[[Any], bool], why: str) -> "Need":
        """Return the need that the value of a fact meets a condition."""
        return cls(fact, lambda now: "" if holds(now) else why)

    @classmethod
    def at_least(cls, fact: Fact, count: int, why: str) -> "Need":
        """Return the need that a number is at least ``count``."""
        return cls.that(fact, lambda now: now >= count, why)


class Change(NamedTuple):
    """The effect of a successful action on a fact: a value, UNKNOWN, or a function of the old value."""

    fact: Fact
    to: Any

    @classmethod
    def by(cls, fact: Fact, count: int) -> "Change":
        """Return the change of a number by ``count``, which may be negative."""
        return cls(fact, lambda now: now + count)


@dataclass(frozen=True)
class Deed:
    """One action with its arguments: its needs, and its changes if it succeeds.

    ``impossible`` is the reason why these arguments can never succeed. ``sure`` is True if the action always succeeds
    when its needs are met.
    """

    needs: Sequence[Need] = ()
    changes: Sequence[Change] = ()
    impossible: str = ""
    sure: bool = False


def deed_from_rules(rule: Callable[..., Deed], refused: type[Exception], unclear: Fact) -> Callable[..., Deed]:
    """Return a function for ``Preconditions.deeds`` that applies a rule of the environment.

    ``rule`` returns the deed, or raises ``refused`` if these arguments can never succeed. If an argument is UNKNOWN,
    the deed has no needs, and the fact ``unclear`` may become anything.
    """

    def deed(*args: Given) -> Deed:
        if any(arg is UNKNOWN for arg in args):
            return Deed(changes=[Change(unclear, UNKNOWN)])
        try:
            return rule(*args)
        except refused as why:
            return Deed(impossible=str(why))

    return deed


@dataclass(frozen=True)
class Preconditions:
    """An environment's declaration for one task. An action without a deed may change every fact.

    ``start`` has the facts at the start that the agent may know; ``defaults`` has the value of all other facts, by
    their name. Everything else is unknown. ``attributes`` maps attributes of the plan's ``agent`` to facts.
    """

    deeds: Mapping[str, Callable[..., Deed]]
    start: Mapping[Fact, Hashable] = field(default_factory=dict)
    defaults: Mapping[str, Hashable] = field(default_factory=dict)
    attributes: Mapping[str, Fact] = field(default_factory=dict)

    def deed(self, name: str, args: Sequence[Given]) -> Deed | None:
        """Return the deed of an action, None if it has none; never ``sure`` if one of the arguments is UNKNOWN."""
        if name not in self.deeds:
            return None
        deed = self.deeds[name](*args)
        return replace(deed, sure=False) if any(arg is UNKNOWN for arg in args) else deed


class Violation(NamedTuple):
    """The reason why an action cannot succeed, and the lines that caused it (empty: it held from the start)."""

    why: str
    since: tuple[int, ...]


@dataclass(frozen=True)
class Beliefs:
    """The beliefs about all facts. Immutable."""

    known: Mapping[Fact, Belief]
    others: Mapping[str, Belief]
    """By name, the belief about each fact of that name that is not in ``known``."""

    @classmethod
    def at_start(cls, declared: Preconditions) -> "Beliefs":
        """Return the beliefs before the first action."""
        known = {fact: Belief(frozenset({value})) for fact, value in declared.start.items()}
        return cls(known, {name: Belief(frozenset({value})) for name, value in declared.defaults.items()})

    def of(self, fact: Fact) -> Belief:
        """Return the belief about a fact; if part of ``of`` is UNKNOWN, merged from all facts that it may be."""
        if UNKNOWN not in fact.of:
            return self.known.get(fact, self.others.get(fact.name, ANY))
        merged = self.others.get(fact.name, ANY)
        for other, belief in self.known.items():
            merged = merged.either(belief) if other.name == fact.name else merged
        return merged

    def either(self, other: "Beliefs") -> "Beliefs":
        """Return the beliefs that follow if one of two sets of beliefs holds, and it is unknown which."""
        facts = {*self.known, *other.known}
        names = self.others.keys() & other.others.keys()
        return Beliefs(
            {fact: self.of(fact).either(other.of(fact)) for fact in facts},
            {name: self.others[name].either(other.others[name]) for name in names},
        )

    def with_belief(self, fact: Fact, belief: Belief) -> "Beliefs":
        """Return beliefs with this one about a fact; if part of ``of`` is UNKNOWN, merged into all that it may be."""
        if UNKNOWN not in fact.of:
            return Beliefs({**self.known, fact: belief}, self.others)
        known = {other: old.either(belief) if other.name == fact.name else old for other, old in self.known.items()}
        others = {name: old.either(belief) if name == fact.name else old for name, old in self.others.items()}
        return Beliefs(known, others)

    def after(self, deed: Deed, line: int) -> "tuple[Beliefs, Violation | None]":
        """Return the beliefs after an action that may have been refused, and the reason if it certainly was."""
        if deed.impossible:
            return self, Violation(deed.impossible, ())
        met, open_needs = self, list[Need]()
        for need in deed.needs:
            belief = self.of(need.fact)
            if why := _violation(need, belief):
                return self, Violation(why, belief.since_when(partial(_violation, need)))
            if belief.values is None or any(map(need.refusal, belief.values)):
                open_needs.append(need)
                met = met._assume_met(need, belief)
        after = met._apply(deed)
        if open_needs or not deed.sure:
            after = after.either(self._assume_missed(open_needs) if deed.sure else self)
        return after._follow(self, line), None

    def _assume_met(self, need: Need, belief: Belief) -> "Beliefs":
        """Return the beliefs if the need was met."""
        if UNKNOWN in need.fact.of:
            return self
        if belief.values is None:
            values = None if need.only is UNKNOWN else frozenset({need.only})
        else:
            values = frozenset(value for value in belief.values if not need.refusal(value))
        return self.with_belief(need.fact, Belief(values))

    def _assume_missed(self, needs: Sequence[Need]) -> "Beliefs":
        """Return the beliefs if one of these needs was not met. They change only if all concern the same fact."""
        fact = needs[0].fact
        belief = self.of(fact)
        if UNKNOWN in fact.of or belief.values is None or any(need.fact != fact for need in needs):
            return self
        left = frozenset(value for value in belief.values if any(need.refusal(value) for need in needs))
        return self.with_belief(fact, Belief(left))

    def _apply(self, deed: Deed) -> "Beliefs":
        after = self
        for fact, to in deed.changes:
            before = self.of(fact)
            if callable(to):
                values = None if before.values is None else frozenset(map(to, before.values))
            else:
                values = None if to is UNKNOWN else frozenset({to})
            after = after.with_belief(fact, Belief(values))
        return after

    def _follow(self, before: "Beliefs", line: int) -> "Beliefs":
        """Return the beliefs, with those that changed marked as the result of a line."""
        return Beliefs(
            {fact: belief.following(before.of(fact), line) for fact, belief in self.known.items()},
            {name: belief.following(before.others.get(name, ANY), line) for name, belief in self.others.items()},
        )


def _violation(need: Need, belief: Belief) -> str:
    """Return the reason why no possible value of the fact meets the need; "" if one of them may meet it."""
    values = sorted(belief.values or (), key=repr)
    reasons = [need.refusal(value).replace("{now}", str(value)) for value in values]
    return ", or ".join(dict.fromkeys(reasons)) if all(reasons) else ""
