"""Environments are loaded by name or from a file."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from planbook.envs import (
    BadSelection,
    Environment,
    Goals,
    Selection,
    UnknownEnvironment,
    known_environments,
    load_environment,
)
from planbook.envs.registry import SHIPPED

ENVIRONMENT = '''
from planbook.envs import Environment, Observation, Selection, Task, Verdict, action

class Light(Environment):
    name = "light"
    types = ("on",)

    @classmethod
    def tasks(cls, selection, options=None):
        return [Task(id="on/0", env="light", split="all", type="on", goal="turn the light on")]

    def begin(self, task):
        self.on = False
        return Observation("It is dark.")

    @action()
    def press(self) -> Observation:
        """Press the switch."""
        self.on = True
        return Observation("It is bright.", terminated=True)

    def verdict(self):
        return Verdict(self.on, float(self.on))
'''


def test_a_selection_that_matches_no_task_is_refused_with_the_reason(tmp_path: Path) -> None:
    combining = """    splits = ("all", "both", "other")
    combined_splits = {"both": ("all", "other")}
    seeded = True
"""
    light_code = ENVIRONMENT.replace('    types = ("on",)\n', f'    types = ("on",)\n{combining}').replace(
        "goal=", "seed=1, goal="
    )
    (tmp_path / "light.py").write_text(light_code)
    (tmp_path / "dark.py").write_text(re.sub(r"return \[Task.*", "return []", ENVIRONMENT))
    (tmp_path / "fixed.py").write_text(ENVIRONMENT)
    light, dark, fixed = (load_environment(str(tmp_path / name)) for name in ("light.py", "dark.py", "fixed.py"))
    assert [task.id for task in light.select(Selection(split="both"))] == ["on/0"]
    for environment, selection, message in (
        (light, Selection(split="both", seeds=(7,)), "no task has one of the selected seeds; the lowest seed is 1"),
        (light, Selection(split="other"), "none of the tasks that it lists is in the split other; they are in all"),
        (light, Selection(ids=("on/3",)), "light has no task 'on/3'; the first is 'on/0'"),
        (dark, Selection(ids=("on/3",)), "light has no task 'on/3'$"),
        (fixed, Selection(seeds=(0, 1)), "the tasks of light are not made from seeds; leave out --seeds"),
    ):
        with pytest.raises(BadSelection, match=message):
            environment.select(selection)
    (tmp_path / "twice.py").write_text(re.sub(r"(return \[(Task.*) goal.*)\]", r"\1, \2 goal='again')]", ENVIRONMENT))
    twice = load_environment(str(tmp_path / "twice.py"))
    assert [task.goal for task in twice.select(Selection(ids=("on/0",)))] == ["turn the light on"]


def test_loading_an_environment_imports_no_other() -> None:
    code = "import sys, planbook.envs as envs; envs.load_environment('web'); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    parts = {name.split(".")[2] for name in modules if name.startswith("planbook.envs.")}
    assert parts & {*SHIPPED, "tools", "checking", "yaml_files"} == {"web"}


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_shipped_environment_is_documented_with_examples(name: str) -> None:
    environment = load_environment(name)
    assert environment.name == name
    assert name in known_environments()
    assert 2 <= environment.about.count(". ") + 1 <= 10
    assert "Nothing happens" in environment.about
    for spec in (*environment.actions.values(), *environment.queries.values()):
        call, result = spec.example.split(" -> ")
        assert call.startswith(f"agent.{spec.name}(")
        assert spec.doc
        assert result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise RuntimeError('boom')", "RuntimeError: boom$"),
        ("def broken(:", r"SyntaxError.* line 1\)$"),
        ("class X: pass", "no class derived from planbook.envs.Environment; .* write module: before the name"),
    ],
)
def test_a_file_without_an_environment_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "file.py").write_text(text)
    with pytest.raises(UnknownEnvironment, match=message):
        load_environment(f"{tmp_path}/file.py:X")


def test_named_tasks_must_be_in_the_named_split_and_are_played_once() -> None:
    textcraft = load_environment("textcraft")
    selection = Selection(ids=("test/11", "test/123", "test/11"), split="test")
    assert [task.id for task in textcraft.select(selection)] == ["test/11", "test/123"]
    assert [task.id for task in textcraft.select(selection.model_copy(update={"limit": 1}))] == ["test/11"]
    with pytest.raises(BadSelection, match="test/11 is in the split test, not in dev; leave out the split"):
        textcraft.select(selection.model_copy(update={"split": "dev"}))


def test_a_member_with_an_old_name_is_refused_with_the_new_name() -> None:
    with pytest.raises(TypeError, match=r"Old\.unjudged is now called unjudged_result; rename it"):
        type("Old", (Environment,), {"unjudged": lambda environment: ""})
    with pytest.raises(TypeError, match=r"Old\.times is now called with_count; rename it"):
        type("Old", (Goals,), {"times": lambda goals, goal, count: goal})
