"""``planbook.run``, ``planbook.build`` and ``planbook.test`` do what the commands do, and print nothing."""

import inspect
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import planbook
from planbook.envs import Observation, Task, UnknownEnvironment
from planbook.envs.toy import Toy
from planbook.errors import BadArgument, BadRun
from planbook.options import option_of
from planbook.planner import ScriptedModel
from planbook.planner.errors import ModelRefused, UnknownModel
from planbook.settings import Settings
from tests.command import planbook as command, result
from tests.flows import scripted, without_times
from tests.toy_script import answer

SCRIPT = scripted()


def test_a_run_has_the_results_of_the_command_and_prints_only_if_verbose(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    played = planbook.run(env="toy", types=["fetch"], seeds=range(3), out=tmp_path / "python")
    assert capfd.readouterr() == ("", "")
    planbook.run(env="toy", split="all:1", out=tmp_path / "verbose", verbose=True)
    assert "procedures on toy" in capfd.readouterr().out
    options = ("--env", "toy", "--types", "fetch", "--seeds", "0-2", "--json")
    assert without_times(played.summary) == without_times(result(command("run", *options, "--out", tmp_path / "line")))
    configs = [json.loads((tmp_path / name / "run.json").read_text())["config"] for name in ("python", "line")]
    assert configs[0] == configs[1]
    assert (played.solved, played.tasks, played.stopped, played.folder) == (3, 3, "", tmp_path / "python")
    assert [row["task"] for row in played.episodes] == ["fetch/0", "fetch/1", "fetch/2"]
    first = played.episodes[0]
    assert (first["outcome"], first["solved"], first["score"], first["calls"]) == ("direct_success", True, 1.0, 0)
    assert first["actions"] > 0
    assert planbook.PlayedRun.read(tmp_path / "python").summary == played.summary


def test_a_run_that_uses_up_its_budget_raises_no_error(tmp_path: Path) -> None:
    first = planbook.run(
        env="toy", planner="automanual", model=SCRIPT, split="all:4", out=tmp_path / "run", budget={"calls": 1}
    )
    assert first.stopped == "budget"
    assert planbook.run(resume=tmp_path / "run", budget={"calls": 100}).stopped == ""


def test_a_built_library_can_be_passed_to_test(tmp_path: Path) -> None:
    built = planbook.build(env="toy", model=SCRIPT, tasks_per_type=2, out=tmp_path / "built")
    assert (tmp_path / "built" / "learned").is_dir()
    tested = planbook.test(env="toy", library=built, types="fetch", seeds="0-1", after=4, out=tmp_path / "tested")
    assert tested.tasks == 2
    assert tested.results.run.config.after == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repeats": 0}, "--repeats: 0 must be greater than or equal to 1"),
        ({"tasks": ["fetch/1"], "seeds": "0-3"}, "--task already determines the seed; leave out --seeds"),
        ({"repeat": 2}, "repeat: there is no such option; did you mean repeats?"),
        ({"seeds": "5-2"}, "--seeds 5-2: 5-2 is in the wrong order; write 2-5"),
        ({"limits": {"wall_seconds": "x"}}, '--limit: wall_seconds: "x" must be a valid number'),
        ({"env_options": {"engine": "fast"}}, "--option: engine: there is no such option"),
        ({"model": 3}, "neither a name nor an object"),
        ({"models": 3}, "--model: 3 must be a valid dictionary"),
        (
            {"models": {"default": "recorded:x", "planner": "none"}},
            "--model planner=none: recorded:x, the model for all roles, would answer instead",
        ),
        ({"budget": 5}, "--budget: 5 must be a valid dictionary"),
        ({"seeds": 1.5}, "--seeds: 1.5 must be a valid"),
        ({"sampling": 3}, "--sampling: 3 must be a valid dictionary"),
        ({"planner_options": [3]}, "--planner-option 3: write NAME=VALUE"),
        ({"model": "none", "models": {}}, "give one of the two"),
        ({"model": {"planner": ScriptedModel(["pass"])}}, "use models= to map roles to models"),
        (
            {"models": {"planner": ScriptedModel(["pass"]), "executor": ScriptedModel(["pass"])}},
            "two objects have the same name, object:scripted",
        ),
        ({"sampling": {"temperature": float("nan")}}, "temperature"),
        ({"sampling": {"max_tokens": 20_000}}, "max_tokens of the default role is 20000, which leaves no room"),
    ],
)
def test_wrong_values_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument) as refused:
        planbook.run(env="toy", **settings)
    assert message in str(refused.value)


