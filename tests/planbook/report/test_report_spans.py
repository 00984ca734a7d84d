"""What methods record of their own, drawn as any tree of spans from name, title, status and payload."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.envs import Task
from planbook.envs.browser import chromium
from planbook.planner import Ending, Outcome
from planbook.report import report_runs
from planbook.report.charts import with_options
from planbook.runs import Run
from tests.browser import need_browser
from tests.command import ROOT, planbook
from tests.reported import Page, asking_run, written
from tests.searching import graph, played, search
from tests.subtasking import NOTE

SHAPE = """const [spans] = arguments;
const shape = (list) => [...list.children].flatMap((item) => {
  const inside = item.querySelector(':scope > ul.tree');
  const title = item.firstElementChild.textContent;
  return [title.match(/\\d+/)[0], ...(inside ? [shape(inside)] : [])];
});
const play = { play: 'task/0', spans: spans.map(([number, parent, status], order) => (
  { order, end: order, scope: 'round/0/a/0',
    name: 'branch', title: String(number), status, data: { number, parent } })) };
const drawn = make('div', {}, ...drawDocument({ task: { path: 'task/0' }, parts: [play] }, 'a'));
return JSON.stringify(shape(drawn.querySelector('ul.tree')));"""
TREES: dict[str, tuple[list[Any], list[Any]]] = {
    "what was kept goes on at one level, what was left stands inside": (
        [(0, None, "kept"), (1, 0, "turned back"), (2, 0, "abandoned"), (3, 2, "failed"), (4, 2, "abandoned"),
         (5, 0, "kept"), (6, 5, "over"), (7, 5, "not tried"), (8, None, "not tried")],
        [0, 8, 1, 2, [3, 4], 5, 6, 7],
    ),
    "a round that was left altogether stays in order": (
        [(0, None, "abandoned"), (1, 0, "turned back"), (2, None, "turned back")], [0, [1], 2],
    ),
    "a long way stays at one level": (
        [(number, number - 1 if number else None, "abandoned") for number in range(30)], list(range(30)),
    ),
    "samples stand before the one that was taken": (
        [(0, None, "kept"), (1, None, "turned back"), (2, 0, "kept")], [1, 0, 2],
    ),
    "what cannot be a tree comes to an end": (
        [(0, None, "turned back"), (1, 0, "abandoned"), (0, 1, "failed")], [0, 1],
    ),
}  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("name", TREES)
def test_spans_with_parents_are_a_tree(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    need_browser()
    folder = written(tmp_path_factory.mktemp("tree") / "run", lambda path: asking_run(path, seeds=1))
    report_runs([folder], None, None, as_json=True)
    driver = chromium.shared().driver
    driver.get((folder / "report.html").resolve().as_uri())
    spans, shape = TREES[name]
    assert json.loads(driver.execute_script(SHAPE, spans)) == json.loads(json.dumps(shape), parse_int=str)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return shown(
        written(tmp_path_factory.mktemp("search") / "run", lambda path: played(path, "devils-advocate", search))
    )


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return shown(written(tmp_path_factory.mktemp("graph") / "run", lambda path: played(path, "agentkit", graph)))


def shown(folder: Path) -> Page:
    report_runs([folder], None, None, as_json=True)
    return Page(folder / "report.html")


def test_every_branch_is_on_the_page_with_its_status(searched: Page) -> None:
    badges = searched.all("span", class_="kind")
    fates = {fate: badges.count(fate) for fate in ("abandoned", "turned back", "failed", "kept", "over", "not tried")}
    assert fates == {"abandoned": 2, "turned back": 3, "failed": 1, "kept": 1, "over": 1, "not tried": 2}
    body = "".join(searched.all("main"))
    for words in (
        "a loop sees all of them",
        "I looked into every box.",
        "value: 0.25",
        "visits: 3",
        "agent.open('box_3')",
    ):
        assert words in body


def test_cells_that_were_taken_back_look_so(searched: Page) -> None:
    undone = searched.all("section", class_="undone")
    assert undone
    assert all("taken back" in each for each in undone)
    stays = searched.all("li", class_="stays")[0]
    assert stays.startswith("agent.put('book')")
    assert "A rewind does not undo this change: the rewind kept it." in stays


def test_a_graph_is_drawn_above_its_nodes(passed: Page) -> None:
    assert [each.partition("done")[0] for each in passed.all("details", class_="graph")]
    assert sum("graph of 4 nodes" in each for each in passed.all("summary")) == 3
    titles = [each for each in passed.all("summary") if each.endswith("node")]
    assert len(titles) == 12
    assert len(passed.all("details", class_="asked")) == 11
    assert any('"done when": [' in each for each in passed.all("pre"))


@pytest.mark.parametrize("name", ["searched", "passed"])
def test_nothing_that_was_said_runs_or_hides(name: str, request: pytest.FixtureRequest) -> None:
    page: Page = request.getfixturevalue(name)
    assert page.source.count("<script>") == 1
    assert "<img" not in page.source
    assert all(each.isprintable() or each in "\n\t" for each in page.source)
    names = page.values("id")
    assert len(names) == len(set(names))
    assert {link.removeprefix("#") for link in page.values("href")} <= set(names)


@pytest.mark.parametrize(
    ("name", "words"),
    [("search", "plans revised 1.00 times"), ("search", "remedies tried 3, kept 0"), ("graph", "3")],
)
def test_the_figures_of_a_method_stand_above_the_episodes(name: str, words: str, searched: Page, passed: Page) -> None:
    page = searched if name == "search" else passed
    assert words in page.all("section", class_=name)[0]


def run_adapt(folder: Path, answer: str, d_max: int) -> Path:
    model = f"scripted:{ROOT / 'tests' / 'subtasking.py'}:{answer}"
    command = "run --planner adapt --env toy --task fetch_two/0 --task fetch/1 --actions 90 --out".split()
    finished = planbook(*command, folder, "--model", model, "--planner-option", f"d_max={d_max}")
    assert finished.returncode == 0, finished.stderr
    return folder


def test_sub_tasks_stand_in_each_other_and_false_claims_are_named(tmp_path: Path) -> None:
    deep, shallow = run_adapt(tmp_path / "deep", "answer", 3), run_adapt(tmp_path / "d1", "answer", 1)
    boastful = run_adapt(tmp_path / "boastful", "boastful", 2)
    page = shown(deep)
    with closing(Run.open(deep)) as run:
        cells: list[Any] = [event.body for event in run.store.events(kind="cell")]
        asks = sum(1 for _ in run.store.events(kind="ask"))
    assert sorted(code.rstrip() for code in page.all("pre", class_="code")) == sorted(
        cell["code"].rstrip() for cell in cells
    )
    assert len(page.all("details", class_="asked")) == asks
    assert NOTE in "".join(page.all("summary"))
    assert NOTE not in page.source
    (trusted,) = shown(boastful).all("section", class_="trust")
    assert "Claims that are false: fetch_two/0, fetch/1" in trusted
    for runs, drawn in (([shallow, deep, boastful], True), ([deep, boastful], False)):
        report_runs(runs, tmp_path / "page.html", None, as_json=True)
        captions = Page(tmp_path / "page.html").all("figcaption")
        assert any(each.startswith("Success by d_max") for each in captions) is drawn


def test_spans_of_planbook_0_1_are_drawn_too(tmp_path: Path) -> None:
    task = Task(id="t/0", env="toy", split="all", type="t", goal="g")
    near, far = "agent.mine({'log': 1}, None)", "agent.mine('<b>')"
    tried: Any = {"goal": near, "chosen": near, "done": True, "candidates": [far, near], "predicted": [11.0, 10.0]}
    failed: Any = {"goal": "agent.mine('log')", "done": False, "reason": "no tree </pre><b>"}
    with closing(Run.create(tmp_path / "run", Config(planner="deps", env="toy", actions=9), [task])) as run:
        told = {"task": task.model_dump(), "observation": {"text": "A wood."}}
        run.store.put("task/0/round/0", "task", 0, told)
        for number, body in enumerate((tried, failed)):
            run.store.put("task/0/round/0/plan/0", "goal", number, body)
        run.store.put("task/0", "outcome", 0, Ending(outcome=Outcome.DIRECT_SUCCESS).model_dump(mode="json"))
    page = shown(tmp_path / "run")
    body = "".join(page.all("main"))
    for words in (near, far, "11", "no tree </pre><b>"):
        assert words in body
    assert "<b> no tree" not in page.source
    assert "goals tried 2, done 1, failed 1" in page.all("section", class_="goals")[0]


def test_the_graph_that_was_gone_through_is_named_where_it_was_not_chosen() -> None:
    def graph_of(env: str) -> Any:
        return with_options(Config(planner="agentkit", env=env, actions=5))["planner_options"].get("graph")

    assert [graph_of(env) for env in ("toy", "crafter", "moon")] == ["general", "crafter", None]
