"""Every command that reads a run, on every kind of run: it works, or says in one line what the user can do."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from markupsafe import escape

from planbook import errors
from planbook.watch_server import FollowedRun
from tests.command import ROOT, planbook
from tests.flows import BUILD, invoke, refusal, scripted, succeed

if TYPE_CHECKING:
    from tests.postgres import Server

TOY = ("--env", "toy", "--types", "fetch")
PLAY = ("run", "--planner", "automanual", *TOY, "--model", scripted())
FILES = ROOT / "tests" / "blackbox" / "files"


def run(*arguments: object, out: Path, code: int = errors.OK) -> Path:
    """Run a command that writes to ``out``, and return ``out``."""
    finished = invoke(*arguments, "--out", out)
    assert finished.returncode == code, finished.printed
    return out


def played(home: Path) -> Path:
    return run(*PLAY, "--seeds", "0-1", out=home / "played")


def building(home: Path) -> Path:
    return run(*BUILD, "--types", "fetch", "--tasks-per-type", 1, out=home / "built")


def imported(home: Path) -> Path:
    """Import episodes of an environment and a planner that planbook does not know."""
    file = run("export", played(home), out=home / "episodes.jsonl")
    episodes = [json.loads(line) for line in file.read_text().splitlines()]
    for episode in episodes:
        episode["task"]["env"], episode["run"] = "elsewhere", {"planner": "somebody's own"}
    file.write_text("".join(f"{json.dumps(episode)}\n" for episode in episodes))
    return run("import", file, out=home / "imported")


def built_from_another(home: Path) -> Path:
    return run("build", "--from", building(home), "--model", scripted(), out=home / "copy")


def graph(home: Path) -> Path:
    model = ("--model", f"scripted:{FILES / 'models.py'}:packs")
    return run("graph", "run", FILES / "trip.yaml", *model, "--set", "forecast=rain", out=home / "graph")


def unfinished(home: Path, calls: int = 2) -> Path:
    budget = ("--budget", f"calls={calls}")
    return run(*PLAY, "--seeds", "0-3", *budget, out=home / "unfinished", code=errors.OUT_OF_BUDGET)


def not_begun(home: Path) -> Path:
    return unfinished(home, 0)


def an_empty_folder(home: Path) -> Path:
    return home


def another_folder(home: Path) -> Path:
    (home / "run.json").write_text('{"jobs": 3}')
    return home


def without_store(home: Path) -> Path:
    folder = played(home)
    (folder / "run.db").unlink()
    return folder


def with_broken_store(home: Path) -> Path:
    folder = played(home)
    (folder / "run.db").write_bytes(b"not a database at all, and long enough to be looked at as one" * 20)
    return folder


READERS: Mapping[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "show": lambda run, home: ("show", run, 0),
    "show --json": lambda run, home: ("show", run, 0, "--json"),
    "stats": lambda run, home: ("stats", run),
    "compare": lambda run, home: ("compare", run, home / "beside"),
    "export": lambda run, home: ("export", run, "--all", "--out", home / "out.jsonl"),
    "export chat": lambda run, home: ("export", run, "--format", "chat", "--out", home / "out.chat"),
    "report": lambda run, home: ("report", run, "--out", home / "out.html"),
    "rules": lambda run, home: ("rules", run),
    "rules log": lambda run, home: ("rules", run, "log"),
    "rules coverage": lambda run, home: ("rules", run, "coverage"),
    "replay": lambda run, home: ("replay", run),
    "rerun": lambda run, home: ("rerun", run, "--out", home / "again"),
}
"""Maps each command to its arguments. ``home`` holds a copy of the run in `beside`, and receives the output."""


class ExpectedRefusal(NamedTuple):
    """The message and the exit code of a command that refuses a run."""

    message: str
    code: int = errors.BAD_INPUT


NO_RULES = dict.fromkeys(("rules", "rules log", "rules coverage"), ExpectedRefusal("is not a run of `planbook build`"))
COPIED = ExpectedRefusal("replay the run they come from")
OVER_BUDGET = ExpectedRefusal("Stopped", errors.OUT_OF_BUDGET)
GRAPH = ExpectedRefusal("continue them with `planbook graph run --out`")
REFUSED: Mapping[Callable[[Path], Path], Mapping[str, ExpectedRefusal]] = {
    played: NO_RULES,
    building: {},
    imported: {**NO_RULES, "replay": COPIED, "rerun": ExpectedRefusal("repeat the run that it was exported from")},
    built_from_another: {"replay": COPIED},
    graph: {name: GRAPH for name in READERS if not name.startswith(("show", "report"))},
    unfinished: {**NO_RULES, "rerun": OVER_BUDGET},
    not_begun: {**NO_RULES, "rerun": OVER_BUDGET},
    an_empty_folder: {
        **dict.fromkeys(READERS, ExpectedRefusal("there is no run.json; name the folder of a run")),
        "stats": ExpectedRefusal("there is no run in"),
    },
    another_folder: dict.fromkeys(READERS, ExpectedRefusal("is not the run.json of a run, or was written by another")),
    without_store: dict.fromkeys(
        READERS, ExpectedRefusal("there is no run.db, which would hold its events; restore it")
    ),
    with_broken_store: dict.fromkeys(READERS, ExpectedRefusal("cannot be used as a run's store")),
}
"""Maps each kind of run to the commands that refuse it. All other commands work."""
KINDS = {kind.__name__: refused for kind, refused in REFUSED.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A run of each kind."""
    return {kind.__name__: kind(tmp_path_factory.mktemp("runs")) for kind in REFUSED}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_works_or_says_what_to_do(kind: str, reader: str, runs: Mapping[str, Path], tmp_path: Path) -> None:
    if reader == "compare":
        shutil.copytree(runs[kind], tmp_path / "beside")
    finished = invoke(*READERS[reader](runs[kind], tmp_path))
    refused = KINDS[kind].get(reader)
    if refused is None:
        assert finished.returncode == errors.OK, finished.printed
        assert finished.stdout or finished.stderr
        return
    assert finished.returncode == refused.code, finished.printed
    assert refused.message in finished.printed
    if refused.code == errors.BAD_INPUT:
        lines = finished.stderr.splitlines()
        assert [line.startswith("planbook: ") for line in lines] == [False] * (len(lines) - 1) + [True]
        assert len(lines) == (2 if reader == "stats" else 1), "stats first says which runs it leaves out"


