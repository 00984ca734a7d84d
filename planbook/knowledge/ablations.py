"""What can be left out, by the names that ``--without`` takes (AutoManual, tables 3, 6 and 7)."""

from collections.abc import Iterable, Mapping

from planbook.errors import BadArgument
from planbook.rules import Form

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


def check_ablations(names: Iterable[str]) -> None:
    """Raise BadArgument for a name that is none."""
    if unknown := sorted(set(names) - set(ABLATIONS)):
        known = "\n".join(f"  {name}: {meaning}" for name, meaning in ABLATIONS.items())
        raise BadArgument(f"--without {unknown[0]}: there is no such part; there are\n{known}")


def form_without(names: Iterable[str]) -> Form:
    """The attributes that rules have."""
    left_out = set(names)
    return Form(
        types="types" not in left_out,
        examples="examples" not in left_out,
        logs="logs" not in left_out,
        helper_methods="helpers" not in left_out,
    )
