"""What runs inside the worker's processes. Of the host's modules it imports only the protocol and the tables of names.

``zygote`` forks workers, ``lockdown`` takes their rights away, ``serve`` runs cells over a ``link`` and sends
``results`` back. Plans see the namespace of ``language``; ``determinism`` replaces what would differ between runs.
"""
