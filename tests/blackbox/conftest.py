"""Runs that cases begin from: each is made once, and copied to whoever asks for it."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.blackbox.harness import HERE, ROOT, Case, Finished, named_runs, planbook, words
from tests.browser import need_browser

OLD = ROOT / "tests" / "runs_of_0_1_0"
MODELS = {name: f"scripted:{HERE}/files/models.py:{name}" for name in ("plans", "chats", "packs")}
PLACES: Mapping[str, object] = MappingProxyType(
    {
        **MODELS,
        "answer": f"scripted:{ROOT}/tests/toy_script.py:answer",
        "files": HERE / "files",
        "shipped": ROOT / "manuals",
    }
)


class Shelf:
    """Runs by name."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._places = folder, dict(PLACES)

    def play(self, case: Case, tmp: Path) -> Finished:
        """Run the lines of a case in a fresh folder, and return what came of the last."""
        for line in case.before:
            before = self.run(line, tmp)
            assert before.code == 0, before.printed
        return self.run(case.line, tmp, case.stdin)

    def run(self, line: str, tmp: Path, stdin: str = "") -> Finished:
        """Run one command line, its places filled in."""
        return planbook(*self.words(line, tmp), cwd=tmp, stdin=stdin)

    def words(self, line: str, tmp: Path) -> list[str]:
        """Return the arguments of a command line, a copy of each run that it names below a folder."""
        copies = {name: self._copy(name, tmp) for name in self._named(line)}
        return words(line, {**self._places, "tmp": tmp, **copies})

    def serve(self, name: str, place: str) -> None:
        """Give a name to something that is not a run."""
        self._places[name] = place

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
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Return the runs of this suite."""
    return Shelf(tmp_path_factory.mktemp("shelf"))


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no key and no server in the environment, and set how wide a terminal is."""
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def needed(request: pytest.FixtureRequest, shelf: Shelf) -> None:
    """Skip a case if what it needs is not installed, or start the server that it needs."""
    needs = request.getfixturevalue("case").needs
    if needs == "browser":
        need_browser()
    elif needs == "graphviz" and not shutil.which("dot"):
        pytest.skip("Graphviz is not installed")
    elif needs == "postgres":
        shelf.serve("postgres", request.getfixturevalue("postgres").database())
