"""Settings for all tests."""

import os
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from planbook.sandbox import Sandbox

if TYPE_CHECKING:
    from tests.postgres import Server

FIFTHS = 5
"""The number of parts into which ``--fifth`` divides the tests."""

settings.register_profile(
    "planbook", deadline=None, max_examples=60, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("planbook")

# Pytest and the processes that tests start keep their bytecode. Without it, they would compile everything again, which
# takes a third of a command's time, and ten seconds in each pytest process.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets background processes ignore Ctrl-C, and the processes that tests start would inherit this.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of these tests."""
    parser.addoption("--fifth", type=int, help=f"Only every test of one of {FIFTHS} parts, from 0 on.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep only the tests of the part chosen by ``--fifth``; the tests of one file are in the same part."""
    if (part := config.getoption("fifth")) is not None:
        others = [item for item in items if crc32(item.path.name.encode()) % FIFTHS != part % FIFTHS]
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox for plan code, shared by all tests of a file."""
    with Sandbox() as shared:
        yield shared


@pytest.fixture(scope="session")
def postgres() -> "Iterator[Server]":
    """A real PostgreSQL server, one for each pytest process. Only tests that use it need psycopg."""
    from tests.postgres import need_postgres, running

    with running(need_postgres()) as server:
        yield server
