"""Find and analyse the code in a model's reply.

- ``reply`` finds the plan in a complete reply. Models usually write code between Markdown fences.
- ``growing`` finds statements in a reply that is still being written.
- ``syntax`` parses code, explains syntax errors, and finds the statements of broken code that are intact.
- ``definitions`` lists and extracts functions and classes, and lists a plan's steps (``# [Step n]`` comments).
- ``scopes`` finds where each name is bound and used.
"""
