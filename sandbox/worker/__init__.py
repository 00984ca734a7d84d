"""What runs inside the worker's processes; it imports nothing of the host's side but the protocol and the policy.

- The process: ``zygote`` forks it, ``lockdown`` and ``seccomp`` take rights away, ``serve`` runs cells over a ``link``;
  ``values``, ``objects`` and ``faults`` are what passes there.
- What plans see, put together by ``language``: ``builtin_names``, and modules as ``facades`` with ``stand_ins``
  (``enums``, ``queues``, ``typing_names``, ``protocols``, ``clock``).
- What holds to the policy at run time: ``guards``, ``attributes``, ``classes`` and ``naming`` the plan's own code,
  ``methods``, ``copies`` and ``shared`` the library's.
"""
