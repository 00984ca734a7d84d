"""One sandbox for all tests that need no special one: real processes, the real kernel."""

from collections.abc import Iterator

import pytest

from planbook.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="session")
def unguarded() -> Iterator[Sandbox]:
    """Plans are plain Python; only process and protocol hold them."""
    with Sandbox(language_layer=False) as opened:
        yield opened


@pytest.fixture(scope="session")
def numbered() -> Iterator[Sandbox]:
    """As ``unguarded``; plans can tell one worker from another by its number on the host."""
    with Sandbox(language_layer=False, without=["pid namespace"]) as opened:
        yield opened
