"""What the kernel grants: which mechanisms hold a worker, and which the sandbox will not do without."""

from collections.abc import Mapping
from dataclasses import dataclass

from planbook.sandbox.errors import MissingMechanism

REQUIRED = ("seccomp", "no_new_privs", "rlimits")
OPTIONAL = (
    "user namespace",
    "net namespace",
    "ipc namespace",
    "mount namespace",
    "pid namespace",
    "user id",
    "landlock",
    "capabilities",
    "undumpable",
)


ALL = REQUIRED + OPTIONAL


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
    for name in ALL:
        reason = reported.get(name, "not tried")
        found[name] = Mechanism(name, not reason, name in REQUIRED, reason)
    return found


def demand(found: Mapping[str, Mechanism]) -> None:
    """Raise MissingMechanism for a required one that is not granted."""
    for mechanism in found.values():
        if mechanism.required and not mechanism.granted:
            raise MissingMechanism(
                f"{mechanism.name} is not granted here: {mechanism.reason}. Without it a plan can use files, "
                "start processes and open connections with your rights. If you trust every plan, say so: "
                "--unsafe-no-sandbox, or Sandbox(unsafe_no_sandbox=True)"
            )
