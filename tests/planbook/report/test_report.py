"""The report: all that a run holds, the figures of its summary, and nothing that a text could bring to life."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.errors import BadArgument
from planbook.planner import Ending, Outcome
from planbook.report import episodes, report_runs, script, script_hash
from planbook.results import Summary, read_run, summarise
from planbook.runs import Run, recorded_endings
from planbook.wording import harmless, in_words
from tests.command import planbook, result
from tests.reported import HIDDEN, HOSTILE, Page, asking_run, many_endings, written

SOLVED, FAILED = Outcome.DIRECT_SUCCESS, Outcome.FAILURE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("report") / "asked", asking_run)


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    report_runs([folder], None, None, as_json=True)
    return Page(folder / "report.html")


@pytest.fixture
def run(folder: Path) -> Iterator[Run]:
    with closing(Run.open(folder)) as opened:
        yield opened


def bodies(run: Run, kind: Any) -> list[Any]:
    return [event.body for event in run.store.events() if event.kind == kind]


def figures(page: Page) -> dict[str, list[str]]:
    """The rows of the table of results."""
    table = re.search(r'<table class="results">.*?</table>', page.source, re.DOTALL)
    assert table
    rows = re.findall(r"<tr[^>]*><th>([^<]*)</th>(.*?)</tr>", table[0])
    return {name: re.findall(r"<td>([^<]*)</td>", row) for name, row in rows if "<td>" in row}


def test_the_only_script_is_our_own_and_nothing_is_fetched(page: Page) -> None:
    (own,) = ("".join(text) for tag, has, text in page.elements if tag == "script" and "type" not in has)
    assert own == script()
    (policy,) = (content for content in page.values("content") if "script-src" in content)
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src '{script_hash()}'"
    assert "innerHTML" not in own
    assert "insertAdjacentHTML" not in own
    assert not page.all("img")
    names = {name for _, has, _ in page.elements for name in has}
    assert not {name for name in names if name.startswith("on")} | (names & {"src", "srcset", "action", "data"})
    assert {link[0] for link in page.values("href")} == {"#"}
    assert "url(" not in page.source
    assert "@import" not in page.source


def test_hostile_texts_are_shown_as_texts(page: Page, run: Run) -> None:
    assert HOSTILE not in page.source
    shown = "".join(page.all("body"))
    assert HOSTILE in shown
    assert harmless(HIDDEN) in shown
    assert all(each.isprintable() or each in "\n\t" for each in page.source)


def test_every_episode_is_there_with_its_outcome(page: Page, run: Run) -> None:
    endings = recorded_endings(run)
    outcomes = [endings[entry.index].outcome if entry.index in endings else "not_run" for entry in run.entries()]
    assert page.values("data-outcome") == outcomes
    assert page.values("data-type") == [entry.task.type for entry in run.entries()]
    assert {"indirect_success", "out_of_budget", "not_run"} <= set(outcomes)


def test_every_cell_is_there_with_code_steps_and_feedback(page: Page, run: Run) -> None:
    cells = bodies(run, "cell")
    assert [code.rstrip() for code in page.all("pre", class_="code")] == [
        cell["code"].rstrip() for cell in cells if cell["code"]
    ]
    assert len(page.all("section", class_="cell")) == len(cells) + 1
    assert "".join(page.all("section", class_="cell")).count("no end recorded") == 1
    steps = page.all("ol", class_="steps")
    assert sum(step.count("agent.") for step in steps) == len(bodies(run, "act"))
    shown = "".join(page.all("body"))
    assert all(harmless(cell["feedback"]["text"]) in shown for cell in cells)
    assert all(harmless(cell["thought"]["understanding"]) in shown for cell in cells)
    assert page.all("span", class_="bad")[0].strip().startswith("assert 'nothing at all'")


def test_every_prompt_and_reply_can_be_read_and_what_stood_before_is_not_repeated(page: Page, run: Run) -> None:
    asks = bodies(run, "ask")
    assert len(page.all("details", class_="asked")) == len(asks)
    shown = set(page.all("pre"))
    for ask in asks:
        assert harmless(ask["reply"]["text"]) in {text.removeprefix("\n") for text in shown}
        assert {harmless(said["content"]) for said in ask["messages"]} <= {text.removeprefix("\n") for text in shown}
    before = page.all("p", class_="before")
    repeated = sum(len(ask["messages"]) - 1 for ask in asks if ask["template"] == "automanual/feedback.j2")
    assert len(before) >= repeated > 0
    assert all("as before" in text for text in before)


def test_links_lead_somewhere_and_to_one_place(page: Page) -> None:
    names = page.values("id")
    assert len(names) == len(set(names))
    assert {link.removeprefix("#") for link in page.values("href")} <= set(names)


def test_rules_and_what_happens_outside_the_episodes_are_shown_by_scope(page: Page) -> None:
    assert "formulate/0" in page.all("code")
    assert {"round/0", "plan/0", "conclusion/0", "builder/0"} <= set(page.all("code"))
    assert '"edits": [' in "".join(page.all("details", class_="noted"))


def test_the_figures_are_those_of_the_summary(page: Page, run: Run) -> None:
    summary = summarise(list(read_run(run).episodes.values()), 0.0, "")
    table = figures(page)
    for kind, (solved, tasks) in summary.by_type.items():
        assert (table[kind][0], table[kind][3]) == (str(solved), str(tasks))
        assert table[kind][6] == f"{summary.mean_actions_by_type[kind]:.1f}"
    assert (table["all"][0], table["all"][3]) == (str(summary.solved), str(summary.tasks))
    assert table["all"][4] == f"{summary.solved / summary.tasks:.1%}"
    endings = recorded_endings(run).values()
    assert table["all"][7] == f"{sum(ending.error_steps for ending in endings) / len(endings):.2f}"
    causes = page.all("ul", class_="causes")[0]
    assert all(f"{in_words(cause)} {count}:" in causes for cause, count in summary.failures.items())


def test_the_cost_is_what_the_events_say(page: Page, run: Run) -> None:
    asks, steps = bodies(run, "ask"), bodies(run, "act")
    usages = [ask["reply"]["usage"] for ask in asks]
    shown = "".join(page.all("body"))
    assert sum(step["counted"] for step in steps) == len(steps) - 1
    assert f"{len(steps) - 1} actions and {len(asks)} model calls" in shown
    assert f">{sum(usage['prompt'] for usage in usages):,}<" in page.source
    assert f">{sum(usage['completion'] for usage in usages):,}<" in page.source


def test_what_was_asked_is_told(page: Page, run: Run) -> None:
    told = dict(zip(page.all("dt"), page.all("dd"), strict=True))
    assert (told["planner"], told["env"], told["actions"]) == ("automanual", "toy", "9")
    assert told["selection.seeds"] == "0, 1, 2"
    assert told["limits.wall_seconds"] == "10.0"
    assert told["versions.RestrictedPython"] == run.versions["RestrictedPython"]
    assert "Unfinished: 2 of 6 episodes" in page.all("section", class_="first")[0]


def test_a_run_that_another_process_plays_can_be_reported(tmp_path: Path) -> None:
    playing = many_endings(tmp_path / "run", [SOLVED, FAILED])
    try:
        code, reported = report_runs([tmp_path / "run"], None, None, as_json=True)
        assert (code, reported.runs[0].solved, reported.runs[0].tasks) == (0, 1, 2)
        playing.store.put("task/1/more/0", "versions", 0, {"still": "written to"})
    finally:
        playing.close()


def test_of_an_episode_that_was_started_over_the_last_ending_counts(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * 2)) as run:
        diverged = Ending(outcome=Outcome.BROKEN, cause="diverged", message="another observation")
        run.store.put("task/0", "outcome", 0, diverged.model_dump(mode="json"))
        run.store.put("task/0/restart/1", "outcome", 0, Ending(outcome=SOLVED, actions=4).model_dump(mode="json"))
        run.store.put("task/1", "outcome", 0, diverged.model_dump(mode="json"))
        run.store.put("task/0/check/0", "outcome", 0, Ending(outcome=FAILED, cause="raised").model_dump(mode="json"))
        _, reported = report_runs([tmp_path / "run"], None, None, as_json=True)
    assert (reported.runs[0].solved, reported.runs[0].failures) == (1, {"not_run": 1})
    page = Page(tmp_path / "run" / "report.html")
    assert page.values("data-outcome") == ["direct_success", "not_run"]
    assert "another observation" in "".join(page.all("details", class_="episode"))
    assert "restart/1" in page.all("code")


def test_a_run_in_which_nothing_has_happened_yet_can_be_reported(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * 2)):
        _, reported = report_runs([tmp_path / "run"], None, None, as_json=True)
    assert (reported.runs[0].tasks, reported.runs[0].seconds) == (2, 0.0)
    page = Page(tmp_path / "run" / "report.html")
    assert page.values("data-outcome") == ["not_run"] * 2
    assert figures(page)["all"][5:8] == ["-", "-", "-"], "no interval over what was not played"
    assert not page.all("figure")


@pytest.mark.parametrize(
    ("which", "shown", "told"),
    [
        (None, 260, ""),
        ("all", 260, ""),
        ("failed", 20, "Of 260 episodes, 20 can be opened here: --episodes failed."),
        ("7", 7, "Of 260 episodes, 7 can be opened here: --episodes 7."),
    ],
)
def test_all_episodes_can_be_opened_unless_fewer_are_asked_for(
    tmp_path: Path, which: str | None, shown: int, told: str
) -> None:
    folder = written(tmp_path / "run", lambda path: many_endings(path, [SOLVED] * 240 + [FAILED] * 20))
    report_runs([folder], None, which, as_json=True)
    page = Page(folder / "report.html")
    assert len(page.values("data-outcome")) == 260
    assert len(page.all("details", class_="episode")) == shown
    assert (page.all("p", class_="note")[0] == told) is bool(told)


def test_a_page_that_would_be_too_large_says_what_it_lacks_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "run", lambda path: many_endings(path, [SOLVED] * 40 + [FAILED] * 20))
    monkeypatch.setattr(episodes, "PAGE_BYTES", 3_000)
    monkeypatch.setattr("planbook.report.episodes.CHUNK", 1_000)
    report_runs([folder], None, None, as_json=True)
    page = Page(folder / "report.html")
    opened = [has["data-outcome"] for tag, has, _ in page.elements if tag == "details" and "data-outcome" in has]
    assert opened.count("failure") == 20
    assert 20 < len(opened) < 60
    (told,) = [each for each in page.all("p", class_="note") if "can be opened here" in each]
    assert told.startswith(f"Of 60 episodes, {len(opened)} can be opened here: with all of them")
    assert "--episodes all" in told
    report_runs([folder], None, "all", as_json=True)
    assert len(Page(folder / "report.html").all("details", class_="episode")) == 60


def test_a_choice_of_episodes_that_cannot_be_read_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", lambda path: many_endings(path, [SOLVED]))
    with pytest.raises(BadArgument, match="all, failed, or a number"):
        report_runs([folder], None, "some", as_json=True)
    with pytest.raises(BadArgument, match="cannot be written"):
        report_runs([folder], tmp_path / "nowhere" / "page.html", None, as_json=True)
    assert not list(folder.glob("*.html*"))


def test_several_runs_stand_side_by_side(tmp_path: Path, folder: Path) -> None:
    one = written(tmp_path / "one" / "run", lambda path: many_endings(path, [SOLVED, FAILED, SOLVED]))
    other = written(tmp_path / "other" / "run", lambda path: many_endings(path, [SOLVED] * 3))
    _, reported = report_runs([one, other, folder], tmp_path / "page.html", None, as_json=True)
    assert [summary.solved for summary in reported.runs][:2] == [2, 3]
    page = Page(tmp_path / "page.html")
    table = page.all("table")[0]
    assert re.findall(r"run(\d)(\d)\d+\.\d", table) == [("3", "2"), ("3", "3")]
    names = page.all("h2", class_="name")
    assert names == [str(one.resolve()), str(other.resolve()), "asked"]
    ended = next(each for each in page.all("figure") if "How the episodes ended" in each)
    assert all(name in ended for name in names)
    assert len(page.all("article", class_="run")) == 3
    assert len(page.values("id")) == len(set(page.values("id")))


def test_the_command_says_where_the_page_is(tmp_path: Path, folder: Path) -> None:
    one = written(tmp_path / "run", lambda path: many_endings(path, [SOLVED, FAILED]))
    told = result(planbook("report", one, "--json"))
    assert told["report"] == str(one / "report.html")
    assert Summary.model_validate(told["runs"][0]).solved == 1
    both = planbook("report", one, folder, "--episodes", "1", cwd=tmp_path)
    assert both.returncode == 0, both.stderr
    assert both.stdout.startswith("report.html (")
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert planbook("report", one, "--episodes", "few").returncode == 2
