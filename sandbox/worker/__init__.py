"""The code that runs in the worker processes, which execute plan code.

- ``zygote`` is the process from which workers are forked. ``lockdown`` drops the privileges of zygote and workers.
- ``serve`` runs cells, which are pieces of plan code. ``link`` is the worker's end of the channel to the host, the
  process that opened the session. ``results`` converts values and exceptions to JSON.
- ``language`` builds the namespace of plans. ``determinism`` makes runs repeatable, for example with its own clock.

From the rest of ``sandbox``, these modules import only ``protocol``, ``suggest`` and ``policy.rules``.
"""
