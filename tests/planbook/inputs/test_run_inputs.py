"""The folder of a run belongs to one process, and records the inputs of the run, so that a change is noticed."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from planbook.config import RECORDINGS, Config, LearningSettings
from planbook.envs import Selection
from planbook.envs.alfworld import generated
from planbook.envs.alfworld.tasks import DATA_FOLDER, GAME_FILE
from planbook.envs.toy import Toy
from planbook.errors import BadRun
from planbook.inputs import current_inputs, data_digests, prompt_digests
from planbook.manuals import SHIPPED
from planbook.planner import METHODS, Sampling
from planbook.planner.models.recordings import read_recording
from planbook.runs import (
    InputChange,
    Run,
    RunInputs,
    changed_inputs,
    changed_versions,
    installed as versions_module,
    is_claimed,
    new_folder,
)
from tests.command import planbook
from tests.flows import events, invoke, refusal, succeed, write_scripted_model
from tests.planbook.inputs.shifting import play_broken, read_run_file, rewrite
from tests.shelf import write_shelf

FEW, MORE = ("--budget", "actions=2"), ("--budget", "actions=1000")


def config(planner: str = "procedures", **more: Any) -> Config:
    return Config(**{"planner": planner, "env": "toy", "actions": 9, **more})


def test_every_method_with_roles_has_templates() -> None:
    for name, each in METHODS.items():
        given = {"planner_options": {"code": "pass"}} if name == "code" else {}
        assert bool(prompt_digests(config(name, **given))) == bool(each.roles), name
    folders = {template.partition("/")[0] for each in METHODS.values() for template in each.templates}
    assert folders == {"adapt", "advocate", "automanual", "deps", "executor", "reflexion"}


@pytest.mark.parametrize("recording", sorted(RECORDINGS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_recorded_prompt_belongs_to_the_recorded_method(recording: Path) -> None:
    header, entries = read_recording(recording)
    words = header.command.split()
    planner = words[words.index("--planner") + 1] if "--planner" in words else "automanual"
    learning = LearningSettings() if words[0] == "build" else None
    known = prompt_digests(Config(planner=planner, env=words[words.index("--env") + 1], actions=1, learning=learning))
    assert {entry.label.partition(": ")[2] for entry in entries if ".j2" in entry.label} <= known.keys()


def test_a_changed_game_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    home = tmp_path / DATA_FOLDER / "valid_seen" / "pick_and_place_simple-Mug-None-Desk-1" / "trial_1"
    home.mkdir(parents=True)
    game = json.dumps(generated.make_game("pick_and_place", 1).data)
    (home / GAME_FILE).write_text(game)
    run = tmp_path / "run"
    assert invoke("run", "--env", "alfworld", "--split", "valid_seen", "--out", run, *FEW).returncode == 4
    assert read_run_file(run)["inputs"]["data"].keys() == {"games"}
    (home / GAME_FILE).write_text(game + " ")
    printed = refusal("run", "--resume", run, *MORE)
    assert "data games: changed" in printed
    assert "planbook rerun" in printed.partition("--allow-changed")[0]
    again = succeed("rerun", run, "--out", tmp_path / "again", *MORE)
    assert "data games: changed" in again.printed


def test_a_changed_library_is_refused_until_it_is_allowed(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "toy", tmp_path / "mine" / "toy")
    helper, run = tmp_path / "mine" / "toy" / "helpers" / "boxes.py", tmp_path / "run"
    original = helper.read_text()
    assert invoke("run", "--env", "toy", "--library", tmp_path / "mine", "--out", run, *FEW).returncode == 4

    def resume(actions: int, *options: str) -> tuple[int, str]:
        resumed = invoke("run", "--resume", run, *options, "--budget", f"actions={actions}")
        return resumed.returncode, resumed.printed

    def refused(actions: int) -> bool:
        code, printed = resume(actions)
        return code == 2 and "knowledge helpers: changed" in printed

    helper.write_text(original + "\n")
    assert refused(10)
    code, printed = resume(10, "--allow-changed")
    assert code == 4
    assert "This run began with different inputs: knowledge helpers: changed." in printed
    assert resume(12)[0] == 4, "what was allowed once stays allowed"
    noted = [event.body.get("changed") for event in events(run, "invocation") if "over" not in event.body]
    assert noted == [None, ["knowledge helpers: changed"], ["knowledge helpers: changed"]]
    helper.write_text(original)
    assert refused(15), "the original is a change too"
    assert resume(15, "--allow-changed")[0] == 4
    assert resume(1000)[0] == 0


def test_a_change_before_the_first_episode_is_only_reported(tmp_path: Path) -> None:
    write_shelf(tmp_path)
    chosen = Config(planner="naive", env=str(tmp_path / "shelf.py"), actions=3)
    tasks = chosen.environment.select(Selection())
    Run.create(tmp_path / "run", chosen, tasks, inputs=current_inputs(chosen, tasks)).close()
    write_shelf(tmp_path, "cup_1")
    resumed = succeed("run", "--resume", tmp_path / "run")
    assert "different inputs: the environment's file shelf.py: changed" in resumed.printed


def test_a_changed_environment_file_is_refused_until_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = play_broken(tmp_path, monkeypatch)
    environment = tmp_path / "shifting.py"
    environment.write_text(environment.read_text() + "# another line\n")
    refused = planbook("run", "--resume", folder, "--again", "broken")
    assert refused.returncode == 2
    assert "(the environment's file shifting.py: changed)" in refused.stderr
    assert planbook("run", "--resume", folder, "--again", "broken", "--allow-changed").returncode == 0
    assert planbook("run", "--resume", folder).returncode == 0, "nothing is left to be played on other data"


def test_modules_that_a_file_of_tools_imports_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "parts_of_tools.py").write_text("TEXT = 'a door'\n")
    file = tmp_path / "tools.py"
    file.write_text("import parts_of_tools\n\n\ndef look() -> str:\n    return parts_of_tools.TEXT\n")
    digests = data_digests(config(env=f"module:{file}"), [])
    assert digests.keys() == {"module", "the environment's module parts_of_tools"}


SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("adder")

@server.tool()
def add(number: int = 1) -> int:
    return number

server.run()
"""


