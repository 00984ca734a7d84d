"""Find and analyse the code in a model's reply.

``reply`` finds the plan in a reply, ``unfenced`` code without fences, ``growing`` the statements of a reply that is
still being written. ``syntax`` explains syntax errors. ``definitions`` extracts functions, classes and steps;
``scopes`` resolves names.
"""
