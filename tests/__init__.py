"""The tests, in folders named after the packages that they test.

This is a package since some other distributions install a top-level `tests` too.
"""