def resume_with_changes(folder: Path, env: str, judge: JsonValue, edits: Mapping[str, tuple[str, str]]) -> str:
    """Play two of three tasks and edit files. Return the changes because of which the run is not resumed."""
    tasks: list[JsonValue] = [{"id": str(number), "goal": "Add.", "judge": judge} for number in range(3)]
    (folder / "tasks.json").write_text(json.dumps({"tasks": tasks}))
    plan = ("--planner", "code", "--planner-option", "code=agent.answer(agent.add())")
    playing = ("run", "--env", env, "-o", "tasks=tasks.json", *plan, "--out", "run", "--budget", "actions=4")
    assert (played := planbook(*playing, cwd=folder)).returncode == 4, played.stderr
    for name, (old, new) in edits.items():
        (folder / name).write_text((folder / name).read_text().replace(old, new))
    resumed = planbook("run", "--resume", "run", "--budget", "actions=99", cwd=folder)
    assert resumed.returncode == 2, resumed.stdout
    return resumed.stderr.partition("inputs that have changed since (")[2].partition(")")[0]


def test_changed_judges_and_the_modules_that_they_import_are_refused(tmp_path: Path) -> None:
    (tmp_path / "adder.py").write_text("def add(number: int = 1) -> int:\n    return number\n")
    code = "import right_sum\n\ndef judge(answer):\n    return right_sum.OK == answer\n"
    (tmp_path / "judges_of_adder.py").write_text(code)
    (tmp_path / "right_sum.py").write_text("OK = 1\n")
    edits = {"judges_of_adder.py": ("==", "<="), "right_sum.py": ("1", "2")}
    changes = resume_with_changes(tmp_path, "module:adder.py", {"python": "judges_of_adder.py:judge"}, edits)
    judges = "the judge judges_of_adder.py"
    assert changes == f"{judges}: changed; {judges}'s module right_sum: changed"


def test_an_mcp_server_with_changed_tools_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    (tmp_path / "server.py").write_text(SERVER)
    edits = {"server.py": ("number", "summand")}
    changes = resume_with_changes(tmp_path, f"mcp:{sys.executable} server.py", {"answer": 1}, edits)
    assert changes == "the tools of server: changed"
    with closing(Run.open(tmp_path / "run")) as run:
        assert {"mcp", "tools of server"} <= run.environment_versions.keys()


