"""Every command that reads a run, on every kind of run: it works, or says in one line what to do."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from markupsafe import escape

from planbook import errors
from planbook.watching.following import Following, RunControl
from planbook.watching.pages import Pages
from tests.command import ROOT
from tests.executing import wait_until
from tests.flows import BUILD, here, scripted
from tests.planbook.export.test_importing import FOREIGN, written
from tests.planbook.graphs.test_graph_commands import SCRIPT

if TYPE_CHECKING:
    from tests.postgres import Server

TOY = ("--env", "toy", "--types", "fetch")
PLAY = ("run", "--planner", "automanual", *TOY, "--model", scripted())
DRIVE = ROOT / "tests" / "planner" / "graph" / "drive.yaml"

Kind = Callable[[Path], Path]


def done(*arguments: object, code: int = 0) -> None:
    finished = here(*arguments)
    assert finished.returncode == code, finished.printed


def a_played_run(home: Path) -> Path:
    done(*PLAY, "--seeds", "0-1", "--out", home / "played")
    return home / "played"


def a_building_run(home: Path) -> Path:
    done(*BUILD, "--types", "fetch", "--tasks-per-type", 1, "--out", home / "built")
    return home / "built"


def an_imported_run(home: Path) -> Path:
    done("export", a_played_run(home), "--out", home / "theirs.jsonl")
    done("import", home / "theirs.jsonl", "--out", home / "imported")
    return home / "imported"


def an_imported_run_of_an_environment_unknown_here(home: Path) -> Path:
    done("import", written(home / "x.jsonl", FOREIGN), "--out", home / "foreign")
    return home / "foreign"


def a_run_built_from_another(home: Path) -> Path:
    done("build", "--from", a_building_run(home), "--model", scripted(), "--out", home / "copy")
    return home / "copy"


def a_graph_run(home: Path) -> Path:
    script = home / "script.py"
    script.write_text(SCRIPT)
    asked = ("graph", "run", DRIVE, "--model", f"scripted:{script}:answer", "--out", home / "graph")
    done(*asked, "--set", "road=A bridge.")
    return home / "graph"


def an_unfinished_run(home: Path) -> Path:
    done(*PLAY, "--seeds", "0-3", "--budget", "calls=2", "--out", home / "unfinished", code=errors.OUT_OF_BUDGET)
    return home / "unfinished"


def a_run_that_never_began(home: Path) -> Path:
    done(*PLAY, "--seeds", "0-3", "--budget", "calls=0", "--out", home / "begun", code=errors.OUT_OF_BUDGET)
    return home / "begun"


def an_empty_folder(home: Path) -> Path:
    (home / "empty").mkdir()
    return home / "empty"


def a_folder_of_something_else(home: Path) -> Path:
    (home / "else").mkdir()
    (home / "else" / "run.json").write_text('{"jobs": 3}')
    return home / "else"


def a_run_that_lost_its_store(home: Path) -> Path:
    folder = a_played_run(home)
    (folder / "run.db").unlink()
    return folder


def a_run_with_a_store_that_is_none(home: Path) -> Path:
    folder = a_played_run(home)
    (folder / "run.db").write_bytes(b"not a database at all, and long enough to be looked at as one" * 20)
    return folder


KINDS: tuple[Kind, ...] = (
    a_played_run,
    a_building_run,
    an_imported_run,
    an_imported_run_of_an_environment_unknown_here,
    a_run_built_from_another,
    a_graph_run,
    an_unfinished_run,
    a_run_that_never_began,
    an_empty_folder,
    a_folder_of_something_else,
    a_run_that_lost_its_store,
    a_run_with_a_store_that_is_none,
)
READERS: Mapping[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "show": lambda run, home: ("show", run, 0),
    "show --json": lambda run, home: ("show", run, 0, "--json"),
    "stats": lambda run, home: ("stats", run),
    "compare": lambda run, home: ("compare", run, home / "beside"),
    "export": lambda run, home: ("export", run, "--all", "--out", home / "out.jsonl"),
    "export chat": lambda run, home: ("export", run, "--format", "chat", "--out", home / "out.chat"),
    "report": lambda run, home: ("report", run, "--out", home / "out.html"),
    "cost": lambda run, home: ("cost", run),
    "rules": lambda run, home: ("rules", run),
    "rules log": lambda run, home: ("rules", run, "log"),
    "rules coverage": lambda run, home: ("rules", run, "coverage"),
    "replay": lambda run, home: ("replay", run),
    "rerun": lambda run, home: ("rerun", run, "--out", home / "again"),
}
"""A command on a run; the folder has a copy of the run, and room for what is written."""


class Refused(NamedTuple):
    """What is said, and the exit code."""

    message: str
    code: int = errors.BAD_INPUT


NOT_BUILT = Refused("is not a building run")
NO_RULES = dict.fromkeys(("cost", "rules", "rules log", "rules coverage"), NOT_BUILT)
REFUSED: Mapping[str, Mapping[str, Refused]] = {
    "a_played_run": NO_RULES,
    "a_building_run": {},
    "an_imported_run": {
        **NO_RULES,
        "replay": Refused("replay the run they come from"),
        "rerun": Refused("repeat the run that it was exported from"),
    },
    "an_imported_run_of_an_environment_unknown_here": {
        **NO_RULES,
        "replay": Refused("replay the run they come from"),
        "rerun": Refused("repeat the run that it was exported from"),
    },
    "a_run_built_from_another": {"replay": Refused("replay the run they come from")},
    "a_graph_run": {
        name: Refused("`planbook graph run --out` continues them")
        for name in READERS
        if not name.startswith(("show", "report"))
    },
    "an_unfinished_run": {**NO_RULES, "rerun": Refused("Stopped", errors.OUT_OF_BUDGET)},
    "a_run_that_never_began": {**NO_RULES, "rerun": Refused("Stopped", errors.OUT_OF_BUDGET)},
    "an_empty_folder": {
        **dict.fromkeys(READERS, Refused("there is no run.json; name the folder of one")),
        "stats": Refused("holds no run, and none lies below it"),
    },
    "a_folder_of_something_else": dict.fromkeys(READERS, Refused("is not that of a run, or is from a later planbook")),
    "a_run_that_lost_its_store": dict.fromkeys(
        READERS, Refused("there is no run.db, which has its events; put it back")
    ),
    "a_run_with_a_store_that_is_none": dict.fromkeys(READERS, Refused("cannot be used as a run's store")),
}
"""By the kind of run what does not work; everything else does."""
ONLY_TOLD = {"stats": "Left out: "}
"""Commands that go on without a run that cannot be read; with no other run they end with a line of their own."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A run of each kind."""
    return {kind.__name__: kind(tmp_path_factory.mktemp("runs")) for kind in KINDS}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", REFUSED)
