"""Hooks that come with planbook: functions of graph files that express what the file format cannot.

Graph files name them as ``module.function``. Your own hooks are named ``FILE.py:function``, with a path that is
relative to the graph file. See ``planbook.planner.graph.hooking``.
"""
