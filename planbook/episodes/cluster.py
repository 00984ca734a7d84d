"""Workers that are actors of a Ray cluster. Imported only where Ray is asked for."""

import importlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from planbook.envs import MissingRequirement
from planbook.episodes.vigil import (
    JOINED_PATIENCE,
    LOOK_SECONDS,
    OWN_PATIENCE,
    Vigil,
    check_address,
    cluster_address,
)
from planbook.episodes.worker_player import Served
from planbook.episodes.workers import Places, Worker, WorkerLost

QUIET = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Spares our output a notice of Ray's, and Ray's makers a report; what the user has set stays."""


class RayWorker(Worker):
    """An actor, wherever the cluster puts it. It takes up one processor; a spare one none, so that it need not wait."""

    def __init__(self, threads: int, vigil: Vigil, *, spare: bool) -> None:
        self._vigil = vigil
        options = {"num_cpus": 0 if spare else 1, "max_concurrency": threads + 1, "max_restarts": 0}
        self._actor: Any = ray.remote(Served).options(**options).remote()

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the worker's player. Raises WorkerLost, ClusterLost."""
        self._vigil.check()
        answer = self._actor.call.remote(name, *arguments)
        while True:
            try:
                return ray.get(answer, timeout=LOOK_SECONDS)
            except GetTimeoutError:
                self._vigil.check()
            except RayTaskError:
                raise
            except RayError as error:
                raise WorkerLost from error

    def kill(self) -> None:
        """End the process, if it is still there."""
        ray.kill(self._actor)


@contextmanager
def on_the_cluster(jobs: int) -> Iterator[Places]:
    """As many actors as the cluster has processors for.

    It is the one that this process has joined already, else that of RAY_ADDRESS, else one of this machine alone, which
    ends with this process.
    """
    joined = ray.is_initialized()
    address = cluster_address()
    if not joined:
        _join(address)
    try:
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        machines = sum(node["Alive"] for node in ray.nodes())  # type: ignore[no-untyped-call]
        vigil = Vigil(_parts(), OWN_PATIENCE if not joined and address == "local" else JOINED_PATIENCE)
        with vigil.kept():
            start = partial(RayWorker, vigil=vigil)
            yield Places(max(1, min(jobs, int(resources.get("CPU", 0)))), start, machines)
    finally:
        if not joined:
            ray.shutdown()


def _parts() -> dict[str, str]:
    """What this process cannot do without: the head, and what runs the workers of its own machine."""
    context = ray.get_runtime_context()
    if not context.gcs_address:  # a client of a cluster elsewhere, which is told by its door
        return {}
    nodes = {node["NodeID"]: node for node in ray.nodes()}  # type: ignore[no-untyped-call]
    ours = nodes[context.get_node_id()]
    return {"head": context.gcs_address, "raylet": f"{ours['NodeManagerAddress']}:{ours['NodeManagerPort']}"}


def check_cluster() -> None:
    """See that there is a cluster, or can be one. Raises MissingRequirement."""
    if not ray.is_initialized():
        check_address(cluster_address())


def _join(address: str) -> None:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    logging.getLogger("ray").setLevel(logging.ERROR)
    # Whatever log_to_driver says, Ray tells of every lost worker on standard output; the crew tells of it already.
    setattr(importlib.import_module("ray._private.worker"), "print_to_stdstream", lambda *_, **__: None)  # noqa: B010
    try:
        ray.init(address=address, include_dashboard=False, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RayError, RuntimeError, ValueError) as error:
        raise MissingRequirement(
            f"Ray at {address} cannot be used: {error}; RAY_ADDRESS names a cluster, and without it one is started here"
        ) from error
