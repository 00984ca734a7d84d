"""Runs of `planbook build`, which learn rules, skills, procedures and manuals, in the stages of AutoManual.

- ``stages``: plays the tasks of a run and learns from each, writes the manual, and exports the knowledge.
- ``tasks``: draws the tasks of a run.
- ``copying``: copies episodes from other runs, to learn from these instead of playing new ones.
- ``learner``: learns from one episode after another.
- ``finding``: finds task types from plans and goals (``--types found``).
- ``procedures``: writes a procedure for each task type, and verifies it.
- ``postconditions``: finds out what is true whenever a procedure has solved its task.
- ``cost``: reports the cost of learning, and which task types the rules cover.
"""
