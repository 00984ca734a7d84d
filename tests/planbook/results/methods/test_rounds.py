"""What the figures of searching methods and of graphs are: read from their spans alone."""

from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.config import Config
from planbook.envs import Task
from planbook.planner import Ending, Outcome
from planbook.planner.strategies.advocate.tree import SearchFigures
from planbook.planner.strategies.agentkit import Passes
from planbook.results.summary import Summary, summarise
from planbook.results.table import read_run
from planbook.runs import Run

SOLVED, FAILED = Outcome.DIRECT_SUCCESS, Outcome.FAILURE


class Book:
    """Writes the events of one episode as a strategy would."""

    def __init__(self, run: Run, path: str) -> None:
        self.run, self.path, self.scope = run, path, f"{path}/round/0"
        self._numbers: dict[tuple[str, str], int] = {}

    def put(self, scope: str, kind: Any, body: dict[str, Any]) -> None:
        number = self._numbers.get((scope, kind), 0)
        self._numbers[scope, kind] = number + 1
        self.run.store.put(scope, kind, number, body)

    def plan(self, number: int, actions: int = 0, **more: int) -> None:
        body = {"round": number, "parts": ["a"], "revision": number > 0, "actions": actions, **more}
        self.put(
            f"{self.scope}/advocate/0",
            "span",
            {"at": "moment", "name": "plan", "title": "", "status": "", "data": body},
        )

    def branch(self, number: int, idea: int, fate: str, **more: Any) -> None:
        body = {"round": number, "number": 0, "subtask": "a", "idea": idea, "code": "x", "fate": fate, **more}
        self.put(f"{self.scope}/advocate/0", "branch", body)

    def end(self, outcome: Outcome) -> None:
        ending = Ending(outcome=outcome, cause="" if outcome.solved else outcome.value)
        self.put(self.path, "outcome", ending.model_dump(mode="json"))


def a_run(folder: Path, episodes: int) -> Run:
    tasks = [Task(id=f"a/{number}", env="toy", split="all", type="a", goal="g") for number in range(episodes)]
    return Run.create(folder, Config(planner="automanual", env="toy", actions=9), tasks)


def summarised(run: Run) -> Summary:
    return summarise(list(read_run(run).episodes.values()), 1.0, "run")


def searched(run: Run) -> SearchFigures:
    found = summarised(run).methods["search"]
    assert isinstance(found, SearchFigures)
    return found


def in_three_rounds(book: Book) -> None:
    for number, actions in enumerate((3, 1, 5)):
        book.plan(number, actions)


def test_actions_and_revisions_are_those_of_table_1(tmp_path: Path) -> None:
    """The last round is that of the last plan; a broken episode is none."""
    with closing(a_run(tmp_path / "run", 4)) as run:
        first, second, broken, _ = (Book(run, entry.path) for entry in run.entries())
        in_three_rounds(first)
        first.end(FAILED)
        second.plan(0, 1)
        second.end(SOLVED)
        in_three_rounds(broken)
        broken.end(Outcome.BROKEN)
        found = searched(run)
    assert (found.mean_actions_first, found.mean_actions_last, found.mean_revisions) == (2.0, 3.0, 1.0)


def test_success_by_round_is_cumulative_and_over_all_tasks(tmp_path: Path) -> None:
    with closing(a_run(tmp_path / "run", 5)) as run:
        for entry, (rounds, outcome) in zip(
            run.entries(), [(1, SOLVED), (3, SOLVED), (3, SOLVED), (4, FAILED)], strict=False
        ):
            book = Book(run, entry.path)
            for number in range(rounds):
                book.plan(number)
            book.end(outcome)
        found = searched(run)
    assert found.solved_by_round == (1, 1, 3, 3)
    assert found.success_by_round == (0.2, 0.2, 0.6, 0.6)


def test_branches_are_counted_by_fate_and_remedies_by_what_they_saved(tmp_path: Path) -> None:
    with closing(a_run(tmp_path / "run", 1)) as run:
        book = Book(run, "task/0")
        fates = [(0, "kept"), (0, "turned back"), (1, "kept"), (1, "abandoned"), (2, "not tried"), (0, "not tried")]
        for idea, fate in fates:
            book.branch(0, idea, fate)
        book.end(SOLVED)
        found = searched(run)
    assert found.branches == {"kept": 2, "not tried": 2, "turned back": 1, "abandoned": 1}
    assert (found.remedies_tried, found.remedies_kept) == (2, 1)
    (rounds, branches) = map(str, found.tell())
    assert rounds.endswith("Solved within N rounds: 1: 100.0%.")
    assert branches.endswith("remedies tried 2, kept 1.")


def test_what_a_rewind_does_not_bring_back_is_reported(tmp_path: Path) -> None:
    with closing(a_run(tmp_path / "run", 1)) as run:
        book = Book(run, "task/0")
        book.plan(0, 4, lasting=2, lasting_gone_behind=1)
        book.end(FAILED)
        found = searched(run)
    assert (found.lasting, found.lasting_gone_behind) == (2, 1)
    assert str(list(found.tell())[-1]).startswith("Actions whose effects a rewind cannot undo: 2;")


def test_of_an_episode_that_was_started_over_the_last_play_counts(tmp_path: Path) -> None:
    with closing(a_run(tmp_path / "run", 1)) as run:
        in_three_rounds(Book(run, "task/0"))
        again = Book(run, "task/0/restart/1")
        again.plan(0, 1)
        again.end(SOLVED)
        found = searched(run)
    assert (found.mean_actions_first, found.mean_revisions, found.solved_by_round) == (1.0, 0.0, (1,))


def test_a_run_without_plans_or_branches_has_no_such_figures(tmp_path: Path) -> None:
    with closing(a_run(tmp_path / "run", 1)) as run:
        Book(run, "task/0").end(SOLVED)
        assert summarised(run).methods == {}


def test_nodes_of_graphs_are_counted(tmp_path: Path) -> None:
    with closing(a_run(tmp_path / "run", 2)) as run:
        book = Book(run, "task/0")
        for number in range(2):
            for name in ("observe", "act"):
                body = {"node": name, "number": number, "skipped": bool(number), "temporary": name == "act"}
                book.put(f"{book.scope}/pass/{number}", "node", body)
        for number in range(2):
            body = {"node": "rest", "number": number, "skipped": True, "answer": "instead"}
            book.put(f"{book.scope}/pass/{number}", "node", body)
        book.end(SOLVED)
        unfinished = Book(run, "task/1")
        unfinished.put(f"{unfinished.scope}/pass/0", "node", {"node": "observe", "number": 0})
        summary = summarised(run)
    assert summary.methods == {"graph": Passes(passes=3, answered=3, reused=2, temporary=2, skipped=2, mean_passes=2)}
    (line,) = summary.methods["graph"].tell()
    assert isinstance(line, str)
    assert line.startswith("Passes over the graph: 3, 2.0 per task; nodes answered 3, reused 2")
    assert ", skipped 2; temporary nodes 2" in line
