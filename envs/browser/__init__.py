"""Real Chromium: found, started, shared by the worlds that play in it, and spoken to."""
