"""The report of ADaPT and DEPS: sub-tasks as a tree, claims against verdicts, goals, and success by d_max."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.envs import Task
from planbook.planner import Ending, Outcome
from planbook.planner.spans import spans_in
from planbook.planner.strategies.deps.pursuit import GoalTried as Goal
from planbook.report import report_runs
from planbook.report.inside.items import Tried
from planbook.report.inside.places import Branch, Item, Place, grown
from planbook.report.inside.scopes import told
from planbook.run import Run
from planbook.store import Event
from tests.command import ROOT, planbook
from tests.reported import Page
from tests.subtasking import NOTE

ROUND = "task/0/round/0"


def run_adapt(folder: Path, answer: str, d_max: int) -> Path:
    model = f"scripted:{ROOT / 'tests' / 'subtasking.py'}:{answer}"
    command = "run --planner adapt --env toy --task fetch_two/0 --task fetch/1 --actions 90 --out".split()
    finished = planbook(*command, folder, "--model", model, "--planner-option", f"d_max={d_max}")
    assert finished.returncode == 0, finished.stderr
    return folder


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_adapt(tmp_path_factory.mktemp("deep") / "deep", "answer", 3)


@pytest.fixture(scope="module")
def page(deep: Path) -> Page:
    report_runs([deep], None, None, as_json=True)
    return Page(deep / "report.html")


def subtask(scope: str, by: str, text: str, depth: int, done: bool | None) -> Event:
    return Event(scope, "subtask", 0, {"by": by, "text": text, "depth": depth, "done": done, "note": "n"}, 0.0)


def branches(items: list[Item]) -> list[Branch]:
    return [item for item in items if isinstance(item, Branch)]


def test_a_sub_task_and_what_it_was_taken_apart_into_stand_together() -> None:
    plan = f"{ROUND}/plan/0"
    events = [
        subtask(f"{ROUND}/execute/0", "executor", "all", 1, False),
        subtask(f"{plan}/execute/0", "executor", "one", 2, True),
        subtask(f"{plan}/execute/1", "executor", "one", 2, False),
        subtask(f"{plan}/plan/0/execute/0", "executor", "half", 3, False),
        subtask(f"{plan}/plan/0", "planner", "one", 2, False),
        subtask(plan, "planner", "all", 1, False),
    ]
    (round_,) = grown(told("task/0", events, "a")).items
    assert isinstance(round_, Place)
    (top,) = branches(round_.items)
    assert (top.subtask.text, top.subtask.by) == ("all", "planner")
    assert top.planner
    first, second = branches(top.planner.items)
    assert (first.subtask.done, first.planner) == (True, None)
    assert second.planner
    assert [each.subtask.text for each in branches(second.planner.items)] == ["half"]


def test_a_plan_without_an_executor_before_it_is_a_branch_of_its_own() -> None:
    (round_,) = grown(told("task/0", [subtask(f"{ROUND}/plan/0", "planner", "all", 1, True)], "a")).items
    assert isinstance(round_, Place)
    (branch,) = branches(round_.items)
    assert branch.executor is None


def test_what_has_no_end_on_record_stays_a_scope() -> None:
    (round_,) = grown(told("task/0", [subtask(f"{ROUND}/plan/0/execute/0", "executor", "one", 2, False)], "a")).items
    assert isinstance(round_, Place)
    (plan,) = round_.items
    assert isinstance(plan, Place)
    assert [each.subtask.text for each in branches(plan.items)] == ["one"]


def test_the_page_has_the_tree_with_compiled_python_and_every_cell(page: Page, deep: Path) -> None:
    with closing(Run.open(deep)) as run:
        given = [span.data for span in spans_in(run.store.events()) if span.name == "subtask"]
        executed, planned = ([each for each in given if each["by"] == by] for by in ("executor", "planner"))
        cells: list[Any] = [event.body for event in run.store.events(kind="cell")]
        asks = sum(1 for _ in run.store.events(kind="ask"))
    assert len(page.all("details", class_="branch")) == len(executed)
    assert len(page.all("div", class_="apart")) == len(planned)
    shown = [code.removesuffix("\n") for code in page.all("pre", class_="code")]
    assert sorted(shown) == sorted(cell["code"] for cell in cells)
    assert any("and achieve('put the" in code for code in shown)
    assert len(page.all("details", class_="asked")) == asks
    assert NOTE in "".join(page.all("summary"))
    assert NOTE not in page.source


def test_links_lead_somewhere_and_to_one_place(page: Page) -> None:
    names = page.values("id")
    assert len(names) == len(set(names))
    assert {link.removeprefix("#") for link in page.values("href")} <= set(names)


def test_claims_that_the_world_sees_otherwise_are_named(tmp_path: Path) -> None:
    folder = run_adapt(tmp_path / "boastful", "boastful", 1)
    report_runs([folder], None, None, as_json=True)
    page = Page(folder / "report.html")
    (section,) = page.all("section", class_="subtasks")
    assert "Solved as claimed 100.0%, as the world judges 0.0%" in section
    (trusted,) = page.all("section", class_="trust")
    assert "Claimed to be solved, and not solved: fetch_two/0, fetch/1" in trusted


def test_success_by_d_max_is_drawn_for_runs_that_differ_in_nothing_else(tmp_path: Path, deep: Path) -> None:
    shallow, boastful = run_adapt(tmp_path / "d1", "answer", 1), run_adapt(tmp_path / "b2", "boastful", 2)
    report_runs([shallow, deep, boastful], tmp_path / "page.html", None, as_json=True)
    captions = Page(tmp_path / "page.html").all("figcaption")
    assert "Success by d_max: 100.0%" in captions
    report_runs([deep, boastful], tmp_path / "unlike.html", None, as_json=True)
    assert not [each for each in Page(tmp_path / "unlike.html").all("figcaption") if "d_max" in each]


def test_goals_are_told_with_what_chose_them_and_why_they_failed(tmp_path: Path) -> None:
    task = Task(id="t/0", env="toy", split="all", type="t", goal="g")
    failed: Any = {"goal": "agent.mine('log')", "chosen": "agent.mine('birch_log')", "line": 1, "done": False}
    failed |= {"said": "chop <b>", "selector": "horizon", "reason": "no tree </pre>", "candidates": []}
    (round_,) = told("task/0", [Event(f"{ROUND}/plan/0", "goal", 0, failed, 0.0)], "a").items
    assert isinstance(round_, Place)
    (plan,) = round_.items
    assert isinstance(plan, Place)
    (tried,) = plan.items
    assert isinstance(tried, Tried)
    with closing(Run.create(tmp_path / "run", Config(planner="adapt", env="toy", actions=9), [task])) as run:
        run.store.put(f"{ROUND}/plan/0", "goal", 0, failed)
        run.store.put(f"{ROUND}/plan/0", "goal", 1, {**failed, "done": True, "reason": ""})
        ending = Ending(outcome=Outcome.DIRECT_SUCCESS)
        run.store.put("task/0", "outcome", 0, ending.model_dump(mode="json"))
    report_runs([tmp_path / "run"], None, None, as_json=True)
    page = Page(tmp_path / "run" / "report.html")
    first, second = page.all("p", class_="tried")
    assert first == (
        "failed agent.mine('birch_log') chosen by horizon for agent.mine('log') for the line chop <b>: no tree </pre>"
    )
    assert second.startswith("done ")
    (section,) = page.all("section", class_="goals")
    assert "2 goals tried, 1 reached, 1 not; 2 stood for what was no valid call" in section
    assert "Planned anew 1.0 times a task" in section
    assert "<b> no tree" not in page.source


def test_what_a_selector_predicted_stands_by_its_candidates(tmp_path: Path) -> None:
    task = Task(id="t/0", env="toy", split="all", type="t", goal="g")
    near, far, never = "agent.mine({'log': 1}, None)", "agent.mine('<b>')", "agent.mine('moon')"
    tried: Any = {"goal": near, "chosen": near, "done": True, "selector": "horizon"}
    tried |= {"candidates": [far, near, never], "predicted": [11.0, 10.0, None]}
    assert [each.probability for each in Goal.model_validate(tried).prospects] == pytest.approx(
        [0.269, 0.731, 0], abs=1e-3
    )
    unpredicted = {**tried, "selector": "fixed", "predicted": []}
    endless = {**tried, "predicted": [None, None, None]}
    assert not Goal.model_validate(unpredicted).prospects
    assert not Goal.model_validate(endless).prospects
    with closing(Run.create(tmp_path / "run", Config(planner="deps", env="toy", actions=9), [task])) as run:
        for number, body in enumerate((tried, unpredicted)):
            run.store.put(f"{ROUND}/plan/0", "goal", number, body)
        ending = Ending(outcome=Outcome.DIRECT_SUCCESS)
        run.store.put("task/0", "outcome", 0, ending.model_dump(mode="json"))
    report_runs([tmp_path / "run"], None, "all", as_json=True)
    page = Page(tmp_path / "run" / "report.html")
    (shown,) = page.all("details", class_="prospects")
    for told_of in ("3 candidates", far, "11.0", "26.9%", near, "10.0", "73.1%"):
        assert told_of in shown
    assert far not in page.source


@pytest.mark.parametrize(("rounds", "drawn"), [("20", False), ("3", True)])
def test_a_run_without_a_number_of_rounds_is_drawn_at_twenty(tmp_path: Path, rounds: str, drawn: bool) -> None:
    task = Task(id="t/0", env="toy", split="all", type="t", goal="g")
    options: dict[str, Any] = {"rounds": int(rounds)}
    for name, given in (("usual", {}), ("other", options)):
        config = Config(planner="deps", planner_options=given, env="toy", actions=9)
        with closing(Run.create(tmp_path / name, config, [task])) as run:
            ending = Ending(outcome=Outcome.DIRECT_SUCCESS)
            run.store.put("task/0", "outcome", 0, ending.model_dump(mode="json"))
    report_runs([tmp_path / "usual", tmp_path / "other"], tmp_path / "page.html", None, as_json=True)
    captions = Page(tmp_path / "page.html").all("figcaption")
    assert any("Success by rounds" in each for each in captions) is drawn
