"""The user's own methods: in a file, in another package, or added to the source tree as CONTRIBUTING.md describes."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planbook import errors
from tests.command import ROOT, planbook, result
from tests.flows import invoke, refusal, succeed

OWN = ROOT / "tests" / "own_methods"
TASKS = ("--env", "toy", "--split", "all:4", "--types", "fetch")
MODEL = ("--model", f"scripted:{OWN}/model.py:answer")
REFINE = f"{ROOT}/examples/refine.py:method"
FinishedProcess = subprocess.CompletedProcess[str]


def execute(path: Path, *arguments: object) -> FinishedProcess:
    """Run a command with this folder of packages first on Python's path."""
    env = os.environ | {"PYTHONPATH": f"{path}{os.pathsep}{ROOT}", "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "planbook", *map(str, arguments)]
    return subprocess.run(command, cwd=path, env=env, capture_output=True, text=True, timeout=180)


def test_a_method_in_a_file_works_like_a_shipped_one(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    played = succeed("run", "--planner", REFINE, *TASKS, *MODEL, "--out", one, "--json")
    assert (played.result["solved"], played.result["model_calls"]) == (4, 8)
    inputs = json.loads((one / "run.json").read_text())["inputs"]["prompts"]
    assert "the method's file refine.py" in inputs

    more_options = ("--planner-option", "times=2", "--executor", "processes", "--jobs", "2")
    again = succeed("run", "--planner", REFINE, *TASKS, *MODEL, *more_options, "--out", other, "--json")
    assert (again.result["solved"], again.result["model_calls"]) == (4, 12)
    for command in (
        ("report", one, other, "--out", tmp_path / "report.html"),
        ("show", one, 1),
        ("compare", one, other),
        ("stats", one, other),
        ("replay", one),
        ("rerun", one, "--recorded", "--out", tmp_path / "third"),
        ("export", one, "--out", tmp_path / "one.jsonl"),
        ("planners", REFINE),
    ):
        finished = invoke(*command)
        assert finished.returncode == 0, (command, finished.printed)
    shown = invoke("show", one, 1).printed
    assert "draft 0" in shown
    assert re.search(r"lines: \d", shown)
    assert "critic was asked refine.j2" in shown


def test_a_method_defines_its_own_records_and_figures(tmp_path: Path) -> None:
    run, file = tmp_path / "run", tmp_path / "run.jsonl"
    played = invoke("run", "--planner", REFINE, *TASKS, *MODEL, "--out", run, "--json")
    assert played.result["methods"]["drafts"]["drafts"] == 4
    assert "Revised: 4 drafts of " in played.printed
    succeed("export", run, "--out", file)
    for line in file.read_text().splitlines():
        (span,) = json.loads(line)["spans"]
        assert (span["name"], span["title"], span["data"]["number"]) == ("draft", "draft 0", 0)
        assert span["order"] < span["end"]
    succeed("import", file, "--out", tmp_path / "again")
    assert "draft 0" in invoke("show", tmp_path / "again", 1).printed


def test_changed_options_of_a_method_are_reported_before_playing(tmp_path: Path) -> None:
    """The file has only one method, so the command does not need to name it."""
    method = """
from planbook.planner import Method, Options

class Often(Options):
    times: int = 1

def look(episode, options):
    episode.run("print(1)")

method = Method(look, Often, "look once")
"""
    (tmp_path / "mine.py").write_text(method)
    run = tmp_path / "run"
    assert planbook("run", "--planner", "mine.py", *TASKS, "--out", run, cwd=tmp_path).returncode == 0
    (tmp_path / "mine.py").write_text(method.replace("times", "often"))
    for command in (("replay", run), ("run", "--resume", run), ("rerun", run)):
        refused = planbook(*command, cwd=tmp_path)
        assert refused.returncode == errors.BAD_INPUT
        assert "mine.py no longer takes these options (times: Extra inputs" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_modules_and_templates_of_a_method_are_inputs_of_the_run(tmp_path: Path) -> None:
    module, template = tmp_path / "pieces.py", tmp_path / "prompts" / "plan.j2"
    module.write_text("CODE = 'print(1)'\n")
    template.parent.mkdir()
    template.write_text("{{ goal }}")
    (tmp_path / "mine.py").write_text(
        """
from pathlib import Path
from pieces import CODE
from planbook.planner import Method, Options, Prompts

PROMPTS = Prompts(Path(__file__).parent / "prompts")

def once(episode, options):
    episode.ask("planner", PROMPTS["plan"], goal=episode.task.goal)
    episode.run(CODE)

method = Method(once, Options, "ask once", ("planner",), templates=PROMPTS.files())
"""
    )
    run = tmp_path / "run"
    played = planbook("run", "--planner", "mine.py:method", *TASKS, *MODEL, "--out", run, "--json", cwd=tmp_path)
    assert (played.returncode, result(played)["tasks"]) == (0, 4), played.stderr
    inputs = json.loads((run / "run.json").read_text())["inputs"]["prompts"]
    assert {"the method's file mine.py", "the method's module pieces"} <= set(inputs)
    module.write_text("CODE = 'print(2)'\n")
    template.write_text("Now: {{ goal }}")
    resumed = planbook("run", "--resume", run, cwd=tmp_path)
    assert "the method's module pieces: changed" in resumed.stderr
    assert "plan.j2: changed" in resumed.stderr


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("faulty.py:one_argument", "must take two arguments, (episode, options), not (episode: "),
        (
            "faulty.py:number",
            "is of type int, not a Method: end the file with a line such as method = Method(FUNCTION,",
        ),
        ("faulty.py:fails", "is of type function, not a Method: end the file with a line such as method = Method("),
        ("faulty.py:nobody", "has no 'nobody'; its methods: one_argument, coroutine, wrong_options, second"),
        ("model.py", "model.py has no methods: end the file with a line such as method = Method("),
        ("faulty.py:coroutine", "the `play` of a Method must be a plain function (episode, options)"),
        ("faulty.py:wrong_options", "its options must be a class derived from planner.Options"),
        ("method.py", "failed while it was imported: ModuleNotFoundError"),
    ],
)
def test_a_mistake_in_a_method_is_reported_in_one_line(file: str, message: str, tmp_path: Path) -> None:
    for name in ("faulty.py", "model.py"):
        shutil.copy(OWN / name, tmp_path)
    (tmp_path / "method.py").write_text("import nothing_of_that_name\n")
    assert message in refusal("run", "--planner", tmp_path / file, *TASKS, "--out", tmp_path / "run")