def test_a_changed_version_is_only_reported(tmp_path: Path) -> None:
    succeed("run", "--env", "toy", "--out", tmp_path / "run")
    assert "alfworld" not in read_run_file(tmp_path / "run")["versions"], "only those that the environment uses"
    rewrite(tmp_path / "run", lambda file: file["versions"].update(pydantic="1.0"))
    resumed = succeed("run", "--resume", tmp_path / "run")
    assert "This run began with different versions: pydantic 1.0, now 2." in resumed.printed
    again = succeed("rerun", tmp_path / "run", "--out", tmp_path / "again")
    assert "pydantic 1.0, now 2." in again.printed


def test_other_versions_of_an_environment_are_reported_on_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = play_broken(tmp_path, monkeypatch)
    monkeypatch.setenv("SHIFTING_VERSION", "2")
    resumed = succeed("run", "--resume", folder, "--again", "broken")
    warning = "Versions have changed since earlier episodes of this run: shifting 1, now 2."
    assert warning in resumed.printed + caplog.text


GRAPH = "nodes:\n  act: {prompt: 'Write the next line.', expect: code}\ncode: act\n"


def test_a_run_keeps_its_graph_file_and_a_changed_graph_is_another_run(tmp_path: Path) -> None:
    graph, run = tmp_path / "mine.yaml", tmp_path / "run"
    graph.write_text(GRAPH)
    model = write_scripted_model(tmp_path, "```python\nagent.open('box_1')\n```")
    options = ("--planner-option", f"graph={graph}", "--planner-option", "steps=2", "--model", model)
    command = ("run", "--env", "toy", "--task", "fetch/0", "--planner", "agentkit", *options, "--out", run)
    succeed(*command)
    assert read_run_file(run)["config"]["planner_options"]["text"] == GRAPH
    assert {"graph mine", "node.j2"} <= read_run_file(run)["inputs"]["prompts"].keys()
    graph.write_text(GRAPH.replace("next line", "next two lines"))
    assert "holds a run with other settings (the graph file has changed)" in refusal(*command)
    assert "has changed since this run began." in " ".join(succeed("run", "--resume", run).printed.split())
    graph.unlink()
    assert "has changed" not in " ".join(succeed("run", "--resume", run).printed.split())
    assert "1 same" in invoke("rerun", run, "--out", tmp_path / "again").printed


def test_a_changed_template_is_noticed(tmp_path: Path) -> None:
    other = {"executor/task.j2": "0" * 16}
    now = current_inputs(config("react"), Toy.tasks(Selection()))
    then = now.model_copy(update={"prompts": {**now.prompts, **other}})
    assert list(map(str, changed_inputs(then, now))) == ["prompt executor/task.j2: changed"]
    assert invoke("run", "--env", "toy", "--out", tmp_path / "run", *FEW).returncode == 4
    rewrite(tmp_path / "run", lambda file: file["inputs"].update(prompts=other))
    assert "prompt executor/task.j2: gone" in refusal("run", "--resume", tmp_path / "run", *MORE)


def test_demonstrations_starts_recordings_prices_and_seeds_are_inputs() -> None:
    models = {"default": "recorded:adapt-alfworld", "planner": "recorded:growing.jsonl+openai:x"}
    sampling = {"planner": Sampling(seed=5), "executor": Sampling(seed=None)}
    chosen = Config(planner="react", env="alfworld", actions=9, models=models, sampling=sampling, seed=100)
    made = current_inputs(chosen, [])
    assert "start" in made.knowledge
    assert any(name.startswith("demonstration ") for name in made.knowledge)
    assert made.models.keys() == {"recorded:adapt-alfworld"}
    assert made.prices.keys() == {"price table"}
    other = made.model_copy(update={"prices": {"price table": "0"}})
    assert list(map(str, changed_inputs(other, made))) == ["the price table: changed"]
    seeds = {"sampling of default": 100, "sampling of planner": 105, "sampling of executor": None}
    assert made.seeds == {"run": 100, **seeds}


