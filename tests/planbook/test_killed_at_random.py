"""Processes are killed at random moments. A resumed run has the same events as an undisturbed one.

tests/killing.py says how to choose the number of kills and their moments.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.executing import command as replay_command, episodes_of
from tests.killing import SANDBOX_WORKER, SEED, RandomKills, number_of_kills, survive_in_all
from tests.openai_server import Messages, Server, serving
from tests.postgres import Server as Postgres
from tests.toy_script import served_answer

JOBS = 3
REPLY_SECONDS, ACTION_SECONDS = 0.08, 0.03
DURABLE = "-csynchronous_commit=on"
"""Without it, a PostgreSQL server whose backend is killed loses committed events."""
EXECUTORS = pytest.mark.parametrize("executor", ["threads", "processes"])


def slow_answer(messages: Messages) -> str:
    time.sleep(REPLY_SECONDS)
    return served_answer(messages)


@pytest.fixture(scope="module")
def model() -> Iterator[Server]:
    """A model server, which is never killed."""
    with serving(slow_answer) as server:
        yield server


def command(folder: Path, executor: str, *more: str) -> list[str]:
    asking = ("--planner", "automanual", "--model", "openai:served", "--jobs", JOBS, "--executor", executor)
    return ["run", *replay_command(folder, "--seeds", "0-7", *asking, *more, pause=ACTION_SECONDS)[1:]]


def variables(model: Server) -> dict[str, str]:
    return {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "key"}


class Undisturbed:
    """The events of a run in which no process is killed, and its number of calls."""

    def __init__(self, folder: Path, model: Server) -> None:
        played = RandomKills(command(folder, "threads"), folder / "output.txt", random.Random(0), variables(model))
        played.survive(0)
        self.history, self.calls = episodes_of(folder), len(model.requests)
        assert self.calls == sum(kind == "ask" for _, kind, *_ in self.history) > 30


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, model: Server) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"), model)


def survive(
    folder: Path,
    executor: str,
    kills: int,
    model: Server,
    undisturbed: Undisturbed,
    *more: str,
    **settings: Any,
) -> None:
    """Play runs until so many kills are survived; each has the events of the undisturbed run and repeats few calls."""
    rng = random.Random(f"{executor}/{more}/{SEED}")

    def begin(number: int) -> RandomKills:
        run_folder = folder / str(number)
        model.requests.clear()
        arguments = command(run_folder, executor, *more)
        return RandomKills(arguments, run_folder / "output.txt", rng, variables(model), **settings)

    def check(played: RandomKills) -> None:
        assert episodes_of(played.output.parent) == undisturbed.history, played.report()
        assert "Traceback" not in played.output.read_text(), played.report()
        repeated = JOBS * sum(blow.what != SANDBOX_WORKER for blow in played.blows)
        assert undisturbed.calls <= len(model.requests) <= undisturbed.calls + repeated, played.report()

    runs = survive_in_all(kills, begin, check)
    with (folder / "blows").open("w") as file:
        print(*(blow for played in runs for blow in played.blows), sep="\n", file=file)


@pytest.mark.deep
@EXECUTORS
def test_a_local_run_survives_kills(tmp_path: Path, executor: str, model: Server, undisturbed: Undisturbed) -> None:
    survive(tmp_path, executor, number_of_kills(16), model, undisturbed)


@pytest.mark.deep
@EXECUTORS
def test_a_run_survives_kills_of_its_database(
    tmp_path: Path,
    executor: str,
    model: Server,
    undisturbed: Undisturbed,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A PostgreSQL server that loses a backend drops every connection and then recovers."""
    assert postgres.process is not None
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    backends = frozenset({"backend"})
    monkeypatch.setenv("PGOPTIONS", DURABLE)
    store = ("--store", postgres.url)
    more: dict[str, Any] = {"more": [postgres.process.pid], "more_kinds": backends, "waits": backends}
    survive(tmp_path, executor, number_of_kills(6), model, undisturbed, *store, **more)


@pytest.mark.deep
def test_a_run_that_starts_its_own_ray_cluster_survives_kills(
    tmp_path: Path, model: Server, undisturbed: Undisturbed
) -> None:
    survive(tmp_path, "ray", number_of_kills(3), model, undisturbed)
