"""Learning from runs: rules, libraries, procedures and manuals, in the stages of AutoManual.

``learner`` learns from one episode: ``finding`` finds its type if tasks have none, ``procedures`` writes and verifies
procedures, with ``postconditions``. ``stages`` plays episodes and learns from them in order; ``tasks`` draws the tasks,
``given`` copies episodes that were played elsewhere. ``cost`` shows the cost of building and the coverage of its rules.
"""
