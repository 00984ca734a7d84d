"""Knowledge with one part removed, to measure the value of that part (AutoManual, tables 3, 6 and 7)."""

import re
from collections.abc import Collection
from typing import Any

from planbook.rules.types import Knowledge

ABLATIONS = frozenset({"cooperation", "examples", "formulation", "helpers", "libraries", "rules", "types"})
"""Parts that a memory can leave out; other names are ablations of other parts."""

RULES_NAMED = re.compile(r"^### Rules\n(?:(?!###).*\n)*", re.MULTILINE)
"""The segment of a reply in which the starting example names rules."""


def ablated(knowledge: Knowledge, without: Collection[str]) -> Knowledge:
    """Return the knowledge without the named parts.

    A manual goes too if it still tells what was removed from its rules.
    """
    rules: dict[str, Any] = {}
    if "examples" in without:
        rules["example"] = ""
    if "types" in without:
        rules["type"] = None
    kept = () if "rules" in without else tuple(rule.model_copy(update=rules) for rule in knowledge.rules)
    taken: dict[str, Any] = {"rules": kept}
    if kept != knowledge.rules or "rules" in without or "formulation" in without:
        taken["manual"] = ""
    if "libraries" in without:
        taken |= {"skills": {}, "reflections": {}}
    if {"rules", "cooperation"} & set(without):
        taken["example"] = RULES_NAMED.sub("", knowledge.example)
    return knowledge.model_copy(update=taken)
