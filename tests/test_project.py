"""The packages, their imports, and the distributions that users install."""

import ast
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from packaging.requirements import Requirement

from planbook import PACKAGES
from tests.command import ForkServer
from tests.shelf import write_shelf

ROOT = Path(__file__).parents[1]
SHADOWING_FILES = ("envs/__init__.py", "rules/__init__.py", "sandbox.py", "planner.py", "manuals.py")
"""Files in a user's project that have the same names as our packages."""


DOCUMENTED_FOLDERS = [ROOT / name for name in PACKAGES if name != "planbook"] + [
    path.parent for path in sorted((ROOT / "planbook").glob("*/__init__.py")) if path.parent.name not in PACKAGES
]


@pytest.mark.parametrize("folder", DOCUMENTED_FOLDERS, ids=lambda folder: folder.name)
def test_the_docstring_of_a_package_names_all_its_modules(folder: Path) -> None:
    tree = ast.parse((folder / "__init__.py").read_text())
    named = set(re.findall(r"``([a-z_]+)``", ast.get_docstring(tree) or ""))
    own, siblings = ({path.stem for path in place.glob("*.py")} - {"__init__"} for place in (folder, folder.parent))
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert own <= named
    assert named <= own | packages | siblings


def test_no_module_is_loaded_under_two_names() -> None:
    code = (
        "import sys; sys.argv = 'planbook run --env toy --split all:2 --out'.split() + sys.argv[1:2]\n"
        "from planbook.cli import main\n"
        "try: main()\n"
        "except SystemExit as ended: assert not ended.code, ended.code\n"
        "import os, collections\n"
        "files = [os.path.realpath(m.__file__) for m in [*sys.modules.values()] if getattr(m, '__file__', None)]\n"
        "print([f for f, n in collections.Counter(files).items() if n > 1 and f.startswith(sys.argv[2])])\n"
    )
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code.replace("sys.argv[2]", repr(str(ROOT))), f"{folder}/run"]
        finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert finished.stdout.splitlines()[-1] == "[]", finished.stdout + finished.stderr


@pytest.mark.parametrize("name", PACKAGES)
def test_a_folder_of_the_repository_cannot_be_imported_by_its_own_name(name: str) -> None:
    finished = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True)
    assert f"import planbook.{name}" in finished.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and the source distribution; return their folder."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True, capture_output=True
    )
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def direct_requirements(package: str) -> Iterator[str]:
    """Yield the packages that a package requires on this machine if no extra is chosen."""
    for line in metadata.requires(package) or ():
        requirement = Requirement(line)
        if requirement.name != "editables" and (
            requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        ):
            yield requirement.name.lower().replace("_", "-")


def closure(package: str) -> set[str]:
    """Return all packages that a package requires, directly or indirectly."""
    found, todo = set[str](), [package]
    while todo:
        for name in direct_requirements(todo.pop()):
            if name not in found:
                found.add(name)
                todo.append(name)
    return found


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a virtual environment that has only the wheel and the packages that it requires."""
    environment = tmp_path_factory.mktemp("core")
    venv.create(environment, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    for package in closure("planbook"):
        for top in {file.parts[0] for file in metadata.files(package) or () if ".." not in file.parts}:
            if not (site / top).exists():
                (site / top).symlink_to(str(metadata.distribution(package).locate_file(top)))
    return environment / "bin" / "python"


def test_the_wheel_is_one_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "planbook/manuals/alfworld/procedures/household.py" in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"planbook"}


def test_the_source_distribution_has_the_same_package(wheel: Path, built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    built_files = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("planbook/")}
    assert {name for name in packed if name.startswith("planbook/")} == built_files


def test_the_core_is_light(wheel: Path) -> None:
    packages = closure("planbook")
    files = [file for package in packages for file in metadata.files(package) or () if file.suffix != ".pyc"]
    size = sum(path.stat().st_size for file in files if (path := Path(file.locate())).is_file())
    size += sum(info.file_size for info in zipfile.ZipFile(wheel).infolist())
    assert len(packages) < 30, "together with planbook itself, that makes 30"
    assert not packages & {"numpy", "pyarrow", "scipy", "scikit-learn", "selenium", "alfworld", "textworld"}
    assert size <= 120e6


def test_the_core_works_in_a_project_that_has_modules_of_the_same_names(core: Path, tmp_path: Path) -> None:
    for name in SHADOWING_FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    write_shelf(tmp_path)
    own = (tmp_path / "shelf.py").read_text()
    (tmp_path / "shelf.py").write_text(f"import rules\n{own}")
    (tmp_path / "old.py").write_text(own.replace("planbook.envs", "envs"))
    (tmp_path / "plan.py").write_text("agent.look()\n")

    alone = {"PATH": "/usr/bin:/bin", "PYTHONSAFEPATH": "1"}
    done = subprocess.run([core, "-m", "planbook", "envs"], cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert "seccomp" in done.stdout, done.stderr
    planbook = ForkServer(core, alone)

    def run(line: str, code: int = 0) -> str:
        done = planbook.run(*line.split(), cwd=tmp_path, env=alone)
        assert done.returncode == code, done.stderr + done.stdout
        return " ".join((done.stdout + done.stderr).split())

    assert '"solved":1' in run("exec plan.py --env shelf.py --task look/0 --json")
    assert "planbook's envs is imported as planbook.envs" in run("exec plan.py --env old.py --task look/0", 2)
    assert "unknown-action" in run("check plan.py --env toy", 2)
    assert '"solved":8' in run(
        "run --planner deps --env minecraft --split table21:8 --model recorded:deps-minecraft --out runs/a --json"
    )
    assert '"solved":8' in run("run --env minecraft --split table21:8 --out runs/b --json")
    for env in ("shopping", "tabletop", "toy"):
        assert '"solved":2' in run(f"run --env {env} --split all:2 --json".replace("all", SPLIT.get(env, "all")))
    run("compare runs/a runs/b")
    run("report runs/a")
    page = (tmp_path / "runs" / "a" / "report.html").read_text()
    assert "8 of 8" in page
    for line in (
        "run --env alfworld --split generated:1",
        "run --env crafter",
        "run --env textcraft",
        "run --env miniwob",
        "run --env web",
        "export runs/a --out x.parquet",
        "run --env toy --executor ray",
        "run --env toy --store postgresql://nobody@127.0.0.1/none",
    ):
        assert f"{core} -m pip install" in run(line, 3), line


SPLIT = {"shopping": "test", "tabletop": "test"}


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted name of every object and module that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (f"{alias.name}." for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_module(package: str, name: str) -> bool:
    return (ROOT / package / f"{name}.py").exists() or (ROOT / package / name).is_dir()


@pytest.mark.parametrize("importer", [*PACKAGES, "planbook"])
def test_packages_import_from_each_other_by_their_public_surface_only(importer: str) -> None:
    found = []
    for path in [*(ROOT / importer).glob("*.py"), *(ROOT / importer).glob("[!_]*/*.py")]:
        for name in imported(path):
            top, package, *names = [*name.split("."), ""][:4]
            other = top == "planbook" and package in PACKAGES and package not in path.relative_to(ROOT).parts
            if other and (len(name.split(".")) > 3 or is_module(package, names[0])):
                found.append(f"{path.relative_to(ROOT)}: {name}")
    assert not found, found
