"""Settings for all tests."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from sandbox import Sandbox
from tests.postgres import Server, need_postgres, running

settings.register_profile(
    "planbook", deadline=None, max_examples=60, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("planbook")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # What a shell runs in the background begins deaf to Ctrl-C, and so would the processes that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Where plan code runs; one for all tests of a file."""
    with Sandbox() as shared:
        yield shared


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A real PostgreSQL, one for each process of the tests."""
    with running(need_postgres()) as server:
        yield server
