"""Names of rules and rule types in text."""

import re
from collections.abc import Collection

from planbook.rules.types import RuleType

_CITATION = re.compile(r"\brule_(?:0|[1-9][0-9]*)\b", re.IGNORECASE | re.ASCII)
OTHER_NAMES = {
    "unsolvederror": RuleType.UNRESOLVED_ERROR,
    "specialphenomena": RuleType.SPECIAL_PHENOMENON,
    "helpermethod": RuleType.USEFUL_HELPER_METHOD,
}
"""The paper's other names of the types, letters only."""
TWO_IN_ONE = {"specialphenomenamechanism", "specialphenomenonmechanism"}


def rule_id(number: int) -> str:
    """Return the id of the rule with that number."""
    return f"rule_{number}"


def rule_number(id: str) -> int:
    """Return the number in a rule's id. Raises ValueError for an invalid id."""
    if not _CITATION.fullmatch(id) or not id.islower():
        raise ValueError(f"{id!r} is no rule id; they read rule_0, rule_1 and so on")
    return int(id.removeprefix("rule_"))


def citations(text: str) -> tuple[str, ...]:
    """Return the rule ids that a text names, each once, in order, whatever their case."""
    return tuple(dict.fromkeys(found.lower() for found in _CITATION.findall(text)))


def read_type(text: str, offered: Collection[RuleType]) -> RuleType:
    """Return the type that a text names, in any case. Raises ValueError, which lists the types."""
    letters = "".join(filter(str.isalpha, text.lower()))
    if letters in TWO_IN_ONE:
        raise ValueError(
            f"{text!r} is two types: choose {RuleType.SPECIAL_PHENOMENON} for what is observed, "
            f"{RuleType.SPECIAL_MECHANISM} for how the world works"
        )
    found = OTHER_NAMES.get(letters) or next((t for t in RuleType if t.replace(" ", "").lower() == letters), None)
    if found is None or found not in offered:
        raise ValueError(f"there is no type {text!r}; the types are {listed(offered)}")
    return found


def listed(types: Collection[RuleType]) -> str:
    """Return the types by name, in the order of their enum."""
    return ", ".join(t.value for t in RuleType if t in types)
