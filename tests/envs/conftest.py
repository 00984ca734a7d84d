"""Fixtures for the tests of environments."""

from collections.abc import Iterator

import pytest

from tests.browser import need_browser
from tests.webserver import serving


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """Yield the address of a server with friendly and hostile pages, for a real browser."""
    need_browser()
    with serving() as address:
        yield address
