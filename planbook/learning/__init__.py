"""Building runs, which learn from episodes: rules, skills, procedures and manuals, in the stages of AutoManual.

- ``stages``: plays the tasks of a building run and learns from each, writes the manual, and exports the knowledge.
- ``tasks``: draws the tasks of a building run.
- ``copying``: copies episodes from other runs, to learn from these instead of playing new ones.
- ``learner``: learns from one episode after another.
- ``finding``: finds task types if the tasks have none.
- ``procedures``: writes a procedure for each task type, and verifies it.
- ``postconditions``: finds out what is true whenever a procedure has solved its task.
- ``cost``: reports the cost of building, and which task types the rules cover.
"""