def test_reading_a_strangers_run_executes_no_code_that_it_names(runs: Mapping[str, Path], tmp_path: Path) -> None:
    executed = tmp_path / "executed"
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(executed)!r}, 'w')\ndef f(answer, database):\n    return answer\n")
    hooked = {
        "text": "code: a\nnodes: {a: {prompt: x, expect: code, check: 'evil.py:f'}}",
        "graph": f"{tmp_path}/g.yaml",
    }
    begun = "DELETE FROM event WHERE kind = 'learned'"
    for number, (env, planner, options, edit) in enumerate(
        [
            (str(evil), f"{evil}:plan", {}, begun),
            (f"/nowhere/{evil.name}", f"/nowhere/{evil.name}", {}, ""),
            (f"mcp:touch {executed}", "agentkit", hooked, begun),
            (f"module:{evil}", "automanual", {}, ""),
        ]
    ):
        folder = tmp_path / str(number)
        shutil.copytree(runs["building"], folder)
        shutil.copytree(runs["building"], tmp_path / "beside", dirs_exist_ok=True)
        file = json.loads((folder / "run.json").read_text())
        file["config"] |= {"env": env, "planner": planner, "planner_options": options}
        (folder / "run.json").write_text(json.dumps(file))
        with closing(sqlite3.connect(folder / "run.db")) as store, store:
            store.execute(edit)
            store.execute("UPDATE event SET body = json_set(body, '$.task.env', ?) WHERE kind = 'task'", (env,))
        for name, reader in READERS.items():
            if name not in ("replay", "rerun"):
                finished = invoke(*reader(folder, tmp_path))
                assert "Traceback" not in finished.printed, finished.printed
                assert not executed.exists(), (name, env)
        with closing(FollowedRun(folder)) as following:
            assert following.update_since(0)
            assert following.document(0)
        (copy := tmp_path / "out.jsonl").unlink()
        for out in (copy, tmp_path / "imported" / str(number)):
            command = ("export", folder, "--out", out) if out == copy else ("import", copy, "--out", out)
            succeed(*command)
        succeed("report", out)
        for source in (copy, out):
            assert "name it with --env" in invoke("build", "--from", source, "--model", scripted()).printed
        assert invoke("run", "--env", "toy", "--library", folder, "--planner", "procedures").returncode != errors.BROKEN
        assert not executed.exists(), env


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_can_be_watched_if_it_can_be_read(kind: str, runs: Mapping[str, Path]) -> None:
    if refused := KINDS[kind].get("compare"):
        finished = invoke("watch", runs[kind], "--no-browser")
        assert (finished.returncode, finished.stderr.count("\n")) == (errors.BAD_INPUT, 1), finished.printed
        assert refused.message in finished.printed
        return
    with closing(FollowedRun(runs[kind])) as following:
        assert escape(following.run.config.planner) in following.page()
        assert following.update_since(0)["state"]["total"]
        assert following.document(0)["parts"]


def test_a_run_in_postgresql_is_read_with_the_password_of_libpq(
    tmp_path: Path, postgres: "Server", monkeypatch: pytest.MonkeyPatch
) -> None:
    """The password is read from PGPASSWORD, or from the file that PGPASSFILE names."""
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    folder = tmp_path / "postgres"
    played = planbook(*PLAY, "--seeds", "0-1", "--store", postgres.url, "--out", folder)  # in another process
    assert played.returncode == errors.OK, played.stderr
    shutil.copytree(folder, tmp_path / "beside")
    for command in (("show", folder, 0), ("watch", folder, "--no-browser")):
        refused = planbook(*command)  # this process may know the password from another test
        assert refused.returncode == errors.BAD_INPUT
        assert "check server, database and PGPASSWORD" in " ".join(refused.stderr.split())
    secret = tmp_path / "pgpass"
    secret.write_text(f"127.0.0.1:{postgres.port}:*:*:{postgres.password}\n")
    secret.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(secret))
    succeed("show", folder, 0)
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    for reader in ("show", "stats", "compare", "export", "report", "replay", "rerun"):
        succeed(*READERS[reader](folder, tmp_path))
    with closing(FollowedRun(folder)) as following:
        assert following.document(1)


@pytest.mark.parametrize("url", ["0.0.0.0:9/d", "localhost:9/d?hostaddr=0.0.0.0", ":9/d?host=/tmp,0.0.0.0"])
def test_a_remote_server_that_only_run_json_names_is_not_contacted(
    url: str, runs: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.delenv("PGHOST", raising=False)
    folder = Path(shutil.copytree(runs["played"], tmp_path / "run"))
    file = json.loads((folder / "run.json").read_text())
    place = {"url": f"postgresql://someone@{url}", "schema": "planbook"}
    (folder / "run.json").write_text(json.dumps({**file, "store": place}))
    for reader in ("show", "report", "export", "replay"):
        assert "if you trust it, set PGHOST=0.0.0.0" in refusal(*READERS[reader](folder, tmp_path))
    monkeypatch.setenv("PGHOST", "0.0.0.0")
    assert "cannot be read or written" in invoke("show", folder, 0).printed
