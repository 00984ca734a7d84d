"""Settings for all tests."""

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from planbook.sandbox import Sandbox

if TYPE_CHECKING:
    from tests.postgres import Server

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
def postgres() -> "Iterator[Server]":
    """A real PostgreSQL, one for each process of the tests. Only these need psycopg."""
    from tests.postgres import need_postgres, running

    with running(need_postgres()) as server:
        yield server
