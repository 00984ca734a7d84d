"""Play the episodes of a run.

``worker`` is the loop of every worker, wherever it runs: lease the next open episode in the store, play it
(``episode``), record it. ``driver`` starts workers, reports the endings that they record and replaces lost workers.
``pool`` runs threads and processes on this machine, ``cluster`` actors of a Ray cluster. ``steering`` stops and pauses
a run while it is played; ``models`` opens the models that the roles of a run ask.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.workers.driver import (
        check_executor,
        check_reachable,
        job_of,
        join_run,
        places_opener,
        play_episodes,
        play_in_order,
    )
    from planbook.workers.episode import EpisodeWorker, play_episode
    from planbook.workers.models import check_roles, open_model, roles_of
    from planbook.workers.pool import LOG, STOPPING, WorkerPool, in_threads, on_this_machine, wait_for
    from planbook.workers.steering import Control, Hosting, Request, Steering, arguments, every, request
    from planbook.workers.worker import LOST, PATIENCE, Job, sendable, workers_of
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "LOG",
    "LOST",
    "PATIENCE",
    "STOPPING",
    "Control",
    "EpisodeWorker",
    "Hosting",
    "Job",
    "Request",
    "Steering",
    "WorkerPool",
    "arguments",
    "check_executor",
    "check_reachable",
    "check_roles",
    "every",
    "in_threads",
    "job_of",
    "join_run",
    "on_this_machine",
    "open_model",
    "places_opener",
    "play_episode",
    "play_episodes",
    "play_in_order",
    "request",
    "roles_of",
    "sendable",
    "wait_for",
    "workers_of",
]
