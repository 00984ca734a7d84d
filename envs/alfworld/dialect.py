"""How a game words things.

All known games share one set of rules, in two dialects; the direct engine plays no other.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache

from planbook.envs.errors import WorldBroken

_TASK_LINE = re.compile(r"Your task is to: [^\"]*")
_HELP_GRAMMAR = re.compile(r"\naction help \{.*", re.DOTALL)
_HELP_DOMAIN = re.compile(r"\(:action help\b.*", re.DOTALL)
_COMMENT = re.compile(r";[^\n]*")
_SINK = "(receptacleType ?r SinkType)"
_OLD_WORDS = {
    "You arrive at {lend.name}.": "You arrive at {r.name}.",
    "put {o} in/on {r}": "move {o} to {r}",
    "You put the {o.name} in/on the {r.name}.": "You move the {o.name} to the {r.name}.",
}
"""How alfworld before 0.4 said it, and how it is said now."""
_KNOWN_DOMAIN = "909b1bfcb6f3ae07a245371c49bd286cd643baca5c265b7104531840e8b141b5"
_KNOWN_GRAMMAR = "5102a0330767c5540fc1ad32e1a2dda5db689a67020c1c5a8af80dac74c70840"
"""Digests of the rules and the grammar that the direct engine has written out, whatever the dialect."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where games differ: words, whether there is ``help``, and what one can clean in."""

    puts: bool
    """Objects are put in/on receptacles (before 0.4), not moved to them."""
    arrives_at_location: bool
    """``go to`` names the location, not the receptacle."""
    helps: bool
    machines: dict[str, frozenset[str]]
    """Treatment (``heat``) to the kinds of receptacles that do it."""

    @property
    def put(self) -> str:
        """The verb for putting things down."""
        return "put" if self.puts else "move"

    @property
    def not_put(self) -> str:
        """The other dialect's verb."""
        return "move" if self.puts else "put"

    @property
    def to(self) -> str:
        """The word between the thing and where it goes."""
        return "in/on" if self.puts else "to"


def _digest(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def _domain_digest(domain: str) -> str:
    plain = _COMMENT.sub("", domain).replace(_SINK, "")
    return _digest(_HELP_DOMAIN.sub("", plain).rstrip(") \n"))


def _grammar_digest(grammar: str) -> str:
    plain = _HELP_GRAMMAR.sub("", grammar)
    for old, new in _OLD_WORDS.items():
        plain = plain.replace(old, new)
    return _digest(plain)


def _strip_task(grammar: str) -> str:
    return _TASK_LINE.sub("", grammar, count=1)


@lru_cache(maxsize=16)
def _read(domain: str, grammar: str) -> Dialect | None:
    if _domain_digest(domain) != _KNOWN_DOMAIN or _grammar_digest(grammar) != _KNOWN_GRAMMAR:
        return None
    return Dialect(
        puts="put {o} in/on {r}" in grammar,
        arrives_at_location="{lend.name}" in grammar,
        helps="\naction help {" in grammar,
        machines={
            "heat": frozenset({"microwavetype"}),
            "cool": frozenset({"fridgetype"}),
            "clean": frozenset({"sinkbasintype", *(["sinktype"] if _SINK in _COMMENT.sub("", domain) else [])}),
        },
    )


def read_dialect(domain: str, grammar: str) -> Dialect:
    """The dialect of a game's domain and grammar; raises WorldBroken for rules that the direct engine does not know."""
    dialect = _read(domain, _strip_task(grammar))
    if dialect is None:
        raise WorldBroken(
            "alfworld: this game's domain or grammar is not the one that the direct engine plays; "
            "choose the engine 'textworld' for it"
        )
    return dialect
