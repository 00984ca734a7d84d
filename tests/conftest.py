"""Settings for all tests."""

import os

import pytest
from hypothesis import HealthCheck, settings

from envs.miniwob import Miniwob

settings.register_profile(
    "planbook", deadline=None, max_examples=60, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("planbook")


@pytest.fixture(autouse=True)
def browser_where_it_is_needed(request: pytest.FixtureRequest) -> None:
    """Skip a test marked ``browser`` where there is none; where CI is set, that is a failure."""
    if request.node.get_closest_marker("browser") is None:
        return
    missing = [each for each in Miniwob.requirements() if each.found is None]
    if missing and os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"CI runs the browser tests, but {missing[0].name} is missing: {missing[0].remedy}")
    if missing:
        pytest.skip(f"{missing[0].name} is missing: {missing[0].remedy}")
