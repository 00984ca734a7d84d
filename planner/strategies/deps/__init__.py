"""DEPS (describe, explain, plan and select), and the baselines of the DEPS paper.

DEPS and most of its baselines plan a list of goals, which are then reached one after the other. The other baselines
write one program that acts.

- ``replanning`` has DEPS, its baselines, their options and ``METHODS``.
- ``goals`` reads the goals of a plan.
- ``text_matching`` finds the goal that is meant by a line which is not a valid call.
- ``selectors`` choose the goal to try next, for example the nearest by a predicted number of time steps (its horizon).
- ``pursuit`` reaches goals, each by one action or by a controller that takes several.
"""
