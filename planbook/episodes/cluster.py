"""Workers that are actors of a Ray cluster. Imported only where Ray is asked for."""

import importlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from envs import MissingRequirement
from planbook.episodes.player import Served
from planbook.episodes.workers import Places, Worker, WorkerLost

QUIET = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Spares our output a notice of Ray's, and Ray's makers a report; what the user has set stays."""


class RayWorker(Worker):
    """An actor, wherever the cluster puts it. It takes up one processor; a spare one none, so that it need not wait."""

    def __init__(self, threads: int, *, spare: bool) -> None:
        options = {"num_cpus": 0 if spare else 1, "max_concurrency": threads + 1, "max_restarts": 0}
        self._actor: Any = ray.remote(Served).options(**options).remote()

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the worker's player. Raises WorkerLost."""
        try:
            return ray.get(self._actor.call.remote(name, *arguments))
        except RayTaskError:
            raise
        except RayError as error:
            raise WorkerLost from error

    def kill(self) -> None:
        """End the process, if it is still there."""
        ray.kill(self._actor)

    def dismiss(self) -> None:
        """Let the process end by itself."""
        ray.kill(self._actor)


@contextmanager
def on_the_cluster(jobs: int) -> Iterator[Places]:
    """As many actors as the cluster has processors for.

    It is the one that this process has joined already, else that of RAY_ADDRESS, else one of this machine alone, which
    ends with this process.
    """
    joined = ray.is_initialized()
    if not joined:
        _join()
    try:
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        machines = sum(node["Alive"] for node in ray.nodes())  # type: ignore[no-untyped-call]
        yield Places(max(1, min(jobs, int(resources.get("CPU", 0)))), RayWorker, machines)
    finally:
        if not joined:
            ray.shutdown()


def _join() -> None:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    logging.getLogger("ray").setLevel(logging.ERROR)
    # Whatever log_to_driver says, Ray tells of every lost worker on standard output; the crew tells of it already.
    setattr(importlib.import_module("ray._private.worker"), "print_to_stdstream", lambda *_, **__: None)  # noqa: B010
    address = os.environ.get("RAY_ADDRESS", "local")
    try:
        ray.init(address=address, include_dashboard=False, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RayError, RuntimeError, ValueError) as error:
        raise MissingRequirement(
            f"Ray at {address} cannot be used: {error}; RAY_ADDRESS names a cluster, and without it one is started here"
        ) from error
