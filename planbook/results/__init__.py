"""The results of runs: a table with a row for each episode, and counts over it.

``table`` reads a run into ``RunResults`` in one pass over its events; ``rows`` has the row of an episode, ``Result``.
``summary`` counts a run's rows, with the ``claims`` that agents made, the ``matches`` of goals with found types, and
the ``measures`` and milestones of environments; methods count their own figures (``planbook.planner.strategies.base``).
``telling`` writes all of it in sentences and small tables, for the terminal and the report. ``learning_cost`` has the
cost of building, and whether it pays. ``statistics`` has the intervals and tests.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.results.claims import ClaimCounts, TaskClaim
    from planbook.results.learning_cost import (
        BuildingCost,
        Paying,
        Reached,
        building_cost,
        cost_line,
        reached_after,
    )
    from planbook.results.matches import matches_table, versions_line
    from planbook.results.measures import (
        Measure,
        format_number,
        known_milestones,
        milestones,
        overall,
        unlock_score,
    )
    from planbook.results.rows import NOT_PLAYED, Result
    from planbook.results.summary import Summary, by_task, mean_actions, mean_errors, solved_interval, summarise
    from planbook.results.table import RunResults, read_folder, read_run
    from planbook.results.telling import (
        UNSAFE,
        claim_lines,
        failure_lines,
        figure_parts,
        measure_lines,
        milestone_parts,
        paying_line,
        paying_table,
        results_table,
        spending_lines,
    )
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "NOT_PLAYED",
    "UNSAFE",
    "BuildingCost",
    "ClaimCounts",
    "Measure",
    "Paying",
    "Reached",
    "Result",
    "RunResults",
    "Summary",
    "TaskClaim",
    "building_cost",
    "by_task",
    "claim_lines",
    "cost_line",
    "failure_lines",
    "figure_parts",
    "format_number",
    "known_milestones",
    "matches_table",
    "mean_actions",
    "mean_errors",
    "measure_lines",
    "milestone_parts",
    "milestones",
    "overall",
    "paying_line",
    "paying_table",
    "reached_after",
    "read_folder",
    "read_run",
    "results_table",
    "solved_interval",
    "spending_lines",
    "summarise",
    "unlock_score",
    "versions_line",
]
