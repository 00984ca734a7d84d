"""The parts of knowledge that a run can leave out with ``--without``.

These are the ablations of the AutoManual paper, and single rules and skills.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from planbook.errors import BadArgument

if TYPE_CHECKING:
    from planbook.rules import Knowledge

RETRIEVAL = "retrieval"
ABLATIONS: Mapping[str, str] = {
    "rules": "no rules at all: the planner with its skill and reflection libraries",
    "libraries": "neither skills nor reflections",
    "online": "rules are built after all episodes have been played, not in between",
    "cases": "the Builder gets one prompt for every case",
    "classification": "the Builder is not asked whose fault an error was",
    "formulation": "the rules as a list, although there is a manual",
    "types": "rules without a type",
    "examples": "rules without an example",
    "logs": "rules without a validation log",
    "helpers": "no helper methods: neither as rules nor defined beforehand nor encouraged",
    RETRIEVAL: "every rule in the prompt, not only those that the task needs",
    "cooperation": "the Builder does not see the planner's thoughts, and the planner names no rules",
}
SKILL = "skill:"
SINGLE_PART = re.compile(rf"rule_\d+|{SKILL}.+")
"""Matches the name of a single part: ``rule_N``, or ``skill:TYPE`` for a type's skill and procedure."""


def check_ablations(names: Iterable[str], *, building: bool = False) -> None:
    """Raise BadArgument if a name is unknown.

    Names of single rules and skills are valid unless ``building`` is set, since `planbook build` cannot leave them out.
    """
    single = [] if building else [name for name in names if SINGLE_PART.fullmatch(name)]
    if unknown := sorted(set(names) - set(ABLATIONS) - set(single)):
        known = "\n".join(f"  {name}: {meaning}" for name, meaning in ABLATIONS.items())
        others = "" if building else " rule_N, skill:TYPE and"
        raise BadArgument(f"--without {unknown[0]}: there is no such part; the parts are{others}\n{known}")


def check_single_parts(names: Iterable[str], known: "Iterable[Knowledge]") -> None:
    """Raise BadArgument if one of the names is that of a rule or skill that does not exist in the knowledge."""
    existing = sorted({name for knowledge in known for name in single_parts(knowledge)})
    if unknown := sorted(name for name in set(names) - set(existing) if SINGLE_PART.fullmatch(name)):
        raise BadArgument(f"--without {unknown[0]}: there is no such rule or skill; known: {', '.join(existing)}")


def single_parts(knowledge: "Knowledge") -> list[str]:
    """Return the names of the rules and skills, each of which can be left out."""
    kinds = sorted({*knowledge.skills, *knowledge.procedures})
    return [*(rule.id for rule in knowledge.rules), *(f"{SKILL}{kind}" for kind in kinds)]
