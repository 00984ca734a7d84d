"""Helpers for tests of the Trac site. They skip tests if Trac is missing, and change the site over HTTP."""

import os
import re
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar

import pytest

from planbook.envs.web.sites import requirements


def need_trac() -> None:
    """Skip the test if Trac is missing; in CI, fail it."""
    if requirements()[0].found is not None:
        return
    reason = f"Trac is missing: {requirements()[0].remedy}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(reason)
    pytest.skip(reason)


class Visitor:
    """A user of the site who has cookies and sends forms."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._cookies = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies))

    def page(self, path: str) -> str:
        """Return the HTML at a path."""
        with self._opener.open(self.url + path, timeout=30) as answer:
            return str(answer.read().decode())

    def send(self, path: str, **fields: str) -> str:
        """Post a form with the token that Trac requires. Return the HTML of the answer."""
        if not any(cookie.name == "trac_form_token" for cookie in self._cookies):
            self.page("/wiki")
        token = next(cookie.value for cookie in self._cookies if cookie.name == "trac_form_token")
        body = urllib.parse.urlencode({"__FORM_TOKEN": token, **fields}).encode()
        with self._opener.open(self.url + path, body, timeout=30) as answer:
            return str(answer.read().decode())

    def change_ticket(self, number: int, **fields: str) -> str:
        """Submit the current form of a ticket with new values in some fields."""
        form = self.page(f"/ticket/{number}")
        stamps = dict(re.findall(r'name="(start_time|view_time)"\s+value="(\d+)"', form))
        return self.send(f"/ticket/{number}", **{"action": "leave", "submit": "Submit changes"} | stamps | fields)

    def write_page(self, name: str, text: str, version: int) -> str:
        """Save a wiki page in place of this version; version 0 creates a new page."""
        return self.send(f"/wiki/{name}", action="edit", text=text, version=str(version), save="Submit changes")
