"""What a run says it is made of: every part that decides what is played is there, and a change is noticed."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.config import RECORDINGS, Config, Learning
from planbook.envs import Selection
from planbook.envs.alfworld import generated
from planbook.envs.alfworld.tasks import DATA_FOLDER, GAME_FILE
from planbook.envs.toy import Toy
from planbook.errors import BadRun
from planbook.inputs import inputs, prompt_digests
from planbook.manuals import SHIPPED
from planbook.planner import METHODS, Sampling
from planbook.planner.models.recordings import read_recording
from planbook.runs import InputChange, MadeOf, Run, changed_versions, changes
from planbook.runs import installed as versions_module
from tests.command import planbook
from tests.planbook.inputs.commands import play_shifting, run
from tests.shelf import write_shelf

TASKS = Toy.tasks(Selection())
FEW, MORE = ("--budget", "actions=2"), ("--budget", "actions=1000")
CAPTURED = pytest.CaptureFixture[str]


def config(planner: str = "procedures", **more: Any) -> Config:
    return Config(**{"planner": planner, "env": "toy", "actions": 9, **more})


def written(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text())


def test_every_method_that_asks_has_its_templates() -> None:
    for name, each in METHODS.items():
        given = {"planner_options": {"code": "pass"}} if name == "code" else {}
        digests = prompt_digests(config(name, **given))
        assert bool(digests) == bool(each.roles), name
    folders = {template.partition("/")[0] for each in METHODS.values() for template in each.templates}
    assert folders == {"adapt", "advocate", "automanual", "deps", "executor", "reflexion"}


@pytest.mark.parametrize("recording", sorted(RECORDINGS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_prompt_that_was_ever_recorded_is_among_those_of_its_method(recording: Path) -> None:
    header, entries = read_recording(recording)
    words = header.command.split()
    planner = words[words.index("--planner") + 1] if "--planner" in words else "automanual"
    learning = Learning() if words[0] == "build" else None
    there = prompt_digests(Config(planner=planner, env=words[words.index("--env") + 1], actions=1, learning=learning))
    asked = {entry.label.partition(": ")[2] for entry in entries if ".j2" in entry.label}
    assert asked <= there.keys()


def test_a_changed_game_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: CAPTURED) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    home = tmp_path / DATA_FOLDER / "valid_seen" / "pick_and_place_simple-Mug-None-Desk-1" / "trial_1"
    home.mkdir(parents=True)
    game = json.dumps(generated.make("pick_and_place", 1).data)
    (home / GAME_FILE).write_text(game)
    selection = ("--env", "alfworld", "--split", "valid_seen")
    played = ("run", *selection, "--out", tmp_path / "run")
    assert run(*played, *FEW) == 4
    assert written(tmp_path / "run")["made_of"]["data"].keys() == {"games"}
    (home / GAME_FILE).write_text(game + " ")
    with pytest.raises(BadRun, match=r"data games: changed.*planbook rerun .*--allow-changed"):
        run("run", "--resume", tmp_path / "run", *MORE)
    assert run("rerun", tmp_path / "run", "--out", tmp_path / "again", *MORE) == 0
    assert "data games: changed" in capsys.readouterr().out


def test_a_changed_library_is_noticed_and_may_be_allowed(tmp_path: Path, capsys: CAPTURED) -> None:
    shutil.copytree(SHIPPED / "toy", tmp_path / "mine" / "toy")
    folder = tmp_path / "run"
    assert run("run", "--env", "toy", "--library", tmp_path / "mine", "--out", folder, *FEW) == 4
    helper = tmp_path / "mine" / "toy" / "helpers" / "boxes.py"
    helper.write_text(helper.read_text() + "\n")
    with pytest.raises(BadRun, match="knowledge helpers: changed"):
        run("run", "--resume", folder, *MORE)
    assert run("run", "--resume", folder, "--allow-changed", "--budget", "actions=10") == 4
    assert "Changed since this run began: knowledge helpers: changed." in capsys.readouterr().err
    assert run("run", "--resume", folder, *MORE) == 0  # what was allowed once holds
    with closing(Run.open(folder)) as opened:
        sittings: list[Any] = [row.body for row in opened.store.events("run", "sitting")]
    assert [sitting.get("changed") for sitting in sittings if "over" not in sitting] == [
        None,
        ["knowledge helpers: changed"],
        ["knowledge helpers: changed"],
    ]


def test_original_inputs_that_are_put_back_hold_once_they_are_allowed(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "toy", tmp_path / "mine" / "toy")
    folder = tmp_path / "run"
    run("run", "--env", "toy", "--library", tmp_path / "mine", "--out", folder, *FEW)
    helper = tmp_path / "mine" / "toy" / "helpers" / "boxes.py"
    original = helper.read_text()
    helper.write_text(original + "\n")
    assert run("run", "--resume", folder, "--allow-changed", "--budget", "actions=10") == 4
    helper.write_text(original)
    with pytest.raises(BadRun, match="knowledge helpers: changed"):
        run("run", "--resume", folder, "--budget", "actions=15")
    assert run("run", "--resume", folder, "--allow-changed", "--budget", "actions=15") == 4
    assert run("run", "--resume", folder, *MORE) == 0


def test_before_anything_was_played_a_change_is_only_reported(tmp_path: Path, capsys: CAPTURED) -> None:
    write_shelf(tmp_path)
    chosen = Config(planner="naive", env=str(tmp_path / "shelf.py"), actions=3)
    tasks = chosen.environment.select(Selection())
    made = inputs(chosen, tasks)
    Run.create(tmp_path / "run", chosen, tasks, made_of=made).close()
    write_shelf(tmp_path, "cup_1")
    assert run("run", "--resume", tmp_path / "run") == 0
    assert "data the environment's file shelf.py: changed" in capsys.readouterr().err


def test_a_changed_environment_of_ones_own_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTING_BROKEN", "look/1")
    _, folder = play_shifting(tmp_path)
    monkeypatch.delenv("SHIFTING_BROKEN")
    environment = tmp_path / "shifting.py"
    environment.write_text(environment.read_text() + "# another line\n")
    refused = planbook("run", "--resume", folder, "--again", "broken")
    assert refused.returncode == 2
    assert "data the environment's file shifting.py: changed" in refused.stderr
    allowed = planbook("run", "--resume", folder, "--again", "broken", "--allow-changed")
    assert allowed.returncode == 0, allowed.stderr
    to_look_at = planbook("run", "--resume", folder)  # nothing is left to be played on other data
    assert to_look_at.returncode == 0, to_look_at.stderr


def test_a_changed_version_is_reported_and_refuses_nothing(tmp_path: Path, capsys: CAPTURED) -> None:
    assert run("replay", "--env", "toy", "--out", tmp_path / "run") == 0
    recorded = written(tmp_path / "run")
    recorded["versions"]["pydantic"] = "1.0"
    (tmp_path / "run" / "run.json").write_text(json.dumps(recorded))
    assert run("run", "--resume", tmp_path / "run") == 0
    assert "This run began with other versions: pydantic 1.0, now 2." in capsys.readouterr().err
    assert run("rerun", tmp_path / "run", "--out", tmp_path / "again") == 0
    assert "  pydantic 1.0, now 2." in capsys.readouterr().out


GRAPH = "nodes:\n  act: {prompt: 'Write the next line.', expect: code}\ncode: act\n"
MODEL = "def act(messages, sampling):\n    return \"```python\\nagent.open('box_1')\\n```\"\n"


def test_a_graph_of_ones_own_is_in_the_run_whole_and_a_changed_one_is_another_run(
    tmp_path: Path, capsys: CAPTURED
) -> None:
    graph, script = tmp_path / "mine.yaml", tmp_path / "model.py"
    graph.write_text(GRAPH)
    script.write_text(MODEL)
    options = ("--planner-option", f"graph={graph}", "--planner-option", "steps=2", "--model", f"scripted:{script}:act")
    folder = tmp_path / "run"
    command = ("run", "--env", "toy", "--task", "fetch/0", "--planner", "agentkit", *options, "--out", folder)
    assert run(*command) == 0
    recorded = written(folder)
    assert recorded["config"]["planner_options"]["text"] == GRAPH
    assert {"graph mine", "node.j2"} <= recorded["made_of"]["prompts"].keys()
    graph.write_text(GRAPH.replace("next line", "next two lines"))
    with pytest.raises(BadRun, match=r"holds another run \(other planner_options\.text\)"):
        run(*command)
    graph.unlink()
    assert run("run", "--resume", folder) == 0
    capsys.readouterr()
    assert run("rerun", folder, "--out", tmp_path / "again") == 0
    assert "1 the same" in capsys.readouterr().out


def test_a_changed_template_is_noticed(tmp_path: Path) -> None:
    """A copy of the templates stands in for another version of planbook."""
    now = inputs(config("react"), TASKS)
    older = {**now.prompts, "executor/task.j2": "0" * 16}
    then = now.model_copy(update={"prompts": older})
    assert list(map(str, changes(then, now))) == ["prompt executor/task.j2: changed"]
    folder = tmp_path / "run"
    assert run("run", "--env", "toy", "--out", folder, *FEW) == 4
    recorded = written(folder)
    recorded["made_of"]["prompts"] = {"executor/task.j2": "0" * 16}
    (folder / "run.json").write_text(json.dumps(recorded))
    with pytest.raises(BadRun, match=r"prompt executor/task\.j2: gone"):
        run("run", "--resume", folder, *MORE)


def test_demonstrations_starts_recordings_prices_and_seeds_are_there() -> None:
    models = {"default": "recorded:adapt-alfworld", "planner": "recorded:growing.jsonl+openai:x"}
    sampling = {"planner": Sampling(seed=5), "executor": Sampling(seed=None)}
    chosen = Config(planner="react", env="alfworld", actions=9, models=models, sampling=sampling, seed=100)
    made = inputs(chosen, [])
    assert {"demonstration common", "start", "manual.md"} & made.knowledge.keys() >= {"start"}
    assert any(name.startswith("demonstration ") for name in made.knowledge)
    assert made.models.keys() == {"recorded:adapt-alfworld"}
    assert made.prices.keys() == {"price table"}
    assert made.seeds == {
        "run": 100,
        "sampling of default": 100,
        "sampling of planner": 105,
        "sampling of executor": None,
    }


def test_a_run_of_an_older_planbook_says_less_and_is_resumed(tmp_path: Path) -> None:
    assert run("replay", "--env", "toy", "--out", tmp_path / "run") == 0
    recorded = written(tmp_path / "run")
    del recorded["made_of"], recorded["rerun_of"], recorded["versions"][versions_module.CODE]
    (tmp_path / "run" / "run.json").write_text(json.dumps(recorded))
    assert run("run", "--resume", tmp_path / "run") == 0
    assert changes(None, MadeOf(data={"games": "0"})) == []


def test_our_own_code_is_a_commit_or_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # there is no git
    without = versions_module.code.__wrapped__()
    assert without.startswith("files ")
    assert len(without.split()[1]) == versions_module.DIGITS


def test_versions_that_nobody_recorded_are_no_change() -> None:
    assert changed_versions({"a": "1"}, {"a": "1", "b": "2"}) == []
    assert changed_versions({"a": "1"}, {}) == [InputChange("versions", "a", "1", None)]