def test_it_works_or_says_what_to_do(kind: str, reader: str, runs: Mapping[str, Path], tmp_path: Path) -> None:
    if reader == "compare":
        shutil.copytree(runs[kind], tmp_path / "beside")
    finished = here(*READERS[reader](runs[kind], tmp_path))
    refused = REFUSED[kind].get(reader)
    if refused is None:
        assert finished.returncode == errors.OK, finished.printed
        assert finished.stdout or finished.stderr
        return
    assert finished.returncode == refused.code, finished.printed
    assert refused.message in finished.printed
    if refused.code == errors.BAD_INPUT:
        lines = finished.stderr.splitlines()
        assert [line.startswith("planbook: ") for line in lines] == [False] * (len(lines) - 1) + [True]
        assert len(lines) == (2 if reader in ONLY_TOLD else 1)


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if "compare" not in REFUSED[kind]])
def test_whatever_can_be_read_can_be_watched(kind: str, runs: Mapping[str, Path]) -> None:
    with watching(runs[kind]) as (following, pages):
        assert following.entries
        assert escape(following.run.config.planner) in pages.page()
        assert "state" in pages.news(0)[1]
        assert pages.document(0)["parts"]


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if "compare" in REFUSED[kind]])
def test_what_cannot_be_read_is_not_watched(kind: str, runs: Mapping[str, Path]) -> None:
    finished = here("watch", runs[kind], "--no-browser")
    assert (finished.returncode, finished.stderr.count("\n")) == (errors.BAD_INPUT, 1), finished.printed
    assert REFUSED[kind]["compare"].message in finished.printed


