"""The report shows what was learned: rules with their evidence, and the manual as HTML."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.knowledge import learned_state
from planbook.planner import Ending, Outcome
from planbook.report.learned import prose
from planbook.rules import count_evidence
from planbook.rules.evidence import NO_EVIDENCE
from planbook.runs import Run
from planbook.wording import counted
from tests.flows import BUILD, events, invoke
from tests.reported import HIDDEN, HOSTILE, many_endings, reported
from tests.rows import FAILED, SOLVED


def test_markdown_becomes_html_without_scripts_and_links() -> None:
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
    """Yield every element of a tree."""
    for each in tree:
        if isinstance(each, list):
            yield each
            yield from flat(each[1:])


def test_a_building_run_shows_its_rules_with_evidence_and_change_log(tmp_path: Path) -> None:
    folder = tmp_path / "built"
    assert invoke(*BUILD, "--tasks-per-type", 2, "--solved-after", 1, "--out", folder).returncode == 0
    assert invoke("formulate", folder).returncode == 0
    page = reported(folder)
    page.check()
    with closing(Run.open(folder)) as run:
        state = learned_state(run)
    rules = state.knowledge.rules
    assert rules
    assert len(page.all("article", class_="rule")) == len(rules)
    shown = "".join(page.all("section", class_="learned"))
    for rule in rules:
        assert rule.content in shown
        assert str(count_evidence(state.citations).get(rule.id, NO_EVIDENCE)) in shown
    assert all(line in shown for line in state.history.log())
    for kind, procedure in state.knowledge.procedures.items():
        assert kind in shown
        assert procedure.code.rstrip().split("\n")[0] in shown
    assert page.all("div", class_="prose")[0].strip()
    assert counted(len(rules), "rule") in page.all("section", class_="overview")[0]
    known = next(each for each in page.all("figure") if "Knowledge after" in each)
    own: list[Any] = [event.body for event in events(folder, "learned", "learn") if event.scope.count("/") == 1]
    assert f"{len(own[-1]['knowledge']['rules'])} rules" in known


def test_broken_and_left_out_tasks_are_counted_and_named(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [SOLVED, FAILED, Outcome.NOT_RUN, Outcome.NOT_RUN])) as run:
        for number, ending in (
            (2, Ending(outcome=Outcome.BROKEN, cause="broken", message=f"the browser died {HOSTILE}")),
            (3, Ending(outcome=Outcome.NOT_RUN, cause="type_solved")),
        ):
            run.store.put(f"task/{number}", "outcome", 0, ending.model_dump(mode="json"))
    page = reported(tmp_path / "run")
    (section,) = page.all("section", class_="counts")
    assert "unplayed episodes count as not solved: 1 of 3." in section
    assert "Skipped, because their type had been solved often enough in a row: 1." in section
    assert f"Broken: fetch/2: the browser died {HOSTILE}" in section
    assert HOSTILE not in page.source
    written = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "the browser died &lt;/script&gt;" in written.partition("<noscript>")[2].partition("</noscript>")[0]
    assert HOSTILE not in written
