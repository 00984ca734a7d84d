"""Terminal output for people, with the same tables and sentences as the report.

``printing`` prints tables, lines and errors, and the progress of a run while it is played. ``episode`` renders one
episode, as `planbook show` prints it.
"""
