"""Rules in the report, with their evidence and the change log; the manual as HTML; what the figures count."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.knowledge import EVERYTHING, learned_in
from planbook.planner import Ending, Outcome
from planbook.report import report_runs
from planbook.report.learned import prose
from planbook.rules import count
from planbook.rules.book import NO_EVIDENCE
from planbook.runs import Run
from planbook.wording import counted
from tests.command import planbook
from tests.reported import HIDDEN, HOSTILE, Page, many_endings


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
    """A building run of the toy environment with its manual, told in a page."""
    folder = tmp_path_factory.mktemp("rules") / "built"
    command = "build --env toy --model scripted:tests/toy_script.py:answer --tasks-per-type 2 --solved-after 1 --out"
    assert planbook(*command.split(), folder).returncode == 0
    assert planbook("formulate", folder).returncode == 0
    report_runs([folder], None, None)
    return folder


def test_the_page_has_every_rule_with_its_evidence_and_the_change_log(built: Path) -> None:
    page = Page(built / "report.html")
    with closing(Run.open(built)) as run:
        state = learned_in(run)[EVERYTHING]
    assert state.knowledge.rules
    assert len(page.all("article", class_="rule")) == len(state.knowledge.rules)
    shown = "".join(page.all("section", class_="learned"))
    for rule in state.knowledge.rules:
        assert rule.content in shown
        assert str(count(state.citations).get(rule.id, NO_EVIDENCE)) in shown
    assert all(line in shown for line in state.history.log())
    for kind, procedure in state.knowledge.procedures.items():
        assert kind in shown
        assert procedure.code.rstrip().split("\n")[0] in shown
    ids, links = set(page.values("id")), set(page.values("href"))
    assert {link.removeprefix("#") for link in links} <= ids
    assert page.all("div", class_="prose")[0].strip()
    assert counted(len(state.knowledge.rules), "rule") in page.all("section", class_="first")[0]


def test_the_building_curves_count_what_was_known(built: Path) -> None:
    page = Page(built / "report.html")
    with closing(Run.open(built)) as run:
        events: list[Any] = list(run.store.events("learn", "learnt"))
    own = [event.body["knowledge"] for event in events if event.scope.count("/") == 1]
    known = next(each for each in page.all("figure") if "what was known" in each)
    assert f"{len(own[-1]['rules'])} rules" in known


def test_every_task_is_reported_by_its_outcome_and_what_broke_is_listed(tmp_path: Path) -> None:
    outcomes = [Outcome.DIRECT_SUCCESS, Outcome.FAILURE, Outcome.NOT_RUN, Outcome.NOT_RUN]
    with closing(many_endings(tmp_path / "run", outcomes)) as run:
        broken = Ending(outcome=Outcome.BROKEN, cause="broken", message=f"the browser died {HOSTILE}")
        run.store.put("task/2", "outcome", 0, broken.model_dump(mode="json"))
        left_out = Ending(outcome=Outcome.NOT_RUN, cause="type_solved")
        run.store.put("task/3", "outcome", 0, left_out.model_dump(mode="json"))
    report_runs([tmp_path / "run"], None, None)
    page = Page(tmp_path / "run" / "report.html")
    (section,) = page.all("section", class_="trust")
    assert "not run count as not solved: 1 of 3; of the 2 that were played 1 were solved" in section
    assert "Left out, as their type was solved often enough in a row: 1." in section
    assert f"Broken: fetch/2: the browser died {HOSTILE}" in section
    assert HOSTILE not in page.source
