"""Devil's Advocate (anticipatory reflection, backtracking, plan revision), Plan+Act and LATS.

``search`` holds the three methods and their ``METHODS``, ``round`` plays one round, ``model_calls`` holds their
questions, ``tree`` the branches.
"""
