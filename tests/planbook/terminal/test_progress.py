"""What is told of a run while it is played: how far it is, and how long it will take."""

import io
import re
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from planbook.planner import Budget, Ending, Outcome, Spent
from planbook.planner.budget import Meter
from planbook.runs import Run
from planbook.terminal.printing import Progress, time_left
from planbook.wording import clock
from tests.reported import many_endings

SOLVED, FAILED = Ending(outcome=Outcome.DIRECT_SUCCESS), Ending(outcome=Outcome.FAILURE, cause="done")
BROKEN = Ending(outcome=Outcome.BROKEN, cause="broken")


def test_the_rest_takes_as_long_as_what_has_ended() -> None:
    assert time_left(500.0, 0, 3) is None
    assert time_left(60.0, 10, 90) == pytest.approx(9 * 60)


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0:00"), (62, "1:02"), (3723, "1:02:03")])
def test_times_are_written_as_on_a_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def progress(run: Run, endings: Iterable[Ending], paused: bool = False) -> Progress:
    return Progress(run, "adapt on toy", 4, endings, lambda: paused)


def drawn(shown: Progress, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    with console.capture() as captured:
        console.print(shown.bar())
    return captured.get().splitlines()


def test_the_bar_tells_successes_what_broke_what_was_spent_and_the_time_left(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * 4)) as run:
        run.meter = Meter(Budget(calls=2000), Spent(calls=1234, prompt=4000, completion=500, money=1.5))
        shown = progress(run, [SOLVED, BROKEN])
        first, second = drawn(shown, 100)
        assert re.fullmatch(r"adapt on toy ━+ +2/4 1 solved \(50\.0%\) 1 broken *", first)
        assert second.strip() == "1,234 of 2,000 calls, 4,500 tokens, $1.50; 0:00 elapsed; - left"
        shown.count(run.entries()[2], FAILED)
        assert "1 solved (33.3%)" in drawn(shown, 100)[0]
        assert "0:00 elapsed; about 0:00 left" in drawn(shown, 100)[1]


def test_the_bar_says_that_nothing_goes_on_and_keeps_to_two_lines(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * 4)) as run:
        lines = drawn(progress(run, [], paused=True), 60)
        assert len(lines) == 2
        assert lines[1].startswith("Paused")
        assert "0 solved" in lines[0]
        assert len(drawn(progress(run, [], paused=True), 40)) == 2


def test_where_nobody_sees_it_there_is_a_line_now_and_then_and_at_the_end(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * 4)) as run:
        out = Console(file=io.StringIO(), highlight=False)
        with progress(run, [SOLVED]).show(out, every=0.2):
            time.sleep(0.5)
        lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
        assert 2 <= len(lines) <= 4
        assert lines[-1] == "adapt on toy: 1/4 episodes, 1 solved (100.0%); 0:00 elapsed; - left"


def test_a_short_run_that_nobody_sees_prints_nothing(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * 4)) as run:
        out = Console(file=io.StringIO())
        with progress(run, []).show(out, every=5):
            pass
        assert out.file.getvalue() == ""  # type: ignore[attr-defined]
