"""The output for people in the terminal; it has the same tables and sentences as the report.

``printing`` has the tables and lines of a run, and the progress that stands below them while it is played. ``episode``
tells one episode (`planbook show`).
"""
