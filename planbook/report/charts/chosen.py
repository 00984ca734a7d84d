"""Which charts a page shows, of one run or of several beside each other."""

from collections.abc import Sequence

from planbook.report.charts.bars import actions, endings, success
from planbook.report.charts.building import building
from planbook.report.charts.chart import Chart
from planbook.report.charts.curves import curves, learning_curves
from planbook.results import RunResults


def charts(runs: Sequence[RunResults], first: int = 0) -> list[Chart]:
    """Those of the results; nothing where no episode has ended. ``first`` is the number of the first run."""
    if not any(run.order for run in runs):
        return []
    found = [success(runs, first), endings(runs), *curves(runs, first), *learning_curves(runs)]
    if len(runs) == 1:
        found += [*building(runs[0]), actions(runs[0])]
    return [chart for chart in found if chart is not None]
