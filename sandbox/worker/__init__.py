"""Modules that run inside the worker's processes.

Of the host's modules they import only ``protocol``, ``suggest`` and ``policy.rules``.

``zygote`` forks workers, ``lockdown`` takes their rights away, ``serve`` runs cells over a ``link`` and sends
``results`` back. Plans see the namespace of ``language``; ``determinism`` replaces what would differ between runs.
"""
