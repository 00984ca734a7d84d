"""Devil's Advocate: anticipatory reflection, turning back, and plans made anew from what was learnt.

``stack`` is the method; the other modules are what it shares with the methods that it is compared with.
"""
