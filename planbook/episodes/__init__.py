"""How are the episodes of a run played, or played again?

``runner`` plays those that have no ending yet, in ``lanes`` side by side, with the models of ``role_models``;
``recorded_answers`` is a model that answers out of a run. ``retrying`` plays those again that broke, ``divergence``
plays recorded ones again and compares (one that differs, ``onward`` to its end; ``renaming`` says whether only names
differ); ``telling`` says an event in words. ``steering`` stops and pauses, and
``control`` lets other processes do that.

``distributed`` plays a run in several processes: in each a ``worker_player`` plays what it is handed. The driver's
``workers`` are ``processes`` of this machine or actors of a Ray ``cluster``, over which a ``vigil`` is kept. Settling
with workers and looking whether the cluster is there are ``regular``: done again and again, beside the playing.
"""