@contextmanager
def watching(folder: Path) -> Iterator[tuple[Following, Pages]]:
    """What `planbook watch` serves of a run."""
    following = Following(folder)
    with closing(following.run):
        yield following, Pages(following, RunControl(following))


@pytest.mark.parametrize(
    ("written", "instead", "problem"),
    [
        ("", "", "Stopped: "),
        pytest.param('"automanual"', '"no-such-method"', "no-such-method", marks=pytest.mark.deep),
    ],
    ids=["out of budget", "unknown method"],
)
def test_watching_says_why_a_run_could_not_be_resumed(tmp_path: Path, written: str, instead: str, problem: str) -> None:
    folder = an_unfinished_run(tmp_path)
    file = folder / "run.json"
    file.write_text(file.read_text().replace(written, instead) if written else file.read_text())
    with watching(folder) as (following, pages):
        following.catch_up()
        pages._control.ask("go on")
        wait_until(lambda: problem in pages.news(0)[1]["state"]["problem"])
        assert pages._control.doing == "stopped"


def in_postgres(home: Path, url: str) -> Path:
    done(*PLAY, "--seeds", "0-1", "--out", home / "postgres", "--store", url)
    return home / "postgres"


POSTGRES_READERS = ("show", "stats", "compare", "export", "report", "replay", "rerun")


def test_a_run_in_postgresql_is_read_with_the_password_of_the_surroundings(
    tmp_path: Path, postgres: "Server", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of PGPASSWORD, or out of the file that libpq reads."""
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    folder = in_postgres(tmp_path, postgres.url)
    shutil.copytree(folder, tmp_path / "beside")
    for reader in (*POSTGRES_READERS, "watch"):
        asked = READERS[reader](folder, tmp_path) if reader != "watch" else ("watch", folder, "--no-browser")
        finished = here(*asked)
        assert finished.returncode == errors.BAD_INPUT, finished.printed
        assert "it asks for a password: set PGPASSWORD, or write it into ~/.pgpass" in finished.printed
        assert "Traceback" not in finished.printed
    secret = tmp_path / "pgpass"
    secret.write_text(f"127.0.0.1:{postgres.port}:*:*:{postgres.password}\n")
    secret.chmod(0o600)
    ways = (("PGPASSFILE", str(secret), ("show",)), ("PGPASSWORD", postgres.password, POSTGRES_READERS))
    for name, value, readers in ways:
        monkeypatch.setenv(name, value)
        home = tmp_path / name
        home.mkdir()
        shutil.copytree(folder, home / "beside")
        for reader in readers:
            finished = here(*READERS[reader](folder, home))
            assert finished.returncode == errors.OK, finished.printed
        with watching(folder) as (_, pages):
            assert pages.document(1)
        monkeypatch.setenv("PGPASSFILE", "/nowhere")


@pytest.mark.deep
def test_a_run_in_postgresql_is_resumed_from_watching(
    tmp_path: Path, postgres: "Server", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    folder = tmp_path / "run"
    limited = ("--budget", "actions=3", "--out", folder, "--store", postgres.url)
    done("run", "--planner", "procedures", *TOY, "--seeds", "0-1", *limited, code=errors.OUT_OF_BUDGET)
    file = folder / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"budget": {}}))
    with watching(folder) as (following, pages):
        following.catch_up()
        pages._control.ask("go on")
        wait_until(lambda: "over" in pages.news(0)[1]["title"])
        assert following.ended == 2
