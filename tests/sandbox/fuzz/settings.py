"""The number of examples for fuzzing: few in the suite, PLANBOOK_FUZZ times as many on request."""

import os

from hypothesis import settings

TIMES = int(os.environ.get("PLANBOOK_FUZZ", "1"))


def examples(number: int) -> settings:
    """Return the project's settings of Hypothesis with this number of examples in the suite."""
    return settings(max_examples=number * TIMES)
