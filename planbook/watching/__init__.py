"""`planbook watch`: a run looked at while it is played, and steered, in a browser of this machine.

``following`` reads on from where it had read to; ``steered`` says what the run is doing, and asks it to do otherwise;
``pages`` renders what changed with the templates of the report; ``access`` lets nobody else in; ``serving`` is the
server.
"""
