"""The tests, in folders that are named after the packages that they test.

This folder is a package because some other distributions install a top-level `tests` too.
"""
