"""The runs that cases begin from. Each is made once, and every case that names it gets a copy."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.blackbox.harness import HERE, ROOT, Case, Finished, named_runs, planbook, split_line
from tests.browser import need_browser

OLD = ROOT / "tests" / "runs_of_0_1_0"
MODELS = {name: f"scripted:{HERE}/files/models.py:{name}" for name in ("plans", "chats", "packs")}
PLACEHOLDERS: Mapping[str, object] = MappingProxyType(
    {
        **MODELS,
        "answer": f"scripted:{ROOT}/tests/toy_script.py:answer",
        "files": HERE / "files",
        "shipped": ROOT / "manuals",
    }
)


class RunShelf:
    """Named runs, and the other placeholders of command lines."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._placeholders = folder, dict(PLACEHOLDERS)

    def play(self, case: Case, tmp: Path) -> Finished:
        """Run the lines of a case in a fresh folder, and return the result of the last line."""
        for line in case.before:
            before = self.run(line, tmp)
            assert before.code == 0, before.printed
        return self.run(case.line, tmp, case.stdin)

    def run(self, line: str, tmp: Path, stdin: str = "") -> Finished:
        """Fill in the placeholders of a command line, and run it."""
        return planbook(*self.words(line, tmp), cwd=tmp, stdin=stdin)

    def words(self, line: str, tmp: Path) -> list[str]:
        """Copy each run that a command line names below a folder, and return the arguments."""
        copies = {name: self._copy(name, tmp) for name in self._named(line)}
        return split_line(line, {**self._placeholders, "tmp": tmp, **copies})

    def add_placeholder(self, name: str, value: str) -> None:
        """Add a placeholder for something that is not a run."""
        self._placeholders[name] = value

    def _named(self, line: str) -> list[str]:
        old = [f"old_{path.name}" for path in OLD.iterdir() if path.is_dir()]
        return [name for name in (*named_runs(), *old) if f"{{{name}}}" in line]

    def _copy(self, name: str, tmp: Path) -> Path:
        made = OLD / name.removeprefix("old_") if name.startswith("old_") else self._made(name)
        return tmp / name if (tmp / name).exists() else shutil.copytree(made, tmp / name)

    def _made(self, name: str) -> Path:
        folder = self._folder / name
        if not folder.exists():
            folder.mkdir()
            self.run(named_runs()[name], folder)
        assert (folder / name / "run.json").exists(), name
        return folder / name


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> RunShelf:
    """Return the runs of this suite."""
    return RunShelf(tmp_path_factory.mktemp("shelf"))


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove keys and servers from the environment, and set the width of the terminal."""
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def requirements(request: pytest.FixtureRequest, shelf: RunShelf) -> None:
    """Skip a case if a program that it needs is not installed, or start the server that it needs."""
    needs = request.getfixturevalue("case").needs
    if needs == "browser":
        need_browser()
    elif needs == "graphviz" and not shutil.which("dot"):
        pytest.skip("Graphviz is not installed")
    elif needs == "postgres":
        shelf.add_placeholder("postgres", request.getfixturevalue("postgres").database())
