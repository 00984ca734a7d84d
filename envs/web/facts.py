"""What judging may look at when an episode is over."""

import json
from dataclasses import dataclass

from planbook.envs.web.context import TabGone
from planbook.envs.web.sites import Site
from planbook.envs.web.tab import Tab
from planbook.envs.web.visit import Visit

WHOLE = "document.body?.innerText"


@dataclass
class End:
    """The end of an episode; pages are looked at in tabs of which the episode hears nothing."""

    visit: Visit
    answer: str | None
    url: str
    site: Site | None

    def page_text(self, url: str, selector: str = "", script: str = "") -> str:
        """Text of a page; empty where it cannot be loaded or nothing matches."""
        asked = script or (_first(selector) if selector else WHOLE)
        try:
            if url == self.url:
                return _text(self.visit.tab, asked)
            context = self.visit.context
            tab = Tab(context, context.open(hidden=True))
            try:
                return "" if tab.fetch(url) else _text(tab, asked)
            finally:
                context.drop(tab.target)
        except TabGone:
            return ""


def _first(selector: str) -> str:
    found = f"document.querySelector({json.dumps(selector)})"
    return f"(found => found && (found.value ?? found.innerText))({found})"


def _text(tab: Tab, expression: str) -> str:
    value = tab.value(expression)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
