"""One episode in the terminal: ``lines`` tells what happened in its scopes, ``cells`` a run of plan code.

What is told, and in which order, is what the report has; only the way it looks is another.
"""
