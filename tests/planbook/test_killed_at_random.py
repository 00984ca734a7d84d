"""kill -9 of anybody at random moments: after a resume the store equals that of a run that nobody disturbed.

See tests/killing.py for how to survive more moments than these, and others.
"""

import os
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.executing import ENVIRONMENT, episodes_of
from tests.killing import SANDBOXED, SEED, RandomKills, number_of_kills, survive_in_all
from tests.openai_server import Messages, Server, serving
from tests.postgres import Server as Postgres
from tests.toy_script import served_answer

JOBS = 3
THINKS = 0.08
"""Seconds that the model takes for an answer."""
ACTS = 0.03
"""Seconds that an action takes."""
DURABLE = "options=-csynchronous_commit%3Don"
"""Else a server whose backend is killed forgets what it has said is committed."""


def thinking(messages: Messages) -> str:
    time.sleep(THINKS)
    return served_answer(messages)


@pytest.fixture(scope="module")
def model() -> Iterator[Server]:
    """A model's server, which is not hit."""
    with serving(thinking) as server:
        yield server


def command(folder: Path, executor: str, *more: str) -> list[str]:
    begun = folder / "begun"
    begun.mkdir(parents=True, exist_ok=True)
    environment = ["--env", ENVIRONMENT, "-o", f"folder={begun}", "-o", f"pause={ACTS}", "--seeds", "0-7"]
    asked = ["run", *environment, "--planner", "automanual", "--model", "openai:served", "--jobs", str(JOBS)]
    return [*asked, "--executor", executor, *more, "--out", str(folder / "run")]


def environment(model: Server) -> dict[str, str]:
    return {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "key"}


class Undisturbed:
    """What happens when nobody is killed, and how many calls that takes."""

    def __init__(self, folder: Path, model: Server) -> None:
        played = RandomKills(command(folder, "threads"), folder / "output.txt", random.Random(0), environment(model))
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
    env: Mapping[str, str] = {},
    **settings: Any,
) -> None:
    """So many blows; after each run its store is that of the undisturbed one, and hardly a call was made twice."""
    dice = random.Random(f"{executor}/{more}/{SEED}")

    def begin(number: int) -> RandomKills:
        place = folder / str(number)
        model.requests.clear()
        asked = command(place, executor, *more)
        return RandomKills(asked, place / "output.txt", dice, {**environment(model), **env}, **settings)

    def check(played: RandomKills) -> None:
        place = played.output.parent
        assert episodes_of(place) == undisturbed.history, played.report()
        assert "Traceback" not in played.output.read_text(), played.report()
        again = JOBS * sum(blow.what != SANDBOXED for blow in played.blows)
        assert undisturbed.calls <= len(model.requests) <= undisturbed.calls + again, played.report()

    runs = survive_in_all(kills, begin, check)
    with (folder / "blows").open("w") as file:
        print(*(blow for played in runs for blow in played.blows), sep="\n", file=file)


@pytest.mark.deep
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_run_on_this_machine_survives(tmp_path: Path, executor: str, model: Server, undisturbed: Undisturbed) -> None:
    survive(tmp_path, executor, number_of_kills(16), model, undisturbed)


@pytest.mark.deep
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_run_whose_database_is_hit_too_survives(
    tmp_path: Path,
    executor: str,
    model: Server,
    undisturbed: Undisturbed,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server of PostgreSQL that has lost a backend drops every connection, and recovers."""
    assert postgres.process is not None
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    backends = frozenset({"backend"})
    store = ("--store", f"{postgres.url}?{DURABLE}")
    more: dict[str, Any] = {"more": [postgres.process.pid], "more_kinds": backends, "waits": backends}
    survive(tmp_path, executor, number_of_kills(6), model, undisturbed, *store, **more)


@pytest.fixture(scope="module")
def cluster(model: Server) -> Iterator[str]:
    """The address of a cluster that outlives the drivers; what its actors find in their environment is its own."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(model).items():
            patch.setenv(name, value)
        context = ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield context.address_info["gcs_address"]
        ray.shutdown()


@pytest.mark.deep
def test_a_run_on_a_ray_cluster_survives(tmp_path: Path, model: Server, undisturbed: Undisturbed, cluster: str) -> None:
    kinds, env = frozenset({"actor", "zygote", SANDBOXED}), {"RAY_ADDRESS": cluster}
    more: dict[str, Any] = {"env": env, "more": [os.getpid()], "more_kinds": kinds}
    survive(tmp_path, "ray", number_of_kills(12), model, undisturbed, **more)


@pytest.mark.deep
def test_a_run_with_a_ray_cluster_of_its_own_survives(tmp_path: Path, model: Server, undisturbed: Undisturbed) -> None:
    survive(tmp_path, "ray", number_of_kills(3), model, undisturbed)
