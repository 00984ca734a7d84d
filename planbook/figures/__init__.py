"""What does a run come to? Read from its store, whatever played.

``summary`` has it all. ``subtasks`` (ADaPT), ``goals`` (DEPS), ``rounds`` (Devil's Advocate) and ``passes`` (AgentKit)
are the figures of one kind of method, from what such methods record (``tried``, read by ``deeds``); ``milestones`` and
``measures`` are the world's. Each has a model for ``--json`` and the lines that tell it.
"""
