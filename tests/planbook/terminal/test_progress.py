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
from planbook.terminal.progress import InTurn, Progress, Standing
from planbook.wording import clock
from tests.reported import many_endings

SOLVED, FAILED = Ending(outcome=Outcome.DIRECT_SUCCESS), Ending(outcome=Outcome.FAILURE, cause="done")
BROKEN = Ending(outcome=Outcome.BROKEN, cause="broken")


def test_nothing_is_guessed_before_an_episode_has_ended() -> None:
    assert InTurn(range(3), 2).left(500.0) is None


def test_a_few_long_episodes_one_by_one() -> None:
    pace = InTurn(range(3), 1)
    pace.ended(0, 3600.0)
    assert pace.left(3600.0) == 7200
    assert pace.left(5400.0) == 5400
    pace.ended(1, 7200.0)
    assert pace.left(7200.0 + 600) == 3000


def test_one_that_lasts_longer_than_any_so_far_counts_as_just_begun() -> None:
    pace = InTurn(range(2), 1)
    pace.ended(0, 10.0)
    assert pace.left(35.0) == 10


def test_many_at_a_time_share_what_is_left() -> None:
    pace = InTurn(range(100), 10)
    for index in range(10):
        pace.ended(index, 60.0)
    assert pace.left(60.0) == pytest.approx(9 * 60)
    assert pace.left(90.0) == pytest.approx(8 * 60 + 30)


def test_the_slowest_under_way_decides_at_the_end() -> None:
    pace = InTurn(range(4), 2)
    pace.ended(0, 100.0)
    pace.ended(1, 100.0)
    pace.ended(2, 120.0)
    assert pace.left(120.0) == pytest.approx(80.0)


def test_nothing_is_left_at_the_end() -> None:
    pace = InTurn(range(1), 4)
    pace.ended(0, 9.0)
    pace.ended(7, 9.0)
    assert pace.left(9.0) == 0


@pytest.mark.parametrize(("seconds", "told"), [(0.4, "0:00"), (62, "1:02"), (3723, "1:02:03")])
def test_times(seconds: float, told: str) -> None:
    assert clock(seconds) == told


def progress(run: Run, endings: Iterable[Ending], paused: bool = False) -> Progress:
    return Progress(run, "adapt on toy", Standing(4, endings), InTurn([2, 3], 1), lambda: paused)


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
        shown.ended(run.entries()[2], FAILED)
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
        with progress(run, [SOLVED]).shown(out, every=0.2):
            time.sleep(0.5)
        lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
        assert 2 <= len(lines) <= 4
        assert lines[-1] == "adapt on toy: 1/4 episodes, 1 solved (100.0%); 0:00 elapsed; - left"


def test_a_short_run_that_nobody_sees_tells_nothing(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * 4)) as run:
        out = Console(file=io.StringIO())
        with progress(run, []).shown(out, every=5):
            pass
        assert out.file.getvalue() == ""  # type: ignore[attr-defined]
