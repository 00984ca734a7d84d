"""Everything of the host that an attack in process might change."""

import builtins

from sandbox.worker import enums, facades, guards, language, typing_names
from tests.sandbox.attacked import HostAgent, host_act

language.protect(HostAgent)
SHARED = [
    *facades.FIXED.values(),
    *(value for facade in facades.FIXED.values() for value in vars(facade).values() if isinstance(value, type)),
    *(value for value in typing_names.NAMES.values() if isinstance(value, type)),
    HostAgent,
    host_act,
    enums.PlanEnumMeta,
    guards.PlanType,
]


def state_of(agent: HostAgent) -> list[dict[str, object]]:
    """What all attacks share, and the one agent."""
    hidden = ("__abstractmethods__", "_abc_impl", "__slotnames__", "__doc__")
    shared = [{k: v for k, v in vars(item).items() if k not in hidden} for item in SHARED]
    return [dict(vars(agent)), dict(vars(builtins)), *shared]
