"""Workers that are actors of a Ray cluster. Imported only where Ray is asked for."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray.exceptions import RayError

from planbook.episodes.player import Served
from planbook.episodes.workers import Places, Worker, WorkerLost

QUIET = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}
"""Spares our output Ray's notices about itself, and Ray's makers a report of the run; what is set already stays."""


class RayWorker(Worker):
    """An actor, wherever the cluster puts it. It takes up one processor."""

    def __init__(self, threads: int) -> None:
        options = {"num_cpus": 1, "max_concurrency": threads + 1, "max_restarts": 0}
        self._actor: Any = ray.remote(Served).options(**options).remote()

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the worker's player. Raises WorkerLost."""
        try:
            return ray.get(self._actor.call.remote(name, *arguments))
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
    """As many actors as the cluster has processors for; without RAY_ADDRESS it is this machine alone."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    try:
        yield Places(min(jobs, int(ray.cluster_resources().get("CPU", 1))), RayWorker)
    finally:
        ray.shutdown()
