"""Runs of `planbook build`, which learn rules, skills, procedures and manuals, in the stages of AutoManual.

- ``tasks``: draws the tasks of a run, or copies episodes from other runs, to learn from these without playing new ones.
- ``stages``: plays the tasks of a run and learns from each, writes the manual, and exports the knowledge. Reports the
  cost of learning, and which task types the rules cover.
- ``learner``: learns from one episode after another.
- ``procedures``: writes a procedure for each task type, and verifies it.
- ``finding``: finds task types from plans and goals (``--types found``), and what is true whenever a procedure has
  solved its task.
"""
