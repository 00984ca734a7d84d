"""Rules in the report: evidence, history and the plans that named them; the manual as HTML; what the figures count."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.knowledge import EVERYTHING, KnowledgeState, learnt_in
from planbook.planner import Ending, Outcome
from planbook.report import report_runs
from planbook.report.learned import Naming, Ruling, prose, rulings
from planbook.rules import (
    USER,
    Batch,
    Citation,
    DeleteRule,
    Edit,
    History,
    Knowledge,
    UpdateRule,
    WriteRule,
    apply,
    count,
)
from planbook.rules.types import RuleType
from planbook.runs import Run
from tests.command import planbook
from tests.reported import HIDDEN, HOSTILE, Page, many_endings
from tests.rules.given import BOOK

MERGED = "deleted; the same change deleted rule_{}, wrote rule_5"


def with_change(history: History, where: str, who: Any, *edits: Edit) -> History:
    return history.record(apply(history.book, Batch(edits=edits, who=who, where=where), USER))


@pytest.fixture(scope="module")
def state() -> KnowledgeState:
    """One rule written, one changed, two merged into a third, and another written that was taken back by hand."""
    note, special = WriteRule(content="Box_9 sticks.", type=RuleType.SPECIAL_PHENOMENON), RuleType.SPECIAL_PHENOMENON
    history = with_change(History(initial=BOOK), "learn/2/builder/0", "builder", note)
    changed = UpdateRule(id="rule_0", content="A box must be opened.", log="seen in task/5")
    history = with_change(history, "learn/5/builder/0", "builder", changed)
    merged = WriteRule(content="Box_9 sticks: leave it.", type=special)
    edits = (merged, DeleteRule(id="rule_3"), DeleteRule(id="rule_4"))
    history = with_change(history, "learn/7/consolidator/0", "consolidator", *edits)
    history = with_change(history, "learn/8/builder/0", "builder", WriteRule(content="Never mind.", type=special))
    citations = (
        Citation(episode="task/2", rule_ids=("rule_0",), solved=True),
        Citation(episode="task/5", rule_ids=("rule_0", "rule_1"), solved=False, blamed_agent=frozenset({"rule_1"})),
        Citation(episode="task/9", rule_ids=("rule_0",), solved=False),
        Citation(episode="task/9/restart/1", rule_ids=("rule_0",), solved=True),
    )
    return KnowledgeState(knowledge=Knowledge(world="toy"), history=history.undo(4), citations=citations)


@pytest.fixture(scope="module")
def told(state: KnowledgeState) -> dict[str, Ruling]:
    return {each.rule.id: each for each in rulings(state)}


def test_every_rule_that_ever_was_is_told(state: KnowledgeState, told: dict[str, Ruling]) -> None:
    assert list(told) == [f"rule_{number}" for number in range(7)]
    assert {id for id, each in told.items() if each.in_force} == set(state.history.book.ids)
    assert all(told[rule.id].rule == rule for rule in state.history.book.active)


def test_each_change_says_what_who_and_from_which_episode(told: dict[str, Ruling]) -> None:
    steps = {id: [(step.change, step.what, step.who, step.episode) for step in each.steps] for id, each in told.items()}
    known = (0, "known before the first episode", "", None)
    assert steps["rule_0"] == [known, (2, "changed: content, log", "builder", 5)]
    assert steps["rule_1"] == [known]
    assert steps["rule_3"] == [known, (3, MERGED.format(4), "consolidator", 7)]
    assert steps["rule_4"][0] == (1, "written", "builder", 2)
    assert steps["rule_4"][1] == (3, MERGED.format(3), "consolidator", 7)
    assert steps["rule_5"] == [(3, "written; the same change deleted rule_3, rule_4", "consolidator", 7)]
    assert steps["rule_6"] == [
        (4, "written", "builder", 8),
        (5, "deleted: gone back to before change 4", "user", None),
    ]
    difference = told["rule_0"].steps[1].difference.splitlines()
    assert "-  A box must be opened before it is seen into." in difference
    assert "+  A box must be opened." in difference


def test_the_plans_that_named_a_rule_are_those_of_its_evidence(state: KnowledgeState, told: dict[str, Ruling]) -> None:
    assert told["rule_1"].named == [Naming(5, solved=False, blamed=True)]
    assert [each.episode for each in told["rule_0"].named] == [2, 5, 9, 9]
    for id, evidence in count(state.citations).items():
        named = told[id].named
        assert told[id].evidence == evidence
        assert len(named) == evidence.cited
        assert sum(each.solved for each in named) == evidence.solved
        assert sum(not each.blamed for each in named) == evidence.unblamed


def test_markdown_becomes_html_in_which_nothing_runs_or_leads_away() -> None:
    text = f"""# A manual
