"""A real Chromium, shared by the environments that use it.

- ``chromium``: finds, starts and shares a browser.
- ``devtools``: a connection that speaks Chromium's DevTools protocol, the keys of a keyboard, and the mouse.
"""
