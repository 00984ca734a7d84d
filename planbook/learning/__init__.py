"""Runs of `planbook build`, which learn rules, skills, procedures and manuals, in the stages of AutoManual.

- ``tasks`` draws the tasks of a run, or copies the episodes of other runs.
- ``stages`` plays the tasks of a run and learns from each, writes the manual, and exports the knowledge.
- ``coverage`` finds task types without a success process, and rules that are unused or cite unknown rules.
- ``learner`` learns from one episode after another.
- ``procedures`` writes a procedure for each task type, and verifies it.
- ``finding`` finds types for tasks that have none (``--types found``), and post-conditions: code that checks that a
  procedure had its usual effect.
"""
