"""Declare what must hold before each action, and track what is known of it along a plan.

An environment declares one function for each action. It takes the action's arguments and returns a ``Deed``: what the
action needs and what it changes, stated as facts such as ``Fact("open", ("box_2",))``. An argument may be UNKNOWN, and
so may the value of a fact.

    HOLDING = Fact("holding")

    def take(thing: Given, box: Given) -> Deed:
        return Deed(
            needs=[Need.equal(HOLDING, "nothing", "the hand holds {now} then")],
            changes=[Change(HOLDING, thing)],
        )

    Preconditions({"take": take}, start={HOLDING: "nothing"})
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

MOST_VALUES = 12
"""With more values that a fact may have, any is taken to be possible."""


@dataclass(frozen=True)
class Belief:
    """The values that a fact may have (None: any), and the plan lines that left it so.

    ``before`` is what was believed until then: one belief, or two where ways of the plan came together.
    """

    values: frozenset[Hashable] | None = None
    since: frozenset[int] = frozenset()
    before: tuple["Belief", ...] = field(default=(), compare=False, repr=False)

    def either(self, other: "Belief") -> "Belief":
        """What is believed where one of the two is right."""
        if self == other:
            return self
        if self.values is None or other.values is None or len(self.values | other.values) > MOST_VALUES:
            return Belief()
        return Belief(self.values | other.values, self.since | other.since, (self, other))

    def following(self, before: "Belief", line: int) -> "Belief":
        """The same, as what a line made of another; where it left the values as they were, that one."""
        return before if self.values == before.values else Belief(self.values, frozenset({line}), (before,))

    def since_when(self, told: "Callable[[Belief], str]") -> tuple[int, ...]:
        """The lines from which on this is told of the fact (none: from the start); ``told`` is "" where it is not."""
        waiting, seen, lines = [self], set[int](), set[int]()
        while waiting:
            belief = waiting.pop()
            if id(belief) in seen:
                continue
            seen.add(id(belief))
            if len(belief.before) > 1 or any(told(each) == told(belief) for each in belief.before):
                waiting.extend(belief.before)
            else:
                lines |= belief.since
        return tuple(sorted(lines))


ANY = Belief()


class UnknownValue(Enum):
    """Stands for a value that a plan has only when it runs."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "..."


UNKNOWN = UnknownValue.UNKNOWN
Given = Any
"""An argument of an action: JSON, or UNKNOWN."""


class Fact(NamedTuple):
    """Something that has one value at a time: ``Fact("open", ("box_2",))`` is True or False."""

    name: str
    of: tuple[Hashable, ...] = ()


@dataclass(frozen=True)
class Need:
    """One thing that must hold. ``refusal`` says of a value why it will not do, or nothing if it does.

    Its "{now}" becomes what the fact is then. ``only`` is the one value that does, where there is just one.
    """

    fact: Fact
    refusal: Callable[[Any], str]
    only: Hashable = UNKNOWN

    @classmethod
    def equal(cls, fact: Fact, value: Hashable, why: str) -> "Need":
        """The fact must have this value; while the value is UNKNOWN, anything will do."""
        return cls(fact, lambda now: "" if value in (UNKNOWN, now) else why, value)

    @classmethod
    def that(cls, fact: Fact, holds: Callable[[Any], bool], why: str) -> "Need":
        """The fact's value must meet a condition."""
        return cls(fact, lambda now: "" if holds(now) else why)

    @classmethod
    def at_least(cls, fact: Fact, count: int, why: str) -> "Need":
        """There must be so many."""
        return cls.that(fact, lambda now: now >= count, why)


class Change(NamedTuple):
    """What an action that succeeds makes of a fact: a value, UNKNOWN, or a function of what it was."""

    fact: Fact
    to: Any

    @classmethod
    def by(cls, fact: Fact, count: int) -> "Change":
        """So many more; fewer, if negative."""
        return cls(fact, lambda now: now + count)


@dataclass(frozen=True)
class Deed:
    """One action with its arguments: what it needs, and what it changes if it succeeds.

    ``impossible`` is why these arguments can never do. ``sure`` says that nothing else can stop it: where all it
    needs holds, it succeeds.
    """

    needs: Sequence[Need] = ()
    changes: Sequence[Change] = ()
    impossible: str = ""
    sure: bool = False


def told_by(way: Callable[..., Deed], refused: type[Exception], unclear: Fact) -> Callable[..., Deed]:
    """A deed out of the world's own rules: impossible is what they refuse, by such an error, whatever holds.

    While an argument is UNKNOWN, it may make anything of what is ``unclear``.
    """

    def deed(*args: Given) -> Deed:
        if any(each is UNKNOWN for each in args):
            return Deed(changes=[Change(unclear, UNKNOWN)])
        try:
            return way(*args)
        except refused as why:
            return Deed(impossible=str(why))

    return deed


