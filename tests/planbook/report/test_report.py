"""The report of a run shows everything that the run holds, and the figures of its summary."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.errors import BadArgument
from planbook.planner import Ending, Outcome
from planbook.report import report_runs, script, script_hash
from planbook.runs import Run, recorded_endings
from planbook.wording import escape_control, in_words
from tests.command import planbook, result
from tests.flows import succeed
from tests.reported import HIDDEN, HOSTILE, Page, many_endings, reported, run_with_prompts, write_closed_run
from tests.rows import FAILED, SOLVED, summary_of, write_run
from tests.shelf import write_shelf


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_closed_run(tmp_path_factory.mktemp("report") / "asked", run_with_prompts)


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return reported(folder)


@pytest.fixture
def run(folder: Path) -> Iterator[Run]:
    with closing(Run.open(folder)) as opened:
        yield opened


def bodies(run: Run, kind: Any) -> list[Any]:
    return [event.body for event in run.store.events() if event.kind == kind]


def figures(page: Page) -> dict[str, list[str]]:
    """Map the name of each row of the table of results to its cells."""
    table = re.search(r'<table class="results">.*?</table>', page.source, re.DOTALL)
    assert table
    rows = re.findall(r"<tr[^>]*><th>([^<]*)</th>(.*?)</tr>", table[0])
    return {name: re.findall(r"<td>([^<]*)</td>", row) for name, row in rows if "<td>" in row}


def test_the_page_runs_only_our_script_and_fetches_nothing(page: Page) -> None:
    (own,) = ("".join(text) for tag, has, text in page.elements if tag == "script" and "type" not in has)
    assert own == script()
    (policy,) = (content for content in page.values("content") if "script-src" in content)
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src '{script_hash()}'"
    assert "innerHTML" not in own
    assert "insertAdjacentHTML" not in own
    names = {name for _, has, _ in page.elements for name in has}
    assert not {name for name in names if name.startswith("on")} | (names & {"src", "srcset", "action", "data"})
    assert {link[0] for link in page.values("href")} == {"#"}
    assert "url(" not in page.source
    assert "@import" not in page.source


def test_hostile_texts_are_shown_as_texts(page: Page) -> None:
    page.check()
    shown = "".join(page.all("body"))
    assert HOSTILE in shown
    assert escape_control(HIDDEN) in shown


def test_every_episode_has_its_cells_with_code_steps_and_feedback(page: Page, run: Run) -> None:
    endings = recorded_endings(run)
    outcomes = [endings[entry.index].outcome if entry.index in endings else "not_run" for entry in run.entries()]
    assert page.values("data-outcome") == outcomes
    assert page.values("data-type") == [entry.task.type for entry in run.entries()]
    assert {"indirect_success", "out_of_budget", "not_run"} <= set(outcomes)
    cells = bodies(run, "cell")
    codes = [cell["code"].rstrip() for cell in cells if cell["code"]]
    assert [code.rstrip() for code in page.all("pre", class_="code")] == codes
    assert len(page.all("section", class_="cell")) == len(cells) + 1
    assert "".join(page.all("section", class_="cell")).count("no end recorded") == 1
    assert sum(step.count("agent.") for step in page.all("ol", class_="steps")) == len(bodies(run, "act"))
    shown = "".join(page.all("body"))
    assert all(escape_control(cell["feedback"]["text"]) in shown for cell in cells)
    assert all(escape_control(cell["thought"]["understanding"]) in shown for cell in cells)
    assert page.all("span", class_="bad")[0].strip().startswith("assert 'nothing at all'")


def test_prompts_and_replies_are_shown_without_repeating_earlier_messages(page: Page, run: Run) -> None:
    asks = bodies(run, "ask")
    assert len(page.all("details", class_="asked")) == len(asks)
    shown = {text.removeprefix("\n") for text in page.all("pre")}
    for ask in asks:
        assert {
            escape_control(message["content"]) for message in (*ask["messages"], {"content": ask["reply"]["text"]})
        } <= shown
    before = page.all("p", class_="before")
    repeated = sum(len(ask["messages"]) - 1 for ask in asks if ask["template"] == "automanual/feedback.j2")
    assert len(before) >= repeated > 0
    assert all("as before" in text for text in before)


def test_events_outside_the_plans_are_shown_by_scope(page: Page) -> None:
    assert {"formulate/0", "round/0", "plan/0", "conclusion/0", "builder/0"} <= set(page.all("code"))
    assert '"edits": [' in "".join(page.all("details", class_="noted"))


def test_figures_and_costs_equal_those_of_the_summary(page: Page, run: Run) -> None:
    summary = summary_of(run)
    table = figures(page)
    for kind, (solved, tasks) in summary.by_type.items():
        assert (table[kind][0], table[kind][3]) == (str(solved), str(tasks))
        assert table[kind][6] == f"{summary.mean_actions_by_type[kind]:.2f}"
    assert (table["all"][0], table["all"][3]) == (str(summary.solved), str(summary.tasks))
    assert table["all"][4] == f"{summary.solved / summary.tasks:.1%}"
    endings = recorded_endings(run).values()
    assert table["all"][7] == f"{sum(ending.error_steps for ending in endings) / len(endings):.2f}"
    causes = page.all("ul", class_="causes")[0]
    assert all(f"{in_words(cause)} {count}:" in causes for cause, count in summary.failures.items())
    assert "Unfinished: 2 of 6 episodes" in page.all("section", class_="overview")[0]
    asks, steps = bodies(run, "ask"), bodies(run, "act")
    shown = "".join(page.all("body"))
    assert sum(step["counted"] for step in steps) == len(steps) - 1
    assert f"{len(steps) - 1} actions" in shown
    assert f"{len(asks)} model calls" in shown
    for kind in ("prompt", "completion"):
        assert f">{sum(ask['reply']['usage'][kind] for ask in asks):,}<" in page.source


def test_only_the_last_ending_of_an_episode_counts(tmp_path: Path) -> None:
    diverged = Ending(outcome=Outcome.BROKEN, cause="diverged", message="another observation")
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * 2)) as run:
        for scope, ending in (
            ("task/0", diverged),
            ("task/0/restart/1", Ending(outcome=SOLVED, actions=4)),
            ("task/1", diverged),
            ("task/0/check/0", Ending(outcome=FAILED, cause="raised")),
        ):
            run.store.put(scope, "outcome", 0, ending.model_dump(mode="json"))
        summary = summary_of(run)
    assert (summary.solved, summary.failures) == (1, {"not_run": 1})
    page = reported(tmp_path / "run")
    assert page.values("data-outcome") == ["direct_success", "not_run"]
    assert "another observation" in "".join(page.all("details", class_="episode"))
    assert "restart/1" in page.all("code")


def test_a_folder_of_runs_stands_for_the_runs_in_it(tmp_path: Path) -> None:
    for name in ("one", "two"):
        many_endings(tmp_path / "curve" / name, [Outcome.FAILURE]).close()
    succeed("report", tmp_path / "curve", "--out", tmp_path / "page.html")
    assert len(Page(tmp_path / "page.html").all("article", class_="run")) == 2


def test_the_heading_has_the_name_of_the_users_file_without_its_folder(tmp_path: Path) -> None:
    write_shelf(tmp_path)
    run = tmp_path / "run"
    succeed("run", "--env", tmp_path / "shelf.py", "--planner", "random", "--out", run)
    assert "random on shelf.py" in reported(run).source


def test_a_run_without_events_can_be_reported(tmp_path: Path) -> None:
    page = reported(write_closed_run(tmp_path / "run", many_endings, [Outcome.NOT_RUN] * 2))
    assert page.values("data-outcome") == ["not_run"] * 2
    assert figures(page)["all"][5:8] == ["-", "-", "-"], "no interval over tasks that were not played"
    assert not page.all("figure")


def test_all_episodes_can_be_opened(tmp_path: Path) -> None:
    page = reported(write_closed_run(tmp_path / "run", many_endings, [SOLVED] * 240 + [FAILED] * 20))
    assert len(page.values("data-outcome")) == len(page.all("details", class_="episode")) == 260


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", many_endings, [SOLVED])
    with pytest.raises(BadArgument, match="cannot be written"):
        report_runs([folder], tmp_path / "nowhere" / "page.html")


def test_several_runs_are_shown_max_concurrent(tmp_path: Path, folder: Path) -> None:
    one = write_closed_run(tmp_path / "one" / "run", many_endings, [SOLVED, FAILED, SOLVED])
    other = write_closed_run(tmp_path / "other" / "run", many_endings, [SOLVED] * 3)
    page = reported(one, other, folder, out=tmp_path / "page.html")
    assert re.findall(r"run(\d)(\d)\d+\.\d", page.all("table")[0]) == [("3", "2"), ("3", "3")]
    names = page.all("h2", class_="name")
    assert names == [str(one), str(other), str(folder)]
    solved = next(each for each in page.all("figure") if "solved so far" in each)
    assert all(name in solved for name in names)
    assert len(page.all("article", class_="run")) == 3
    page.check()


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [1, 2, 0]])
def test_each_run_is_compared_with_the_first_unless_it_is_unrelated(tmp_path: Path, order: list[int]) -> None:
    folders = [
        write_run(tmp_path / "unrelated", [SOLVED], env="textcraft"),
        write_run(tmp_path / "run-1", [SOLVED, FAILED]),
        write_run(tmp_path / "run-2", [SOLVED, SOLVED]),
    ]
    page = reported(*(folders[number] for number in order), out=tmp_path / "page.html")
    (compared,) = page.all("section", class_="comparison")
    unrelated, one, two = ("ABC"[order.index(number)] for number in range(3))
    assert "have no task in common" in compared
    if unrelated == "A":
        assert "A and B are not compared: " in compared
        assert "A and C are not compared: " in compared
        return
    assert f"A and {unrelated} are not compared: " in compared
    for words in (f"{one}: run-1", f"{two}: run-2", f"{two} - {one}", f"{two} solved 1 more of the 2 episodes"):
        assert words in compared


def test_the_page_is_written_beside_its_run_or_into_the_current_folder(tmp_path: Path, folder: Path) -> None:
    one = write_closed_run(tmp_path / "run", many_endings, [SOLVED, FAILED])
    found = result(planbook("report", one, "--json"))
    assert found["report"] == str(one / "report.html")
    both = planbook("report", one, folder, cwd=tmp_path)
    assert both.stdout.startswith("report.html ("), both.stderr
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_only_out_replaces_a_file_that_is_not_a_report(tmp_path: Path) -> None:
    run = write_closed_run(tmp_path / "run", many_endings, [SOLVED])
    file = run / "report.html"
    file.write_text("mine")
    refused = planbook("report", run)
    assert refused.returncode == 2
    assert f"{file} exists and is not a report of planbook" in refused.stderr
    assert file.read_text() == "mine"
    for out in (("--out", file), ()):
        assert planbook("report", run, *out).returncode == 0
    assert file.read_text() != "mine"
