"""Whether a Ray cluster is there: looked at before a run begins, and while it is played.

Ray itself takes minutes to give an address up, and where its head has died it ends the whole process after one.
"""

import importlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from planbook.envs import MissingRequirement
from planbook.episodes.regular import every
from planbook.errors import ClusterLost

CONNECT_SECONDS = 5.0
GREET_SECONDS = 10.0
"""How long a head may take to say that it is one."""
LOOK_SECONDS = 1.0
"""Between two looks."""
OWN_PATIENCE, JOINED_PATIENCE = 2.0, 30.0
"""Seconds that a part of the cluster may be silent: nobody starts one of our own again; of another a head may come
back within the minute that Ray waits for it."""
OF_THIS_MACHINE = ("", "local", "auto")
"""What stands for a cluster that is started, or found, here."""


def cluster_address() -> str:
    """What RAY_ADDRESS says; else the cluster is one of this machine alone."""
    return os.environ.get("RAY_ADDRESS", "") or "local"


def check_address(address: str) -> None:
    """See that a Ray cluster answers there. Raises MissingRequirement within seconds."""
    if address in OF_THIS_MACHINE:
        return
    if problem := _unreachable(address) or _no_head(address):
        raise MissingRequirement(
            f"no Ray cluster answers at {address}, which RAY_ADDRESS names: {problem}; see that `ray status --address "
            f"{address}` finds it, name another, or unset RAY_ADDRESS: then one is started here"
        )


class Vigil:
    """Watches the parts of a cluster while it is entered: their names, each with its host and port."""

    def __init__(self, parts: Mapping[str, str], patience: float) -> None:
        self._parts, self._patience = parts, patience
        self._lost = ""
        self._answered: dict[str, float] = {}
        """When each part last did, by the monotonic clock."""

    def check(self) -> None:
        """Raises ClusterLost if a part has not answered for too long."""
        if self._lost:
            raise ClusterLost(self._lost)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Watch; at the end no longer."""
        self._answered = dict.fromkeys(self._parts, time.monotonic())
        with every(LOOK_SECONDS, self._look):
            yield

    def _look(self) -> None:
        for name, address in self._parts.items() if not self._lost else ():
            problem = _unreachable(address)
            if not problem:
                self._answered[name] = time.monotonic()
            elif time.monotonic() - self._answered[name] >= self._patience:
                self._lost = (
                    f"the Ray cluster was lost: its {name} at {address} does not answer any more ({problem}); "
                    "nothing recorded so far is lost"
                )


def _unreachable(address: str) -> str:
    """Why nothing can be reached there; empty if something can."""
    parsed = urlsplit(address if "://" in address else f"//{address}")
    try:
        if not parsed.hostname or not parsed.port:
            return "it is no HOST:PORT"
        socket.create_connection((parsed.hostname, parsed.port), CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return ""


def _no_head(address: str) -> str:
    """Why what answers there is no head of a cluster; empty if it is one, or a door for Ray's clients."""
    if "://" in address:
        return ""
    client = importlib.import_module("ray._raylet").GcsClient
    greeting = threading.Thread(target=client, kwargs={"address": address}, daemon=True)
    greeting.start()
    greeting.join(GREET_SECONDS)
    return "something answers, but not as the head of a cluster does" if greeting.is_alive() else ""