@dataclass(frozen=True)
class Preconditions:
    """All that a world declares for one task. An action without a deed may change every fact.

    ``start`` are facts at the start, as far as the agent may know them; ``usual`` says by name what all other facts
    of that name are then. What neither tells is not known. ``attributes`` are those of the plan's ``agent``.
    """

    deeds: Mapping[str, Callable[..., Deed]]
    start: Mapping[Fact, Hashable] = field(default_factory=dict)
    usual: Mapping[str, Hashable] = field(default_factory=dict)
    attributes: Mapping[str, Fact] = field(default_factory=dict)

    def deed(self, name: str, args: Sequence[Given]) -> Deed | None:
        """What is declared of an action with these arguments; it is not sure while one of them is UNKNOWN."""
        if name not in self.deeds:
            return None
        deed = self.deeds[name](*args)
        return replace(deed, sure=False) if any(each is UNKNOWN for each in args) else deed


class Violation(NamedTuple):
    """Why an action cannot succeed, and the lines since which it is so (none: from the start)."""

    why: str
    since: tuple[int, ...]


@dataclass(frozen=True)
class Beliefs:
    """What is known of all facts. It never changes."""

    known: Mapping[Fact, Belief]
    others: Mapping[str, Belief]
    """By name, what holds for each fact of that name that ``known`` does not have."""

    @classmethod
    def at_start(cls, declared: Preconditions) -> "Beliefs":
        """What is known before the first action."""
        known = {fact: Belief(frozenset({value})) for fact, value in declared.start.items()}
        return cls(known, {name: Belief(frozenset({value})) for name, value in declared.usual.items()})

    def of(self, fact: Fact) -> Belief:
        """What is known of a fact; where part of its name is UNKNOWN, of any that it may be."""
        if UNKNOWN not in fact.of:
            return self.known.get(fact, self.others.get(fact.name, ANY))
        found = self.others.get(fact.name, ANY)
        for each, belief in self.known.items():
            found = found.either(belief) if each.name == fact.name else found
        return found

    def either(self, other: "Beliefs") -> "Beliefs":
        """What is known where one of the two is right."""
        facts = {*self.known, *other.known}
        names = self.others.keys() & other.others.keys()
        return Beliefs(
            {fact: self.of(fact).either(other.of(fact)) for fact in facts},
            {name: self.others[name].either(other.others[name]) for name in names},
        )

    def with_belief(self, fact: Fact, belief: Belief) -> "Beliefs":
        """What is known once a fact is known to be so; where it is not known which, any of its name may be."""
        if UNKNOWN not in fact.of:
            return Beliefs({**self.known, fact: belief}, self.others)
        known = {each: old.either(belief) if each.name == fact.name else old for each, old in self.known.items()}
        others = {name: old.either(belief) if name == fact.name else old for name, old in self.others.items()}
        return Beliefs(known, others)

    def after(self, deed: Deed, line: int) -> "tuple[Beliefs, Violation | None]":
        """What is known after an action that may have been refused; why, where it certainly was."""
        if deed.impossible:
            return self, Violation(deed.impossible, ())
        met, open_needs = self, list[Need]()
        for need in deed.needs:
            belief = self.of(need.fact)
            if why := _violation(need, belief):
                return self, Violation(why, belief.since_when(partial(_violation, need)))
            if belief.values is None or any(map(need.refusal, belief.values)):
                open_needs.append(need)
                met = met._met(need, belief)
        after = met._changed(deed)
        if open_needs or not deed.sure:
            after = after.either(self._missed(open_needs) if deed.sure else self)
        return after._following(self, line), None

    def _met(self, need: Need, belief: Belief) -> "Beliefs":
        """What is known where the need held."""
        if UNKNOWN in need.fact.of:
            return self
        if belief.values is None:
            values = None if need.only is UNKNOWN else frozenset({need.only})
        else:
            values = frozenset(value for value in belief.values if not need.refusal(value))
        return self.with_belief(need.fact, Belief(values))

    def _missed(self, needs: Sequence[Need]) -> "Beliefs":
        """What is known where one of these needs did not hold: something, if all of them ask for the same fact."""
        fact = needs[0].fact
        belief = self.of(fact)
        if UNKNOWN in fact.of or belief.values is None or any(need.fact != fact for need in needs):
            return self
        left = frozenset(value for value in belief.values if any(need.refusal(value) for need in needs))
        return self.with_belief(fact, Belief(left))

    def _changed(self, deed: Deed) -> "Beliefs":
        after = self
        for fact, to in deed.changes:
            before = self.of(fact)
            if callable(to):
                values = None if before.values is None else frozenset(map(to, before.values))
            else:
                values = None if to is UNKNOWN else frozenset({to})
            after = after.with_belief(fact, Belief(values))
        return after

    def _following(self, before: "Beliefs", line: int) -> "Beliefs":
        """The same, as what a line made of what was known before."""
        return Beliefs(
            {fact: belief.following(before.of(fact), line) for fact, belief in self.known.items()},
            {name: belief.following(before.others.get(name, ANY), line) for name, belief in self.others.items()},
        )


def _violation(need: Need, belief: Belief) -> str:
    """Why no value that the fact may have will do; nothing where one may."""
    values = sorted(belief.values or (), key=repr)
    reasons = [need.refusal(value).replace("{now}", str(value)) for value in values]
    return ", or ".join(dict.fromkeys(reasons)) if all(reasons) else ""
