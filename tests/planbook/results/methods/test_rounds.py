"""The figures of searching methods and of graphs, counted from recorded spans."""

from contextlib import closing
from pathlib import Path

from planbook.planner.strategies.advocate.tree import SearchFigures
from planbook.planner.strategies.agentkit import GraphFigures
from planbook.runs import Run
from tests.rows import (
    BROKEN,
    FAILED,
    SOLVED,
    EpisodeWriter as EpisodeWriter,  # other tests import it from here
    new_run,
    summary_of,
)


def search_figures(run: Run) -> SearchFigures:
    found = summary_of(run).methods["search"]
    assert isinstance(found, SearchFigures)
    return found


def test_means_of_actions_and_revisions_leave_out_broken_episodes(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", *"aaaa")) as run:
        for entry, (actions, outcome) in zip(
            run.entries(), [((3, 1, 5), FAILED), ((1,), SOLVED), ((3, 1, 5), BROKEN)], strict=False
        ):
            writer = EpisodeWriter(run, entry.path)
            for number, count in enumerate(actions):
                writer.plan(number, count)
            writer.end(outcome)
        found = search_figures(run)
    assert (found.mean_actions_first, found.mean_actions_last, found.mean_revisions) == (2.0, 3.0, 1.0)


def test_success_by_round_falls_if_a_later_round_undoes_it(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", *"aa")) as run:
        for entry, (verdicts, outcome) in zip(
            run.entries(), [((False, True, False), FAILED), ((False, True), SOLVED)], strict=True
        ):
            writer = EpisodeWriter(run, entry.path)
            for number, solved in enumerate(verdicts):
                writer.plan(number, solved=solved)
            writer.end(outcome)
        found = search_figures(run)
    assert (found.solved_by_round, found.success_by_round) == ((0, 2, 1), (0.0, 1.0, 0.5))


def test_success_by_round_without_verdicts_is_cumulative_and_over_all_tasks(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", *"aaaaa")) as run:
        for entry, (rounds, outcome) in zip(
            run.entries(), [(1, SOLVED), (3, SOLVED), (3, SOLVED), (4, FAILED)], strict=False
        ):
            writer = EpisodeWriter(run, entry.path)
            for number in range(rounds):
                writer.plan(number)
            writer.end(outcome)
        found = search_figures(run)
    assert found.solved_by_round == (1, 1, 3, 3)
    assert found.success_by_round == (0.2, 0.2, 0.6, 0.6)


def test_branches_are_counted_by_their_fates(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", "a")) as run:
        writer = EpisodeWriter(run, "task/0")
        writer.plan(0, 4)
        fates = [(0, "kept"), (0, "turned back"), (1, "kept"), (1, "abandoned"), (2, "not tried"), (0, "not tried")]
        for idea, fate in fates:
            writer.branch(0, idea, fate)
        writer.end(SOLVED)
        found = search_figures(run)
    assert found.branches == {"kept": 2, "not tried": 2, "turned back": 1, "abandoned": 1}
    rounds, branches = map(str, found.describe())
    assert rounds.startswith("Actions per task, without the answer: 4.00 in the first round")
    assert rounds.endswith("Solved with at most N rounds: 1: 100.0%.")
    assert branches == "Branches: kept 2, not tried 2, turned back 1, abandoned 1."


def test_only_the_last_attempt_at_an_episode_counts(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", "a")) as run:
        first, last = EpisodeWriter(run, "task/0"), EpisodeWriter(run, "task/0/restart/1")
        for number, actions in enumerate((3, 1, 5)):
            first.plan(number, actions)
        last.plan(0, 1)
        last.end(SOLVED)
        found = search_figures(run)
    assert (found.mean_actions_first, found.mean_revisions, found.solved_by_round) == (1.0, 0.0, (1,))


def test_a_run_without_spans_has_no_figures_of_methods(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", "a")) as run:
        EpisodeWriter(run, "task/0").end(SOLVED)
        assert summary_of(run).methods == {}


def test_nodes_of_graphs_are_counted(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", *"aa")) as run:
        writer = EpisodeWriter(run, "task/0")
        for number in range(2):
            for name in ("observe", "act"):
                body = {"node": name, "number": number, "skipped": bool(number)}
                writer.put(f"{writer.scope}/pass/{number}", "node", body)
            body = {"node": "rest", "number": number, "skipped": True, "answer": "instead"}
            writer.put(f"{writer.scope}/pass/{number}", "node", body)
        writer.end(SOLVED)
        unfinished = EpisodeWriter(run, "task/1")
        unfinished.put(f"{unfinished.scope}/pass/0", "node", {"node": "observe", "number": 0})
        methods = summary_of(run).methods
    assert methods == {"graph": GraphFigures(passes=3, answered=3, skipped=4, mean_passes=2)}
    (line,) = map(str, methods["graph"].describe())
    assert line == "Passes over the graph: 3, 2.00 per task; nodes answered 3, skipped 4."
