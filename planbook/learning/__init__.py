"""Learning from runs: rules, libraries, procedures and manuals, in the stages of AutoManual.

``learner`` takes a step after each episode, ``once`` sees that none is done twice, ``state`` is what is known then;
``stages`` strings the steps together, over episodes that are played or ``given``; ``verification`` tries procedures
out. ``knowing`` hands what was learnt to those who play, and ``ablations`` says what of it can be left out. ``cost``,
``curve`` and ``covering`` are figures of building.
"""
