"""Every benchmark runs with few repeats, and each of its figures is a number."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from planbook.commands import inspection
from planbook.commands.inspection import BENCHMARKS
from planbook.envs import MissingRequirement
from planbook.sandbox import Sandbox
from tests.browser import need_browser
from tools.bench import BENCHES, Row, peers, prompts, replay, report, sandbox, scale, stream, tool_calls
from tools.bench.timing import interleave, percentile


def test_the_command_offers_every_benchmark() -> None:
    assert tuple(sorted(BENCHES)) == BENCHMARKS


def test_benchmarks_need_a_clone_of_the_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(inspection, "CLONE", tmp_path)
    with pytest.raises(MissingRequirement, match="clone the repository"):
        CliRunner().invoke(inspection.bench, ["start"], catch_exceptions=False)


def test_functions_are_timed_in_turn_after_a_warm_up() -> None:
    order: list[str] = []

    def timed(name: str) -> float:
        order.append(name)
        return float(len(order))

    assert interleave([lambda: timed("first"), lambda: timed("second")], 2) == [[3.0, 5.0], [4.0, 6.0]]
    assert order == ["first", "second"] * 3


def test_a_percentile_is_one_of_the_times() -> None:
    times = [float(time) for time in range(10, 0, -1)]
    assert [percentile(times, share) for share in (0.0, 0.5, 0.9, 1.0)] == [1.0, 6.0, 10.0, 10.0]


def test_every_engine_computes_like_python_calls_the_host_and_raises_errors() -> None:
    with Sandbox() as opened, peers.open_engines(opened) as every:
        for engine in every:
            for _, code in sandbox.CODE.values():
                expected: dict[str, object] = {}
                exec(f"{code}\nanswer = work(7)", expected)
                with engine.session() as run:
                    run(code)
                    run(f"if work(7) != {expected['answer']!r}:\n    raise ValueError('another answer')")
            with engine.session() as run:
                run(f"if {engine.action} != 'You are at desk_1.':\n    raise ValueError('another answer')")
            with engine.session() as run, pytest.raises(Exception):  # noqa: B017 - each engine has its own class
                run("1 // 0")


@pytest.mark.deep
def test_the_sandbox_is_compared_with_each_peer() -> None:
    rows = sandbox.rows(repeats=1, starts=2, plans=2)
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    for peer in peers.MODULES:
        assert any(peer in name for name in names), f"{peer} has neither figures nor a row that says why"
    for part in (*sandbox.CODE, "action", "session start, median", "plans of 4 actions, 2 threads"):
        assert f"{part}: sandbox" in names
    assert all(row.value is None or row.value > 0 for row in rows)


def test_a_measured_replay_solves_every_task() -> None:
    rows = {row.name: row for row in replay.rows(limit=6)}
    assert rows["alfworld replay: solved"] == Row(
        "alfworld replay: solved", 100.0, "%", None, rows["alfworld replay: episodes into the store"].against
    )
    assert (rows["alfworld replay: 3,553 games, scaled"].value or 0) > 0


@pytest.mark.deep
def test_many_parallel_jobs_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "executors", lambda: ["processes"])
    rows = {row.name: row for row in scale.rows(limit=6, answer_seconds=0.2)}
    assert all(row.value is not None and row.value > 0 for row in rows.values())
    assert (rows["the same, 32 in flight"].ratio or 0) > 1
    assert {"private memory a job: threads", "private memory a job: processes"} <= rows.keys()


@pytest.mark.deep
@pytest.mark.browser
def test_a_report_is_measured_in_a_browser() -> None:
    need_browser()
    rows = {row.name: row for row in report.rows(12)}
    assert rows["report: written"].against.startswith("12 episodes with prompts")
    assert [row.unit for row in rows.values()] == ["s", "s", "MB", "MB", "ms", "ms"]
    assert all((row.value or 0) > 0 for row in rows.values())
    assert sum(row.goal.startswith("under ") for row in rows.values()) == 4
    loaded, painted = list(rows.values())[4:]
    assert (loaded.value or 0) < (painted.value or 0)


@pytest.mark.deep
def test_streaming_is_measured_over_recorded_replies() -> None:
    """On a busy machine the gain may vanish, so it is measured up to three times, with ever slower replies."""
    for rate in (1_000.0, 500.0, 250.0):
        figures = {row.name: row.value or 0 for row in stream.rows(("react-textcraft",), rate=rate)}
        waited = figures["stream: first action, median, the whole reply awaited"]
        streamed = figures["stream: first action, median, streamed"]
        saved = figures["stream: tokens not sent, of plans that fail in the middle"]
        if 0 < streamed < waited and 10 < saved < 90:
            break
    assert 0 < streamed < waited
    assert 10 < saved < 90
    assert "stream: tokens not sent, of plans that succeed" in figures


@pytest.mark.deep
def test_tokens_of_prompts_are_reported_by_role_and_part() -> None:
    rows = {row.name: row for row in prompts.rows(("deps-minecraft",))}
    whole = next(row for name, row in rows.items() if name.startswith("deps-minecraft, planner") and "prompts" in name)
    parts = [row for name, row in rows.items() if name.startswith(f"{whole.name.rpartition(':')[0]}: ") and row.ratio]
    own_parts = [row for row in parts if not row.name.endswith("start shared with an earlier prompt")]
    assert sum(row.value or 0 for row in own_parts) == pytest.approx(whole.value, rel=0.02)
    assert 0 < next(row.ratio or 0 for row in parts if row.name.endswith("start shared with an earlier prompt")) < 1


@pytest.mark.deep
def test_tool_calls_are_compared_with_calls_of_the_sdk() -> None:
    pytest.importorskip("mcp")
    rows = tool_calls.rows(calls=3, repeats=1)
    assert [row.name.rpartition(", ")[2] for row in rows] == ["the SDK's client alone", "checked", "from a plan"] * 2
    assert all(row.value is not None and row.value > 0 for row in rows)