## Part
Do *this*, see [here](javascript:alert(1)) or <https://example.org> or ![x](https://example.org/x.png).

<img src=x onerror="document.title='taken'">

- {HOSTILE}

```python
agent.look()  # <b>
```

| a | b |
|---|---|
| 1 | {HIDDEN} |
"""
    tree = prose(text)
    assert tree[:2] == [["h4", "A manual"], ["h5", "Part"]]
    assert ["em", "this"] in tree[2]
    assert ["pre", "agent.look()  # <b>\n"] in tree
    tags = {each[0] for each in flat(tree)}
    assert tags == {"h4", "h5", "p", "em", "ul", "li", "pre", "table", "thead", "tbody", "tr", "th", "td"}
    assert prose("###### deep") == [["h6", "deep"]]


def flat(tree: list[Any]) -> Iterator[list[Any]]:
    """Give every element of a tree."""
    for each in tree:
        if isinstance(each, list):
            yield each
            yield from flat(each[1:])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A building run of the toy world with its manual, told in a page."""
    folder = tmp_path_factory.mktemp("rules") / "built"
    command = "build --env toy --model scripted:tests/toy_script.py:answer --tasks-per-type 2 --solved-after 1 --out"
    assert planbook(*command.split(), folder).returncode == 0
    assert planbook("formulate", folder).returncode == 0
    report_runs([folder], None, None, as_json=True)
    return folder


def test_the_page_has_every_rule_with_links_to_its_episodes(built: Path) -> None:
    page = Page(built / "report.html")
    with closing(Run.open(built)) as run:
        state = learnt_in(run)[EVERYTHING]
    found = rulings(state)
    assert len(page.all("article", class_="rule")) == len(found) > 0
    shown = "".join(page.all("section", class_="learned"))
    for each in found:
        assert each.rule.content in shown
        assert str(each.evidence) in shown
    for kind, procedure in state.knowledge.procedures.items():
        assert kind in shown
        assert procedure.code.rstrip().split("\n")[0] in shown
    ids, links = set(page.values("id")), set(page.values("href"))
    assert {link.removeprefix("#") for link in links} <= ids
    wrote = {step.episode for each in found for step in each.steps if step.episode is not None}
    assert wrote
    assert {f"#run-0-{episode}" for episode in wrote} <= links
    assert page.all("div", class_="prose")[0].strip()


def test_the_building_curves_count_what_was_known(built: Path) -> None:
    page = Page(built / "report.html")
    with closing(Run.open(built)) as run:
        events: list[Any] = list(run.store.events("learn", "learnt"))
    own = [event.body["knowledge"] for event in events if event.scope.count("/") == 1]
    known = next(each for each in page.all("figure") if "what was known" in each)
    assert f"{len(own[-1]['rules'])} rules" in known


def test_every_task_is_told_by_its_outcome_and_what_broke_is_listed(tmp_path: Path) -> None:
    outcomes = [Outcome.DIRECT_SUCCESS, Outcome.FAILURE, Outcome.NOT_RUN, Outcome.NOT_RUN]
    with closing(many_endings(tmp_path / "run", outcomes)) as run:
        broken = Ending(outcome=Outcome.BROKEN, cause="broken", message=f"the browser died {HOSTILE}")
        run.store.put("task/2", "outcome", 0, broken.model_dump(mode="json"))
        left_out = Ending(outcome=Outcome.NOT_RUN, cause="type_solved")
        run.store.put("task/3", "outcome", 0, left_out.model_dump(mode="json"))
    report_runs([tmp_path / "run"], None, None, as_json=True)
    page = Page(tmp_path / "run" / "report.html")
    (section,) = page.all("section", class_="trust")
    assert "3 tasks were asked for, and every one of them is in the denominator: 1 solved" in section
    assert "1 building task was left out on purpose" in section
    assert f"fetch/2: the browser died {HOSTILE}" in section
    assert "The share of those that were not broken: 50.0%" in section
    assert HOSTILE not in page.source
