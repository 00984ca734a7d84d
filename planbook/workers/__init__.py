"""Play the episodes of a run.

- ``worker`` runs the loop of a worker: lease an open episode, play it, and record how it ended.
- ``open_episodes`` finds the episodes that have not ended, and leases them to workers.
- ``processes`` runs workers in processes on this machine, or in actors of a Ray cluster.
- ``driver`` starts workers, reports the endings that they record, and replaces workers that are lost.
- ``control`` stops and pauses a run while it is played.
- ``models`` opens the language models of a run, and defines models that repeat the replies recorded in a run.
"""

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.workers.control import Execution, Request, RequestListener, Switches, in_threads, send_request
    from planbook.workers.driver import check_executor, check_reachable, join_run, play_episodes, play_in_order
    from planbook.workers.models import ReplyRepeater, check_roles, open_model, replies_by_place, roles_of
    from planbook.workers.processes import local_pool
    from planbook.workers.worker import EpisodeWorker, play_episode
else:
    __getattr__ = lazy_getattr(__name__)
