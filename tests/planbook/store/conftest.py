"""Fixtures with every kind of store."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from planbook.store import Store, StoreLocation, create_schema

NewPlace = Callable[[], StoreLocation]


@pytest.fixture(params=["sqlite", "postgres"])
def new_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewPlace:
    """Return a function that makes the place of a new, empty store."""
    if request.param == "sqlite":
        return lambda: tmp_path_factory.mktemp("store") / "run.db"
    url = request.getfixturevalue("postgres").url
    return lambda: create_schema(url)


@pytest.fixture
def place(new_place: NewPlace) -> StoreLocation:
    """Return the place of a new, empty store."""
    return new_place()


@pytest.fixture
def store(place: StoreLocation) -> Iterator[Store]:
    """Yield a new, empty store."""
    with closing(Store(place)) as opened:
        yield opened
