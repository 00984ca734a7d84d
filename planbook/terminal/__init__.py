"""Terminal output for people; it has the same tables and sentences as the report.

``printing`` prints the tables and lines of a run, and its progress while it is played. ``episode`` prints one episode
(`planbook show`).
"""
