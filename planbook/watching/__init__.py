"""`planbook watch`: view and control a run in a browser on this machine while it is played.

``following`` reads new events, determines the state of the run, and sends it requests; ``pages`` renders changes with
the templates of the report; ``serving`` is the server, with its access control.
"""
