"""`planbook watch`: a run looked at while it is played, and steered, in a browser of this machine.

``following`` reads new events, says what the run is doing, and sends it requests; ``pages`` renders what changed with
the templates of the report; ``serving`` is the server, with its access control.
"""
