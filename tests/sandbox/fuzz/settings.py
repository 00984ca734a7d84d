"""How many examples fuzzing takes: few in the suite, more where PLANBOOK_FUZZ says how many times as many."""

import os

from hypothesis import settings

TIMES = int(os.environ.get("PLANBOOK_FUZZ", "1"))


def examples(number: int) -> settings:
    """The project's profile, with that many examples in the suite."""
    return settings(max_examples=number * TIMES)
