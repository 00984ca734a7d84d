"""A real Chromium, shared by the environments that use it.

- ``chromium``: finding, starting and sharing a browser. ``watchdog`` ends it when its owner is gone.
- ``devtools``: the DevTools protocol, and the keys of a keyboard.
"""
