"""The report shows the spans of methods (their subtasks, goals, branches and nodes) as a tree."""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.envs import Action, Observation, chromium
from planbook.planner import Step
from planbook.planner.journal import RecordedSpan, instant_event, spans_in
from planbook.planner.strategies.advocate.tree import BranchTried
from planbook.report import report_runs
from planbook.wording import escape_control
from tests.browser import need_browser
from tests.flows import events
from tests.golden import play
from tests.reported import HIDDEN, HOSTILE, Page, reported, run_with_prompts, write_closed_run
from tests.rows import FAILED, SOLVED, EpisodeWriter, new_run, toy_run

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
    "a kept branch continues at its level, a branch that was left is nested": (
        [(0, None, "kept"), (1, 0, "turned back"), (2, 0, "abandoned"), (3, 2, "failed"), (4, 2, "abandoned"),
         (5, 0, "kept"), (6, 5, "over"), (7, 5, "not tried"), (8, None, "not tried")],
        [0, 8, 1, 2, [3, 4], 5, 6, 7],
    ),
    "a round without a kept branch stays in order": (
        [(0, None, "abandoned"), (1, 0, "turned back"), (2, None, "turned back")], [0, [1], 2],
    ),
    "a long path stays at one level": (
        [(number, number - 1 if number else None, "abandoned") for number in range(30)], list(range(30)),
    ),
    "samples come before the one that was kept": (
        [(0, None, "kept"), (1, None, "turned back"), (2, 0, "kept")], [1, 0, 2],
    ),
    "a cycle of parents is drawn once": (
        [(0, None, "turned back"), (1, 0, "abandoned"), (0, 1, "failed")], [0, 1],
    ),
    "a branch whose parent is drawn elsewhere is drawn": ([(3, 1, "not tried"), (4, 3, "kept")], [3, [4]]),
}  # fmt: skip


@pytest.mark.browser
def test_spans_with_parents_are_drawn_as_a_tree(tmp_path: Path) -> None:
    need_browser()
    folder = write_closed_run(tmp_path / "run", run_with_prompts, seeds=1)
    report_runs([folder], None)
    driver = chromium.shared_browser().driver
    driver.get((folder / "report.html").resolve().as_uri())
    for name, (spans, shape) in TREES.items():
        assert json.loads(driver.execute_script(SHAPE, spans)) == json.loads(json.dumps(shape), parse_int=str), name


def play_recording(folder: Path, name: str, span: str) -> tuple[Page, list[RecordedSpan]]:
    """Play a recording, and return its report and the recorded spans of this name."""
    play(name, folder)
    page = reported(folder)
    page.check()
    assert len(page.all("details", class_="asked")) == len(events(folder, "ask"))
    return page, [each for each in spans_in(events(folder)) if each.name == span]


def test_every_branch_is_shown_with_its_status(tmp_path: Path) -> None:
    page, branches = play_recording(tmp_path / "run", "devils-advocate-minecraft-chances", "branch")
    statuses = Counter(branch.status for branch in branches)
    assert statuses.keys() == {"turned back", "kept", "over", "not tried"}
    badges = page.all("span", class_="kind")
    assert {status: badges.count(status) for status in statuses} == statuses
    body = "".join(page.all("main"))
    assert all(str(branch.data["history"]) in body for branch in branches)
    undone = page.all("section", class_="undone")
    assert undone
    assert all("rewound" in each for each in undone)
    assert "plans revised 0.50 times" in page.all("section", class_="figures")[0]


