"""A real Chromium, shared by the environments that show web pages.

- ``chromium``: finds Chromium on this machine, starts it, and shares one browser within a process.
- ``devtools``: connections that speak Chromium's DevTools protocol, and commands for keyboard and mouse.
"""
