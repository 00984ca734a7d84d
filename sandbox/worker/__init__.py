"""Modules that run inside the worker's processes.

Of the host's modules they import only ``protocol``, ``suggest`` and ``policy.rules``.

``zygote`` forks workers, ``lockdown`` drops their privileges, ``serve`` runs cells over a ``link`` and sends
``results`` back. ``language`` builds the namespace of plans; ``determinism`` replaces what differs between runs.
"""
