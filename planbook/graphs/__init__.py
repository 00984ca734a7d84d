"""`planbook graph`: prompt graphs without coding.

``commands`` parses options and prints, ``running`` runs a graph in a run folder. ``planbook graph new`` writes
``new.yaml``.
"""
