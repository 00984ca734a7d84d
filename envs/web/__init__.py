"""Web pages: any address in a real Chromium, read as an accessibility tree."""

from planbook.envs.web.environment import Web

__all__ = ["Web"]
