"""Three methods that search: Devil's Advocate, and the baselines of its paper, Plan+Act and LATS.

- ``search`` has the three methods, their options and ``METHODS``.
- ``round`` plays one round, which is one attempt at the task with one plan.
- ``model_calls`` asks the models and reads their replies.
- ``tree`` records the branches, which are the pieces of code that were tried, and computes the figures.
"""
