"""Play the episodes of a run.

``worker`` is the loop of every worker, wherever it runs: lease the next open episode in the store, play it
(``episode``), record it. ``driver`` starts workers, reports the endings that they record and replaces lost workers.
``threads`` runs work in threads of this process; a worker elsewhere is a process of this machine (``processes``) or an
actor of a Ray cluster (``cluster``), watched by a thread of the driver. ``steering`` stops and pauses a run while it is
played; ``models`` opens the models that the roles of a run ask; ``recorded`` models answer from the record of a run.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.workers.driver import check_executor, check_reachable, join_run, play_episodes, play_in_order
    from planbook.workers.episode import EpisodeWorker, play_episode
    from planbook.workers.models import check_roles, open_model, roles_of
    from planbook.workers.processes import on_this_machine
    from planbook.workers.recorded import RepeatedModel, replies_by_place
    from planbook.workers.steering import Control, Hosting, Request, Steering, arguments, every, request
    from planbook.workers.threads import in_threads
    from planbook.workers.worker import workers_of
else:
    __getattr__ = lazily(__name__)
