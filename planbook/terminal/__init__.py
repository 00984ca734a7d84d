"""The output for people in the terminal; it has the same tables and sentences as the report.

``printing`` has the tables and lines of a run; ``progress`` stands below them while a run is played, with the time
left. ``episode`` tells one episode (`planbook show`).
"""