def test_a_span_may_have_the_name_of_a_shipped_methods_span(tmp_path: Path) -> None:
    (tmp_path / "noting.py").write_text("""
from planbook.planner import Figures, Method, Options, Payload

class Noted(Payload):
    span = "node"
    answer: str

class Notes(Figures):
    key = "notes"
    answers: tuple[str, ...]

    @classmethod
    def count(cls, episodes):
        return cls(answers=tuple(noted.answer for played in episodes for noted in played.payloads(Noted)))

    def describe(self):
        yield f"Noted: {self.answers}"

def note(episode, options):
    episode.span(Noted(answer="seen")).end()

method = Method(note, Options, "notes", spans=(Noted,), figures=(Notes,))
""")
    run = tmp_path / "run"
    played = succeed("run", "--planner", tmp_path / "noting.py", *TASKS, "--out", run, "--json")
    assert played.result["methods"] == {"notes": {"answers": ["seen"] * 4}}
    succeed("show", run, 1)


@pytest.mark.deep
def test_a_method_of_another_package_can_be_called_by_its_name(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "refine.py", tmp_path)
    about = tmp_path / "refining-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: refining\nVersion: 1.0\n")
    points = "self-refine = refine:method\nadapt = refine:method\nbroken = nowhere:method\n"
    (about / "entry_points.txt").write_text(f"[planbook.planners]\n{points}")
    assert "self-refine" in execute(tmp_path, "planners").stdout
    played = execute(tmp_path, "run", "--planner", "self-refine", *TASKS, *MODEL, "--out", tmp_path / "run", "--json")
    assert result(played)["solved"] == 4, played.stderr
    assert "ADaPT" in execute(tmp_path, "planners", "adapt").stdout, "a shipped method is not replaced"
    listed = execute(tmp_path, "planners")
    assert "refine:method is not used: it is registered as 'adapt', the name of a shipped method" in listed.stdout
    assert "the planner 'broken' cannot be imported: ModuleNotFoundError" in listed.stdout.replace("\n", " ")
    (tmp_path / "refine.py").write_text((tmp_path / "refine.py").read_text() + "\n")
    changed = execute(tmp_path, "run", "--resume", tmp_path / "run")
    assert "the method's package refine: changed" in changed.stderr


def test_a_method_that_is_added_to_the_source_tree_can_be_played(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "planbook", tmp_path / "planbook", ignore=shutil.ignore_patterns("recordings"))
    strategies = tmp_path / "planbook" / "planner" / "strategies"
    code = (ROOT / "examples" / "refine.py").read_text()
    code = code.replace("method = Method(", 'METHODS = {"refine": Method(').rstrip() + "}\n"
    old = "from planbook.planner import Episode, Figures, Method, Options, Payload, PlayedEpisode, Prompts, action_docs"
    (strategies / "refining.py").write_text(code.replace(old, (
        "from planbook.planner.agent import action_docs\nfrom planbook.planner.episode import Episode\n"
        "from planbook.planner.prompts import Prompts\n"
        "from planbook.planner.journal import Payload\nfrom planbook.planner.strategies.base import Method, Options\n"
        "from planbook.planner.strategies.figures import Figures, PlayedEpisode"
    )))  # fmt: skip
    init = (strategies / "__init__.py").read_text()
    (strategies / "__init__.py").write_text(init.replace("_FAMILIES = {", '_FAMILIES = {"refining": "refine",'))
    played = execute(tmp_path, "run", "--planner", "refine", *TASKS, *MODEL, "--out", tmp_path / "run", "--json")
    assert played.returncode == 0, played.stderr
    assert result(played)["solved"] == 4
