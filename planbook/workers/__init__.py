"""Play the episodes of a run.

- ``worker`` has the loop of every worker, wherever it runs: lease an open episode, play it, record how it ended.
- ``episode`` plays one episode, from its beginning or from its recorded part.
- ``driver`` starts workers, reports the endings that they record, and replaces workers that are lost.
- ``threads`` runs workers in threads of this process, ``processes`` in processes of this machine, and ``cluster`` in
  actors of a Ray cluster.
- ``control`` stops and pauses a run while it is played.
- ``models`` opens the language models of a run; ``recorded`` has models that answer from the record of a run.
"""

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.workers.control import Execution, Request, RequestListener, Switches, send_request
    from planbook.workers.driver import check_executor, check_reachable, join_run, play_episodes, play_in_order
    from planbook.workers.episode import EpisodeWorker, play_episode
    from planbook.workers.models import check_roles, open_model, roles_of
    from planbook.workers.processes import local_pool
    from planbook.workers.recorded import ReplyRepeater, replies_by_place
    from planbook.workers.threads import in_threads
    from planbook.workers.worker import workers_of
else:
    __getattr__ = lazy_getattr(__name__)
