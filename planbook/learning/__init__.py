"""Learning from runs: rules, libraries, procedures and manuals, in the stages of AutoManual.

``learner`` takes a step after each episode; ``stages`` strings the steps together, over episodes that are played or
``given``; ``verification`` tries procedures out. ``cost`` and ``covering`` are figures of building.
"""
