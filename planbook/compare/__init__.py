"""Comparisons of runs, from their tables of results.

``pairs`` compares two runs over the same tasks, by their ``differences`` in settings, success, measures and costs;
``groups`` has a row for each of any number of runs. ``tables`` shows all of it. ``reruns`` compares a run with one that
repeats it, event by event. ``effects`` estimates the effects of single rules and skills, from runs without each.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.compare.differences import full_name, parse_where, setting
    from planbook.compare.effects import PartEffect, effect_parts, part_effects
    from planbook.compare.groups import group_rows
    from planbook.compare.pairs import RunComparison, compare, compare_all
    from planbook.compare.reruns import (
        RepeatedEpisode,
        RerunTotals,
        Way,
        learned_the_same,
        repeated_episodes,
        totals,
    )
    from planbook.compare.tables import comparison_parts, group_parts, verdict_lines
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "PartEffect",
    "RepeatedEpisode",
    "RerunTotals",
    "RunComparison",
    "Way",
    "compare",
    "compare_all",
    "comparison_parts",
    "effect_parts",
    "full_name",
    "group_parts",
    "group_rows",
    "learned_the_same",
    "parse_where",
    "part_effects",
    "repeated_episodes",
    "setting",
    "totals",
    "verdict_lines",
]
