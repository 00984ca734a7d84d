"""Whether learning pays off: the cost of a solved task, including that of learning, compared with a baseline.

The baseline is the same model without learned knowledge.
"""

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.planner import Spending
from planbook.results import payoff_of, read_folder, read_run
from planbook.results.learning_cost import LearningPayoff
from planbook.runs import Run
from tests.flows import BUILD, Finished, invoke, scripted, succeed

TEST = ("test", "--env", "toy", "--model", scripted(), "--procedures-first")


@pytest.fixture(scope="module")
def home(built_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a build, and with a curve: test runs with its knowledge after 0, 2 and 4 tasks."""
    folder = tmp_path_factory.mktemp("paying")
    shutil.copytree(built_run, folder / "built")
    return folder


@pytest.fixture(scope="module")
def curve(home: Path) -> Finished:
    """The result of the curve."""
    return succeed(*TEST, "--library", home / "built", "--after", "0,2,4", "--out", home / "curve", "--json")


def payoff(folder: Path) -> Any:
    (row,) = invoke("stats", folder, "--json").result["rows"]
    return row.get("paying")


def paying(solved: int, playing: Spending, learning: Spending) -> LearningPayoff:
    return LearningPayoff(
        solved=solved,
        calls=playing.calls,
        tokens=playing.tokens,
        learning_calls=learning.calls,
        learning_tokens=learning.tokens,
    )


@pytest.mark.parametrize(
    ("tokens", "solved", "break_even"),
    [(100, 10, 12), (1000, 10, None), (100, 0, None), (990, 10, 1000)],
    ids=["saves", "saves nothing", "solves nothing", "saves little"],
)
def test_learning_breaks_even_when_it_has_saved_what_it_cost(tokens: int, solved: int, break_even: int | None) -> None:
    baseline = paying(10, Spending(calls=10, prompt=1000), Spending())
    learned = paying(solved, Spending(calls=1, completion=tokens), Spending(calls=5, prompt=1000))
    assert learned.compared_with("A", baseline).break_even == break_even


@pytest.mark.parametrize(
    ("solved", "baseline", "other_learning"),
    [(3, 0, 0), (3, 2, 1000), (0, 2, 0)],
    ids=["the other solved nothing", "the other has learned", "nothing was solved"],
)
def test_a_break_even_needs_successes_in_both_runs_and_one_without_learning(
    solved: int, baseline: int, other_learning: int
) -> None:
    learned = paying(solved, Spending(), Spending(calls=5, prompt=1000))
    other = paying(baseline, Spending(calls=9, prompt=9000), Spending(prompt=other_learning))
    assert learned.compared_with("A", other) == learned


def test_the_cost_of_a_solved_task_includes_learning(home: Path, curve: Finished) -> None:
    baseline, learned = curve.result["rows"][0]["paying"], payoff(home / "curve" / "after-4")
    cost = read_folder(home / "built").building_states[-1]
    assert (baseline["learning_calls"], baseline["learning_tokens"]) == (0, 0)
    assert (learned["learning_calls"], learned["learning_tokens"]) == (cost.calls, cost.tokens)
    each = learned["per_solved"]
    assert each["tokens"] == pytest.approx(learned["tokens"] / learned["solved"])
    assert each["tokens_with_learning"] == pytest.approx(each["tokens"] + cost.tokens / learned["solved"])
    assert each["tokens"] < baseline["per_solved"]["tokens"] < each["tokens_with_learning"]


def test_a_building_run_counts_the_cost_of_learning_separately(home: Path) -> None:
    built_run = payoff(home / "built")
    summary = invoke("stats", home / "built", "--json").result["rows"][0]
    assert 0 < built_run["learning_tokens"] < built_run["learning_tokens"] + built_run["tokens"] == summary["tokens"]


def test_test_stats_and_compare_report_the_break_even(home: Path, curve: Finished) -> None:
    baseline, _, learned = (row["paying"] for row in curve.result["rows"])
    saved = baseline["per_solved"]["tokens"] - learned["per_solved"]["tokens"]
    assert learned["break_even"] == -(-learned["learning_tokens"] // saved)
    line = f"the tokens spent on learning are saved after {learned['break_even']} solved tasks"
    assert f"after=4: {line}, compared with after=0" in curve.printed
    folder = home / "curve"
    assert f"after-4: {line}, compared with after-0" in invoke("stats", folder).printed
    assert f"B: {line}, compared with A" in invoke("compare", folder / "after-0", folder / "after-4").printed
    other = ("--planner-option", "replans=0", "--after", 0, "--out", home / "other")
    succeed(*TEST, "--library", home / "built", *other)
    compared = f"{line}, compared with curve/after-0"
    assert compared in invoke("stats", home / "other", folder).printed, "a baseline has the same settings"
    assert "learning are saved" not in invoke("compare", home / "other", folder / "after-4").printed
    without = invoke("compare", home / "other", folder / "after-2", folder / "after-4").printed
    assert "without and with the cost of learning" not in without, "no table without a break-even point"
    (pooled,) = invoke("stats", folder, "--by", "env", "--json").result["rows"]
    assert pooled["paying"]["learning_tokens"] == learned["learning_tokens"], "the six tasks include the first two"
    rows = invoke("stats", home, "--json").result["rows"]
    assert [row["paying"]["break_even"] for row in rows if row["building"]] == [None]


def test_a_run_whose_library_has_no_knowledge_is_a_baseline(home: Path, curve: Finished, tmp_path: Path) -> None:
    (tmp_path / "empty" / "toy").mkdir(parents=True)
    default = ("--sampling", "temperature=0")  # that it is given makes no difference
    succeed(*TEST, *default, "--library", tmp_path / "empty", "--out", tmp_path / "without")
    assert payoff(tmp_path / "without")["learning_tokens"] == 0
    compared = invoke("compare", tmp_path / "without", home / "curve" / "after-4").printed
    assert "the tokens spent on learning are saved after" in compared
    file = tmp_path / "without" / "run.json"
    digest = json.loads(file.read_text())["inputs"]["prompts"]["action_docs.j2"]
    file.write_text(file.read_text().replace(digest, "0" * len(digest)))
    changed = [invoke(command, tmp_path / "without", home / "curve" / "after-4") for command in ("compare", "stats")]
    assert not any("the tokens spent on learning are saved after" in each.printed for each in changed), (
        "of other prompts"
    )
    alone = invoke("stats", home / "curve" / "after-4").printed
    assert "tokens / solved" in alone
    assert "learning are saved after" not in alone, "there is nothing to compare with"


def tokens(*folders: Path) -> int:
    return sum(row["tokens"] for row in invoke("stats", *folders, "--json").result["rows"])


@pytest.mark.usefixtures("curve")
def test_learning_counts_once_in_a_group_and_no_baseline_has_learned(home: Path, tmp_path: Path) -> None:
    """The second library was built on the first."""
    first, second, after_4 = home / "built", tmp_path / "second", home / "curve" / "after-4"
    succeed(*BUILD, "--task", "fetch/7", "--library", first, "--out", second)
    curve = invoke(*TEST, "--library", second, "--after", "0,1", "--out", tmp_path / "curve", "--json")
    after_1 = tmp_path / "curve" / "after-1"
    (row,) = invoke("stats", "--by", "env", after_4, after_1, "--json").result["rows"]
    assert row["paying"]["learning_tokens"] == tokens(first, second)
    (row,) = invoke("stats", "--by", "env", first, after_4, after_1, second, "--json").result["rows"]
    assert row["paying"]["tokens"] + row["paying"]["learning_tokens"] == row["tokens"]
    assert curve.result["rows"][0]["paying"]["learning_tokens"] == tokens(first)
    assert [row["paying"]["beside"] for row in curve.result["rows"]] == ["", ""]


@pytest.mark.usefixtures("curve")
def test_a_build_from_copied_episodes_has_no_break_even(home: Path, tmp_path: Path) -> None:
    played = home / "curve" / "after-0"
    succeed("build", "--from", played, "--model", scripted(), "--out", tmp_path / "copied")
    assert "are saved after" not in invoke("compare", played, tmp_path / "copied").printed


def test_learning_after_the_start_of_a_test_does_not_count(tmp_path: Path) -> None:
    """Neither does the clock of the machine on which the library was built."""
    library, tested = tmp_path / "built", tmp_path / "tested"
    assert invoke(*BUILD, "--tasks-per-type", 2, "--budget", "calls=8", "--out", library).returncode == 4
    spent = tokens(library)
    assert spent > read_folder(library).building_states[-1].tokens, "learning from an episode was interrupted"
    succeed("test", "--env", "toy", "--model", "none", "--library", library, "--out", tested)
    assert payoff(tested)["learning_tokens"] == spent
    succeed("build", "--resume", library, "--budget", "calls=99")
    assert tokens(library) > spent
    for days in (-1, 2):
        with closing(sqlite3.connect(library / "run.db")) as store, store:
            store.execute("UPDATE event SET at = at + ? WHERE id > 20", [days * 86_400])
        assert payoff(tested)["learning_tokens"] == spent
    file = library / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"begun": "2026-01-01T00:00:00+00:00"}))
    assert payoff(tested) is None, "the folder holds another run"


@pytest.mark.usefixtures("curve")
@pytest.mark.parametrize(
    ("names", "building"),
    [(["curve/after-4"], False), (["built"], True), (["free", "built"], True)],
    ids=["with a library", "a build", "a build among others"],
)
def test_the_cost_of_learning_of_an_imported_run_is_unknown(
    names: list[str], building: bool, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Except if all episodes are from runs that learned nothing."""
    monkeypatch.chdir(home)  # which holds a folder with the name of the run's library
    if not (home / "free").exists():
        succeed("run", "--env", "toy", "--split", "all:2", "--out", "free")
    rows = {}
    for folder, originals in {"imported": names, "nothing-learned": ["free"]}.items():
        invoke("export", *originals, "--out", tmp_path / f"{folder}.jsonl")
        succeed("import", tmp_path / f"{folder}.jsonl", "--out", tmp_path / folder)
        (rows[folder],) = invoke("stats", tmp_path / folder, "--json").result["rows"]
    assert (rows["imported"]["paying"], rows["imported"]["building"]) == (None, building)
    assert rows["nothing-learned"]["paying"]["learning_calls"] == 0


def test_the_cost_of_a_library_in_a_database_that_cannot_be_read_is_unknown(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Path(shutil.copytree(home / "built", tmp_path / "built"))
    succeed(*TEST, "--library", library, "--after", 4, "--out", tmp_path / "tested")
    assert payoff(tmp_path / "tested")["learning_tokens"]
    file = library / "run.json"
    file.write_text(
        json.dumps(json.loads(file.read_text()) | {"store": {"url": "postgresql://localhost/no", "schema": "no"}})
    )
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "planbook.store.postgres", raising=False)
    monkeypatch.delattr("planbook.store.postgres", raising=False)
    assert payoff(tmp_path / "tested") is None


@pytest.mark.usefixtures("curve")
def test_run_and_report_show_the_cost_with_learning(home: Path, tmp_path: Path) -> None:
    played = invoke(*TEST, "--library", home / "built", "--out", tmp_path / "run")
    assert "with learning (23 calls, " in played.printed
    folders = (tmp_path / "run", home / "curve" / "after-0")
    invoke("report", *folders, "--out", tmp_path / "report.html")
    assert "with learning (23 calls, " in (tmp_path / "report.html").read_text()


@pytest.mark.usefixtures("curve")
def test_the_cost_of_learning_is_read_once_for_a_run_that_is_watched(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "built", tmp_path / "built")
    invoke(*TEST, "--library", tmp_path / "built", "--out", tmp_path / "run")
    with closing(Run.open(tmp_path / "run")) as run:
        table = read_run(run)
        before = payoff_of([table])
        shutil.rmtree(tmp_path / "built")
        assert before is not None
        assert payoff_of([table.so_far()]) == before


@pytest.mark.parametrize(
    "command", ["run --env toy --split all:2", "test --env alfworld --library learned --split generated:1"]
)
def test_nothing_is_reported_if_nothing_was_spent_on_learning_or_its_cost_is_unknown(
    command: str, tmp_path: Path
) -> None:
    played = succeed(*command.split(), "--out", tmp_path / "run")
    assert "with learning" not in played.printed
    assert "with learning" not in invoke("stats", tmp_path / "run").printed
