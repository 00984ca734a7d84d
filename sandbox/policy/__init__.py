"""The language policy: what plan code may use.

``rules`` holds the tables of refused names and hints. ``transformer`` applies them to a syntax tree, ``compiler`` turns
source into problems or compiled code without running any of it.
"""
