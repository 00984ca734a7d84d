"""What people see in the terminal: the same as the report, drawn otherwise.

``printing`` has the tables and lines of a run; ``progress`` stands below them while a run is played, with the time
left. ``episode`` tells one episode (`planbook show`).
"""
