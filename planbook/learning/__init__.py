"""Learning from runs: rules, libraries, procedures and manuals, in the stages of AutoManual.

``learner`` takes a step after each episode, ``once`` sees that none is done twice, ``state`` is what is known then;
``stages`` strings the steps together, and ``knowing`` hands what was learnt to those who play.
"""
