"""From a model's text to code.

``reply`` finds the plan in a reply, ``unfenced`` code without fences, ``growing`` statements of a reply that is still
being written. ``syntax`` explains what does not parse. ``definitions`` extracts functions, classes and steps;
``scopes`` resolves names.
"""
