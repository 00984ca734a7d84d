"""Test suites of other people, run as plan code."""
