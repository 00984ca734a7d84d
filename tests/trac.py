"""What tests of the Trac site share: changing it over HTTP as a browser would, and skipping where Trac is missing."""

import os
import re
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar

import pytest

from planbook.envs.web.sites import requirements


def need_trac() -> None:
    """Skip the test without Trac; where CI is set, that is a failure."""
    if requirements()[0].found is not None:
        return
    reason = f"Trac is missing: {requirements()[0].remedy}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(reason)
    pytest.skip(reason)


class Visitor:
    """Someone with cookies, who sends forms."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._cookies = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies))

    def page(self, path: str) -> str:
        """The HTML at a path."""
        with self._opener.open(self.url + path, timeout=30) as answer:
            return str(answer.read().decode())

    def send(self, path: str, **fields: str) -> str:
        """Post a form with the page's token, which Trac wants."""
        if not any(cookie.name == "trac_form_token" for cookie in self._cookies):
            self.page("/wiki")
        token = next(cookie.value for cookie in self._cookies if cookie.name == "trac_form_token")
        body = urllib.parse.urlencode({"__FORM_TOKEN": token, **fields}).encode()
        with self._opener.open(self.url + path, body, timeout=30) as answer:
            return str(answer.read().decode())

    def change_ticket(self, number: int, **fields: str) -> str:
        """Submit the form of a ticket as it stands now, with other values in some fields."""
        form = self.page(f"/ticket/{number}")
        stamps = dict(re.findall(r'name="(start_time|view_time)"\s+value="(\d+)"', form))
        return self.send(f"/ticket/{number}", **{"action": "leave", "submit": "Submit changes"} | stamps | fields)

    def write_page(self, name: str, text: str, version: int) -> str:
        """Save a wiki page over a version (0: a new page)."""
        return self.send(f"/wiki/{name}", action="edit", text=text, version=str(version), save="Submit changes")
