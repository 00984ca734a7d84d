"""Fixtures for the tests of models."""

from collections.abc import Iterator

import pytest

from tests.openai_server import Server, serving
from tests.planner.models.local_server import TEXT


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(lambda messages: TEXT) as server:
        yield server
