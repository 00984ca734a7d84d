"""``planbook.run``, ``planbook.build`` and ``planbook.test`` do what the commands do, and print nothing."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import planbook
from planbook.envs import UnknownEnvironment
from planbook.envs.toy import Toy
from planbook.errors import BadArgument, BadRun
from planbook.option_values import option_of
from planbook.planner import ScriptedModel
from planbook.planner.errors import UnknownModel
from planbook.settings import Settings
from tests.command import planbook as command
from tests.toy_script import answer

SCRIPT = f"scripted:{Path(__file__).parents[1] / 'toy_script.py'}:answer"


def test_a_run_does_what_the_command_does_and_is_quiet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    played = planbook.run(env="toy", split="all:4", out=tmp_path / "python")
    assert capfd.readouterr() == ("", "")
    printed = json.loads(
        command("run", "--env", "toy", "--split", "all:4", "--out", tmp_path / "line", "--json").stdout
    )
    differing = {"seconds", "run"}
    assert {k: v for k, v in played.summary.items() if k not in differing} == {
        k: v for k, v in printed.items() if k not in differing
    }
    configs = [json.loads((tmp_path / name / "run.json").read_text())["config"] for name in ("python", "line")]
    assert configs[0] == configs[1]


def test_the_result_can_be_read(tmp_path: Path) -> None:
    played = planbook.run(env="toy", types=["fetch"], seeds=range(3), out=tmp_path / "run")
    assert (played.solved, played.tasks, played.stopped, played.folder) == (3, 3, "", tmp_path / "run")
    assert [row["task"] for row in played.episodes] == ["fetch/0", "fetch/1", "fetch/2"]
    first = played.episodes[0]
    assert (first["outcome"], first["solved"], first["score"], first["calls"]) == ("direct_success", True, 1.0, 0)
    assert first["actions"] > 0
    assert repr(played) == f"<PlayedRun 3 of 3 solved, 0 model calls, in {tmp_path / 'run'}>"
    assert planbook.PlayedRun.read(tmp_path / "run").summary == played.summary


def test_verbose_prints_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planbook.run(env="toy", split="all:1", out=tmp_path / "run", verbose=True)
    assert "procedures on toy" in capsys.readouterr().out


def test_a_budget_that_ends_is_no_error(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "env": "toy",
        "planner": "automanual",
        "model": SCRIPT,
        "split": "all:4",
        "out": tmp_path / "run",
    }
    first = planbook.run(**settings, budget={"calls": 1})
    assert first.stopped == "budget"
    assert "stopped (budget)" in repr(first)
    assert planbook.run(resume=tmp_path / "run", budget={"calls": 100}).stopped == ""


def test_building_and_testing(tmp_path: Path) -> None:
    built = planbook.build(env="toy", model=SCRIPT, tasks_per_type=2, out=tmp_path / "built")
    assert (tmp_path / "built" / "learnt").is_dir()
    tested = planbook.test(env="toy", library=built, types="fetch", seeds="0-1", after=4, out=tmp_path / "tested")
    assert tested.tasks == 2
    assert tested.results.run.config.after == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repeats": 0}, "--repeats: 0 does not fit; it takes number from 1"),
        ({"repeat": 2}, "repeat: there is no such option; did you mean repeats?"),
        ({"seeds": "5-2"}, "--seeds 5-2: 5-2 runs backwards; write 2-5"),
        ({"seeds": "1 2 3"}, "--seeds 1 2 3: write A-B, N, or several with commas"),
        ({"limits": {"wall_seconds": "x"}}, '--limit: wall_seconds: "x" does not fit'),
        ({"env_options": {"engine": "fast"}}, "--option: engine: there is no such option"),
        ({"model": 3}, "neither a name nor an object"),
        ({"model": "none", "models": {}}, "give one of the two"),
    ],
)
def test_a_wrong_value_is_reported_in_the_words_of_the_command(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument) as refused:
        planbook.run(env="toy", **settings)
    assert message in str(refused.value)


def test_other_errors_are_those_of_the_command_too(tmp_path: Path) -> None:
    with pytest.raises(UnknownEnvironment, match="no environment is called 'tpy'; did you mean toy"):
        planbook.run(env="tpy")
    with pytest.raises(BadRun, match="holds no run"):
        planbook.run(resume=tmp_path)
    with pytest.raises(BadArgument, match="already says what is played; leave out --split"):
        planbook.run(resume=tmp_path, split="all")
    with pytest.raises(BadArgument, match="one number at a time"):
        planbook.test(env="toy", after=(1, 2))
    with pytest.raises(BadRun, match="holds no run"):
        planbook.PlayedRun.read(tmp_path)


def test_a_class_or_an_instance_is_an_environment(tmp_path: Path) -> None:
    by_class = planbook.run(env=Toy, split="all:1", out=tmp_path / "class")
    assert by_class.results.run.config.env == "toy"
    of_a_file = planbook.run(env=Cupboard(), split="all:1", out=tmp_path / "file")
    assert of_a_file.results.run.config.env == f"{Path(__file__).resolve()}:Cupboard"


class Cupboard(Toy):
    """An environment in a file."""


def test_a_class_of_this_process_is_recorded_as_such(tmp_path: Path) -> None:
    class Attic(Toy):
        pass

    played = planbook.run(env=Attic, split="all:2", out=tmp_path / "run")
    assert (played.solved, played.results.run.config.env) == (2, "object:Attic")
    assert planbook.run(env=Attic, resume=tmp_path / "run").solved == 2
    with pytest.raises(BadArgument, match="object:Attic exists in this process only"):
        planbook.run(env=Attic, split="all:2", jobs=2, executor="processes")
    elsewhere = command("run", "--resume", tmp_path / "run")
    assert elsewhere.returncode == 2
    assert "was a class of the Python process that began the run" in " ".join(elsewhere.stderr.split())


def test_an_object_is_a_model(tmp_path: Path) -> None:
    model = ScriptedModel(answer, name="clever")
    played = planbook.run(env="toy", planner="automanual", model=model, split="all:2", out=tmp_path / "run")
    assert played.episodes[0]["calls"] > 0
    assert played.results.run.config.models == {"default": "object:clever"}
    assert model.name == "clever"
    assert planbook.run(resume=tmp_path / "run", model=model).solved == played.solved
    with pytest.raises(UnknownModel, match="pass it again"):
        planbook.run(env="toy", planner="automanual", model="object:other", split="all:2")


def test_the_signature_shows_every_setting_and_import_stays_light() -> None:
    of_building = set(inspect.signature(planbook.build).parameters) - {"model", "verbose"}
    assert of_building == {name for name, field in Settings.model_fields.items() if option_of(name, field)}
    assert "tasks_per_type" not in inspect.signature(planbook.run).parameters
    code = "import sys, planbook; print([name for name in sys.modules if name.startswith(('planbook.', 'pydantic'))])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
    assert planbook.__all__ == ["PlayedRun", "build", "run", "test"]