def test_a_run_of_an_older_planbook_without_inputs_is_resumed(tmp_path: Path) -> None:
    succeed("run", "--env", "toy", "--out", tmp_path / "run")
    for name in ("inputs", "rerun_of"):
        rewrite(tmp_path / "run", lambda file: file.pop(name))  # noqa: B023
    rewrite(tmp_path / "run", lambda file: file["versions"].pop(versions_module.CODE))
    succeed("run", "--resume", tmp_path / "run")
    assert changed_inputs(None, RunInputs(data={"games": "0"})) == []


def test_the_version_of_our_code_is_a_digest_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    kind, digest, *_ = versions_module.code_version().split()
    assert (kind, len(digest)) == ("files", versions_module.DIGITS)


def test_versions_that_were_not_recorded_are_no_change() -> None:
    assert changed_versions({"a": "1"}, {"a": "1", "b": "2"}) == []
    assert changed_versions({"a": "1"}, {}) == []
    assert changed_versions({"a": "1"}, {"a": "2"}) == [InputChange("versions", "a", "1", "2")]


CONFIG = Config(planner="procedures", env="toy", actions=30)
TASKS = Toy.tasks(Selection())


def test_a_run_is_played_by_one_process_at_a_time(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", CONFIG, TASKS)
    with pytest.raises(BadRun, match="another process"):
        Run.create(tmp_path / "run", CONFIG, TASKS)
    with pytest.raises(BadRun, match="another process"):
        Run.open(tmp_path / "run", to_play=True)
    Run.open(tmp_path / "run").close()  # reading is allowed
    run.close()
    Run.create(tmp_path / "run", CONFIG, TASKS).close()


@pytest.mark.parametrize("left", [(), ("run.db",), ("run.db", "run.db-wal", "run.db-shm"), ("run.db", "run.new")])
def test_a_folder_whose_creation_was_interrupted_is_created_again(tmp_path: Path, left: tuple[str, ...]) -> None:
    (tmp_path / "run").mkdir()
    for name in left:
        (tmp_path / "run" / name).write_bytes(b"half")
    run = Run.create(tmp_path / "run", CONFIG, TASKS)
    assert len(run.entries()) == len(TASKS)
    run.close()


def test_a_folder_with_other_files_is_left_unchanged(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadRun, match=r"thesis\.tex"):
        Run.create(tmp_path, CONFIG, TASKS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_is_claimed_before_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claimed, iterdir = list[bool](), Path.iterdir

    def list_folder(folder: Path) -> Iterator[Path]:
        claimed.append(is_claimed(folder))
        return iterdir(folder)

    monkeypatch.setattr(Path, "iterdir", list_folder)
    Run.create(tmp_path / "run", CONFIG, TASKS).close()
    assert claimed == [True]
    assert not is_claimed(tmp_path / "run")


def test_a_file_instead_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadRun, match="Not a directory"):
        Run.create(tmp_path / "file" / "run", CONFIG, TASKS)
    with pytest.raises(BadRun, match="cannot hold a run"):
        Run.create(tmp_path / "file", CONFIG, TASKS)


def test_settings_that_differ_from_those_of_the_folder_are_named(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", CONFIG, TASKS).close()
    other = CONFIG.model_copy(update={"selection": Selection(seeds=(7,)), "seed": 3})
    with pytest.raises(BadRun, match=r"other settings \(--seed: 0, now 3; --seeds: none, now 7\)"):
        Run.create(tmp_path / "run", other, TASKS)


def test_runs_of_the_same_second_have_different_folders(tmp_path: Path) -> None:
    assert len({new_folder(CONFIG, tmp_path) for _ in range(5)}) == 5


def test_each_repeat_is_an_entry(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", CONFIG.model_copy(update={"repeats": 2}), TASKS)
    assert [(entry.task.id, entry.repeat) for entry in run.entries()][:: len(TASKS)] == [("fetch/0", 0), ("fetch/0", 1)]
    run.close()


def test_a_run_with_more_repeats_than_the_option_allows_is_read() -> None:
    assert Config.model_validate(CONFIG.model_dump() | {"repeats": 2_000}).repeats == 2_000
