"""Web pages: any address in a real Chromium, read as an accessibility tree."""