def test_errors_are_the_same_as_on_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(UnknownEnvironment, match="no environment is called 'tpy'; did you mean toy"):
        planbook.run(env="tpy")
    with pytest.raises(BadRun, match="holds no run"):
        planbook.run(resume=tmp_path)
    with pytest.raises(BadArgument, match="already determines what is played; leave out --split"):
        planbook.run(resume=tmp_path, split="all")
    with pytest.raises(BadArgument, match="one number at a time"):
        planbook.test(env="toy", after=(1, 2))
    with pytest.raises(BadRun, match="holds no run"):
        planbook.PlayedRun.read(tmp_path)


def test_a_folder_can_be_used_after_a_run_failed_to_begin(tmp_path: Path) -> None:
    with pytest.raises(BadRun, match="cannot be read or written"):
        planbook.run(env="toy", out=tmp_path / "run", store="postgresql://me@127.0.0.1:1/db")
    assert planbook.run(env="toy", split="all:1", out=tmp_path / "run").solved == 1


def test_a_class_or_an_instance_can_be_passed_as_the_environment(tmp_path: Path) -> None:
    shipped = planbook.run(env=Toy, split="all:1", out=tmp_path / "shipped")
    assert shipped.results.run.config.env == "toy"
    from_file = planbook.run(env=Cupboard(), split="all:1", out=tmp_path / "file")
    assert from_file.results.run.config.env == f"{Path(__file__).resolve()}:Cupboard"


class Cupboard(Toy):
    """An environment in a file."""


def test_a_class_that_is_in_no_file_works_only_in_its_own_process(tmp_path: Path) -> None:
    class Attic(Toy):
        pass

    played = planbook.run(env=Attic, split="all:2", out=tmp_path / "run")
    assert (played.solved, played.results.run.config.env) == (2, "object:Attic")
    assert planbook.run(env=Attic, resume=tmp_path / "run").solved == 2
    with pytest.raises(BadArgument, match="object:Attic exists only in this process"):
        planbook.run(env=Attic, split="all:2", jobs=2, executor="processes")
    elsewhere = command("run", "--resume", tmp_path / "run")
    assert elsewhere.returncode == 2
    assert "was a class of the Python process that began the run" in " ".join(elsewhere.stderr.split())


def test_a_measure_that_is_not_finite_breaks_the_episode(tmp_path: Path) -> None:
    class Endless(Toy):
        def measures(self) -> dict[str, float]:
            return {"reward": float("inf")}

    played = planbook.run(env=Endless, split="all:1", out=tmp_path / "run")
    assert played.episodes[0]["outcome"] == "broken"
    assert "Endless.measures (test_api.py:" in played.results.episodes[0].ending.message


def test_an_object_can_be_passed_as_the_model(tmp_path: Path) -> None:
    model = ScriptedModel(answer, name="clever")
    played = planbook.run(env="toy", planner="automanual", model=model, split="all:2", out=tmp_path / "run")
    assert played.episodes[0]["calls"] > 0
    assert played.results.run.config.models == {"default": "object:clever"}
    assert model.name == "clever"
    assert planbook.run(resume=tmp_path / "run", model=model).solved == played.solved
    with pytest.raises(UnknownModel, match="pass it again"):
        planbook.run(env="toy", planner="automanual", model="object:other", split="all:2")
    silent, folder = ScriptedModel([], name="silent"), tmp_path / "unfinished"
    with pytest.raises(
        ModelRefused, match=r"resume with: planbook\.run\(resume='.*/unfinished', \.\.\.\), with the same"
    ):
        planbook.run(env="toy", planner="automanual", model=silent, split="all:2", out=folder)


def press_ctrl_c_twice() -> None:
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)


def test_a_second_ctrl_c_ends_the_run_and_not_the_caller(tmp_path: Path) -> None:
    players, released, folder = list[threading.Thread](), threading.Event(), tmp_path / "run"

    class Hanging(Toy):
        def begin(self, task: Task) -> Observation:
            if not players:
                players.append(threading.current_thread())
                threading.Thread(target=press_ctrl_c_twice).start()
                released.wait(60)
            return super().begin(task)

    with pytest.raises(KeyboardInterrupt):
        planbook.run(env=Hanging, split="all:2", out=folder)
    resumed = planbook.run(env=Hanging, resume=folder)
    assert (resumed.solved, resumed.stopped) == (2, "")
    released.set()
    players[0].join(60)
    assert not players[0].is_alive()
    assert planbook.PlayedRun.read(folder).summary == resumed.summary


def test_signatures_list_every_setting_and_importing_planbook_loads_nothing() -> None:
    building = set(inspect.signature(planbook.build).parameters) - {"model", "verbose"}
    assert building == {name for name, field in Settings.model_fields.items() if option_of(name, field)}
    assert "tasks_per_type" not in inspect.signature(planbook.run).parameters
    code = "import sys, planbook; print([name for name in sys.modules if name.startswith(('planbook.', 'pydantic'))])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
    names = dict[str, object]()
    exec("from planbook import *", names)
    assert sorted(names.keys() - {"__builtins__"}) == ["PlayedRun", "build", "run", "test"]
