"""What the kernel grants: which mechanisms hold a worker, and which the sandbox will not do without."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sandbox.errors import MissingMechanism

REQUIRED = ("seccomp", "no_new_privs", "rlimits")
OPTIONAL = (
    "user namespace",
    "net namespace",
    "ipc namespace",
    "mount namespace",
    "landlock",
    "capabilities",
    "undumpable",
)


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One way in which the kernel holds a worker; ``reason`` says why it is not granted."""

    name: str
    granted: bool
    required: bool
    reason: str = ""


def read(reported: Mapping[str, str]) -> dict[str, Mechanism]:
    """From mechanism to empty or why not, as zygote and worker report it, to every mechanism there is."""
    found = {}
    for name in (*REQUIRED, *OPTIONAL):
        reason = reported.get(name, "not tried: the process layer is off")
        found[name] = Mechanism(name, not reason, name in REQUIRED, reason)
    return found


def demand(found: Mapping[str, Mechanism], allow_missing: Collection[str]) -> None:
    """Raise MissingMechanism for a required one that is neither granted nor allowed to be missing."""
    for mechanism in found.values():
        if mechanism.required and not mechanism.granted and mechanism.name not in allow_missing:
            raise MissingMechanism(
                f"{mechanism.name} is not granted here: {mechanism.reason}. Plans would run without it; if you accept "
                f"that, open the sandbox with allow_missing=({mechanism.name!r},)"
            )
