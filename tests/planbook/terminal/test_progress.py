"""The progress of a run in the terminal."""

import io
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from planbook.config import LearningSettings
from planbook.console import SafeConsole
from planbook.planner import Budget, Ending, Outcome, Spending
from planbook.planner.budget import Meter
from planbook.runs import Run
from planbook.terminal import Progress
from planbook.wording import format_clock
from tests.reported import many_endings

SOLVED, FAILED = Ending(outcome=Outcome.DIRECT_SUCCESS), Ending(outcome=Outcome.FAILURE, cause="done")
BROKEN = Ending(outcome=Outcome.BROKEN, cause="broken")


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0:00"), (62, "1:02"), (3723, "1:02:03")])
def test_times_are_written_as_hours_minutes_and_seconds(seconds: float, shown: str) -> None:
    assert format_clock(seconds) == shown


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A run of four episodes."""
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * 4)) as opened:
        yield opened


def progress(run: Run, endings: Iterable[Ending], paused: bool = False) -> Progress:
    return Progress(run, "adapt on toy", 4, endings, lambda: paused)


def bar(shown: Progress, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    with console.capture() as captured:
        console.print(shown.bar())
    return captured.get().splitlines()


def printed_lines(shown: Progress, every: float, seconds: float) -> list[str]:
    """Return the lines that are printed_lines if the output is not a terminal."""
    file = io.StringIO()
    with shown.show(SafeConsole(file=file), interval=every):
        time.sleep(seconds)
    return file.getvalue().splitlines()


def test_the_bar_shows_results_spending_and_the_time_left(run: Run) -> None:
    shown = progress(run, [SOLVED, BROKEN])
    run.meter = Meter(Budget(calls=2000), Spending(calls=1234, prompt=4000, completion=500, money=1.5, seconds=60.5))
    line, below = bar(shown, 150)
    assert re.fullmatch(r"━+╸? *", below)
    assert line.startswith("adapt on toy: 2/4 episodes, 1 solved (50.0%), 1 broken; 1,234 of 2,000 calls, 4,500 ")
    assert line.rstrip().endswith("tokens, $1.50; 1:00 elapsed; - left")
    shown.count(FAILED)
    line, _ = bar(shown, 150)
    assert "1 solved (33.3%)" in line
    assert "1:00 elapsed; about 1:00 left" in line


def test_a_run_that_learns_counts_an_episode_when_it_has_been_learned_from(run: Run) -> None:
    run.config = run.config.model_copy(update={"learning": LearningSettings()})
    run.meter = Meter(Budget(), Spending(calls=1, prompt=1))
    line = bar(progress(run, []), 150)[0]
    assert line.startswith("adapt on toy: 0/4 episodes with their learning, 0 solved; 1 call, 1 token; ")


def test_the_bar_says_that_a_run_is_paused(run: Run) -> None:
    line = bar(progress(run, [], paused=True), 100)[0]
    assert "0 solved; paused (continue in planbook watch); " in line


def test_without_a_terminal_a_line_is_printed_at_intervals_and_at_the_end(run: Run) -> None:
    lines = printed_lines(progress(run, [SOLVED]), every=0.2, seconds=0.5)
    assert len(lines) >= 2
    assert re.fullmatch(r"adapt on toy: 1/4 episodes, 1 solved \(100\.0%\); \d:\d\d elapsed; - left", lines[-1])


def test_without_a_terminal_a_short_run_prints_nothing(run: Run) -> None:
    assert printed_lines(progress(run, []), every=5, seconds=0) == []
