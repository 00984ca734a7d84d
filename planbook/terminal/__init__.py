"""What do people see in the terminal? What is told is what the report has; only the way it looks is another.

``printing`` has the tables and lines of a run; ``progress`` stands below them while a run is played, with the
``time_left``. ``episode`` tells one episode (`planbook show`), the runs of plan code in it by ``cells``, in ``pieces``
that can be printed.
"""
