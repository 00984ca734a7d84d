"""What runs inside the worker's processes. It imports nothing of the host's side but the protocol and the tables of names.

- The process: ``zygote`` forks it, ``lockdown`` and ``seccomp`` take rights away, ``serve`` runs cells over a ``link``;
  ``values``, ``objects`` and ``faults`` are what passes there.
- What plans see: the namespace of ``language``, modules by ``imports``, and in both the logical ``clock`` and what else
  ``determinism`` replaces.
"""
