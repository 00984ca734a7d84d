"""What holds for the project as a whole."""

import importlib
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("envs", "manuals", "planbook", "planner", "rules", "sandbox")


def test_imports_follow_the_way_of_the_data() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    checked = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("name", ["envs", "manuals", "planner", "rules", "sandbox", "sandbox.reading"])
def test_the_public_surface_is_sorted_and_real(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__all__ == sorted(package.__all__, key=order)
    assert all(hasattr(package, each) for each in package.__all__)


def order(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then functions, as the linter sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_a_package_of_the_users_that_hides_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("mine = True\n")
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import planbook"
    hidden = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert hidden.returncode == 1
    assert str(tmp_path / "rules.py") in hidden.stderr
    assert "environment of its own" in hidden.stderr


@pytest.mark.slow
def test_the_wheel_does_the_main_job_from_an_empty_folder(tmp_path: Path) -> None:
    """Built from a copy of the tree and installed into a fresh environment; the dependencies are those of this one."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in (*PACKAGES, "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(build, cwd=tree, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "manuals/alfworld/procedures/pick_and_place.py" in names
    assert not [name for name in names if name.startswith("tests")]

    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    (site,) = environment.glob("lib/python*/site-packages")
    dependencies = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "dependencies.pth").write_text(f"{dependencies}\n")

    empty = tmp_path / "empty"
    empty.mkdir()
    command = [
        str(environment / "bin" / "planbook"),
        "replay",
        "--env",
        "alfworld",
        "--split",
        "generated:12",
        "--json",
    ]
    done = subprocess.run(command, cwd=empty, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert '"solved":12' in done.stdout
    assert [path.name for path in empty.iterdir()] == ["runs"]
