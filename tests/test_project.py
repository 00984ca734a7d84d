"""What holds for the project as a whole."""

import importlib
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from planbook import PACKAGES
from tests.shelf import write_shelf

ROOT = Path(__file__).parents[1]
HIDING = ("envs/__init__.py", "rules/__init__.py", "sandbox.py", "planner.py", "manuals.py")
"""Files of a user's project that have the names of our folders."""


def test_imports_follow_the_way_of_the_data() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    checked = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("name", [*PACKAGES, "sandbox.reading"])
def test_the_public_surface_is_sorted_and_real(name: str) -> None:
    package = importlib.import_module(f"planbook.{name}")
    assert package.__all__ == sorted(package.__all__, key=order)
    assert all(hasattr(package, each) for each in package.__all__)


def order(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then functions, as the linter sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_no_module_is_loaded_under_two_names() -> None:
    code = (
        "import sys; sys.argv = 'planbook replay --env toy --split all:2 --out'.split() + sys.argv[1:2]\n"
        "from planbook.cli import main\n"
        "try: main()\n"
        "except SystemExit as ended: assert not ended.code, ended.code\n"
        "import os, collections\n"
        "files = [os.path.realpath(m.__file__) for m in [*sys.modules.values()] if getattr(m, '__file__', None)]\n"
        "print([f for f, n in collections.Counter(files).items() if n > 1 and f.startswith(sys.argv[2])])\n"
    )
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code.replace("sys.argv[2]", repr(str(ROOT))), f"{folder}/run"]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert told.stdout.splitlines()[-1] == "[]", told.stdout + told.stderr


@pytest.mark.parametrize("name", PACKAGES)
def test_a_folder_of_the_repository_is_no_package_by_itself(name: str) -> None:
    told = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True)
    assert f"import planbook.{name}" in told.stderr


@pytest.mark.slow
def test_the_wheel_does_the_main_job_from_an_empty_folder(tmp_path: Path) -> None:
    """Built from a copy of the tree and installed into a fresh environment; the dependencies are those of this one."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("planbook", "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(build, cwd=tree, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "planbook/manuals/alfworld/procedures/pick_and_place.py" in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"planbook"}

    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    (site,) = environment.glob("lib/python*/site-packages")
    dependencies = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "dependencies.pth").write_text(f"{dependencies}\n")

    project = tmp_path / "project"
    for name in HIDING:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("")
    write_shelf(project)
    own = (project / "shelf.py").read_text()
    (project / "shelf.py").write_text(f"import rules\n{own}")
    (project / "old.py").write_text(own.replace("planbook.envs", "envs"))
    (project / "plan.py").write_text("agent.look()\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(environment / "bin" / "planbook"), *arguments, "--json"]
        return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120)

    done = run("replay", "--env", "alfworld", "--split", "generated:12")
    assert done.returncode == 0, done.stderr
    assert '"solved":12' in done.stdout
    done = run("exec", "plan.py", "--env", "shelf.py", "--task", "look/0")
    assert done.returncode == 0, done.stderr
    assert '"solved":1' in done.stdout
    done = run("exec", "plan.py", "--env", "old.py", "--task", "look/0")
    assert done.returncode == 2
    assert "planbook's envs is imported as planbook.envs" in " ".join(done.stderr.split())
