"""Settings for all tests."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "planbook", deadline=None, max_examples=60, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("planbook")
