"""Fixtures for stores of every kind: a SQLite file, and a schema in PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from planbook.store import Store, StoreLocation, create_schema

NewLocation = Callable[[], StoreLocation]


@pytest.fixture(params=["sqlite", "postgres"])
def new_location(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewLocation:
    """Return a function that returns the location of a new, empty store."""
    if request.param == "sqlite":
        return lambda: tmp_path_factory.mktemp("store") / "run.db"
    url = request.getfixturevalue("postgres").url
    return lambda: create_schema(url)


@pytest.fixture
def location(new_location: NewLocation) -> StoreLocation:
    """Return the location of a new, empty store."""
    return new_location()


@pytest.fixture
def store(location: StoreLocation) -> Iterator[Store]:
    """Yield a new, empty store."""
    with closing(Store(location)) as opened:
        yield opened
