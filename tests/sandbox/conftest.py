"""Sandboxes and sessions that tests share. They use real processes and the real kernel."""

from collections.abc import Iterator

import pytest

from planbook.sandbox import Sandbox, Session


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="session")
def unguarded() -> Iterator[Sandbox]:
    """A sandbox without the language layer: plans are plain Python, which only the kernel and the protocol confine."""
    with Sandbox(language_layer=False) as opened:
        yield opened


@pytest.fixture(scope="session")
def pid_sandbox() -> Iterator[Sandbox]:
    """Like ``unguarded``, but plans see the host's process ids, by which they can tell one worker from another."""
    with Sandbox(language_layer=False, disabled_mechanisms=["pid namespace"]) as opened:
        yield opened


@pytest.fixture
def session(sandbox: Sandbox) -> Iterator[Session]:
    """A session without functions."""
    with sandbox.session({}) as opened:
        yield opened


@pytest.fixture
def plain(unguarded: Sandbox) -> Iterator[Session]:
    """A session without functions whose plans are plain Python."""
    with unguarded.session({}) as opened:
        yield opened
