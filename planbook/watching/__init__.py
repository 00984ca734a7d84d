"""`planbook watch`: view and control a run in a browser on this machine while it is played.

``followed_run`` reads new events of the run, determines its state, and sends it requests. ``pages`` renders the page
and its updates like the report. ``serving`` is the web server, with its access control.
"""
