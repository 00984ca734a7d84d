"""What did a planning method do of its own? Figures of one kind of method each, from what such methods record.

``records`` are the bodies of such events; ``plays`` reads them, play by play. ``subtasks`` has the figures of methods
that give sub-tasks to executors (ADaPT), ``goals`` of those that pursue goals (DEPS), ``rounds`` of those that try in
rounds and branches (Devil's Advocate), ``passes`` of those that ask a prompt graph (AgentKit).
"""
