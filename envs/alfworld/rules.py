"""The domain of a game, read: what each of its actions asks for and what it changes."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

_COMMENT = re.compile(r";[^\n]*")
_TOKEN = re.compile(r"[()]|[^\s()]+")


class Rule(NamedTuple):
    """One action of the domain: the parts of its precondition and of its effect, each written the same way.

    In small letters, with single spaces: ``(not (opened ?r))``.
    """

    needs: tuple[str, ...]
    changes: tuple[str, ...]


@lru_cache(maxsize=4)
def read_rules(domain: str) -> Mapping[str, Rule]:
    """The actions of a domain by name, in small letters."""
    tree = _parsed(iter(_TOKEN.findall(_COMMENT.sub("", domain).lower())))
    found = {}
    for part in tree[0]:
        if isinstance(part, list) and part and part[0] == ":action":
            sections = dict(zip(part[2::2], part[3::2], strict=True))
            found[str(part[1])] = Rule(_parts(sections[":precondition"]), _parts(sections[":effect"]))
    return found


def _parsed(tokens: Iterator[str]) -> list[Any]:
    """Nested lists of words, up to the next closing bracket."""
    tree: list[Any] = []
    for token in tokens:
        if token == ")":
            return tree
        tree.append(_parsed(tokens) if token == "(" else token)
    return tree


def _parts(tree: list[Any]) -> tuple[str, ...]:
    """What is joined by ``and``, or the one part that there is."""
    if not tree:
        return ()
    return tuple(map(_text, tree[1:])) if tree[0] == "and" else (_text(tree),)


def _text(tree: object) -> str:
    return f"({' '.join(map(_text, tree))})" if isinstance(tree, list) else str(tree)
