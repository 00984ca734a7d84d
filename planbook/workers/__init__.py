"""Playing the episodes of a run.

``pulling`` is what every worker does: lease the next open episode in the store, play it (``episode``), record it.
``driver`` starts workers, in ``threads`` of this process or in a ``pool`` of ``processes`` of this machine or of actors
of a Ray ``cluster``; it reports the endings and replaces lost workers. ``steering`` stops and pauses a run, ``hosting``
is the settings of an invocation, ``models`` are those that the roles of a run ask.
"""