def test_hostile_spans_and_lasting_actions_are_shown(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", "a", planner="devils-advocate")) as run:
        writer, (entry,) = EpisodeWriter(run, "task/0"), run.entries()
        scope, seen = f"{writer.scope}/advocate/0", Observation("You put book on the table.", lasting=True)
        writer.put(writer.scope, "task", {"task": entry.task.model_dump(), "observation": {"text": "Boxes."}})
        step = Step(scope=scope, cell=0, line=1, action=Action("put", ("book",)), observation=seen)
        writer.put(writer.scope, "act", step.model_dump(mode="json"))
        writer.put(writer.scope, "rewind", {"path": scope, "steps": 0})
        tried = BranchTried(round=0, number=0, subtask=HOSTILE, code="x", fate="abandoned", value=0.25, visits=7)
        texts = {"why": f"{HOSTILE} {HIDDEN}", "history": HOSTILE, "mapped": "agent.open('box_3')"}
        failed = BranchTried(round=0, number=1, parent=0, subtask="a", code="y", fate="failed")
        for branch in (tried.model_copy(update=texts), failed):
            writer.put(scope, "span", instant_event(branch))
        body = {"by": "executor", "text": "part", "depth": 1, "done": False, "note": HOSTILE}
        writer.put(f"{writer.scope}/execute/0", "subtask", body)
        writer.end(FAILED)
    page = reported(tmp_path / "run")
    page.check()
    shown = "".join(page.all("main"))
    for text in (HOSTILE, escape_control(HIDDEN), "value: 0.25", "visits: 7", "agent.open('box_3')"):
        assert text in shown
    assert {"abandoned", "failed"} <= set(page.all("span", class_="kind"))
    (lasting,) = page.all("li", class_="stays")
    assert lasting.startswith("agent.put('book')")
    assert "A rewind does not undo this change: the rewind kept it." in lasting


def test_a_graph_is_drawn_above_its_nodes(tmp_path: Path) -> None:
    page, nodes = play_recording(tmp_path / "run", "agentkit-shopping", "node")
    summaries = page.all("summary")
    assert len(page.all("details", class_="graph")) == sum("graph of " in each for each in summaries) == 5
    assert sum(each.endswith("node") for each in summaries) == len(nodes) == 30
    assert any('"elements": [' in each for each in page.all("pre"))
    assert "Passes over the graph: 5" in page.all("section", class_="figures")[0]


def test_subtasks_are_shown_with_their_cells(tmp_path: Path) -> None:
    page, subtasks = play_recording(tmp_path / "run", "adapt-textcraft-stepwise", "subtask")
    codes = [str(event.body["code"]).rstrip() for event in events(tmp_path / "run", "cell")]
    assert sorted(map(str.rstrip, page.all("pre", class_="code"))) == sorted(codes)
    titles = "".join(page.all("summary"))
    assert subtasks
    assert all(subtask.title in titles for subtask in subtasks)


def test_goals_recorded_by_planbook_0_1_are_shown(tmp_path: Path) -> None:
    near, far = "agent.mine({'log': 1}, None)", "agent.mine('<b>')"
    tried: Any = {"goal": near, "chosen": near, "done": True, "candidates": [far, near], "predicted": [11.0, 10.0]}
    failed: Any = {"goal": "agent.mine('log')", "done": False, "reason": "no tree </pre><b>"}
    with closing(new_run(tmp_path / "run", "t", planner="deps")) as run:
        writer, (entry,) = EpisodeWriter(run, "task/0"), run.entries()
        writer.put(writer.scope, "task", {"task": entry.task.model_dump(), "observation": {"text": "A wood."}})
        for body in (tried, failed):
            writer.put(f"{writer.scope}/plan/0", "goal", body)
        writer.end(SOLVED)
    page = reported(tmp_path / "run")
    body = "".join(page.all("main"))
    for words in (near, far, "11", "no tree </pre><b>"):
        assert words in body
    assert "<b> no tree" not in page.source
    assert "goals tried 2, done 1, failed 1" in page.all("section", class_="figures")[0]


def test_recalled_texts_are_shown_as_texts(tmp_path: Path) -> None:
    recalled: list[Any] = [event.body for event in events(toy_run(tmp_path / "run", "procedures", seeds=1), "recall")]
    page = reported(tmp_path / "run")
    shown = "".join(page.all("details", class_="noted"))
    assert recalled
    for procedure in (body["procedure"] for body in recalled):
        assert procedure["code"].strip() in shown
        assert procedure["helpers"].strip() in shown
    assert "\\n" not in shown
