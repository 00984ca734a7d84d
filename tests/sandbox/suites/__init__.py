"""Other people's test suites, run as plan code."""
