"""A real Chromium, shared by the environments that use it.

- ``chromium``: finds, starts and shares a browser.
- ``watchdog``: a process that kills the browser when the process that started it is gone.
- ``devtools``: a connection that speaks Chromium's DevTools protocol, the keys of a keyboard, and the mouse.
"""
