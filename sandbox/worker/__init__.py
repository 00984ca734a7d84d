"""What runs inside the worker's processes. Of the host's side it imports the protocol and the tables of names alone.

- The process: ``zygote`` forks it, ``lockdown`` and ``seccomp`` take rights away, ``serve`` runs cells over a ``link``;
  ``values``, ``objects`` and ``faults`` are what passes there.
- What plans see: the namespace of ``language``, modules by ``imports``, and in both the logical ``clock`` and what else
  ``determinism`` replaces.
"""
