"""The actions of the web environment, and the list of the actions that are possible on the current page."""

from collections.abc import Callable

from pydantic import BaseModel, JsonValue

from planbook.envs.base import Environment, action, query
from planbook.envs.devtools import Answer
from planbook.envs.errors import EnvironmentBroken, EpisodeEnded, closing_if_broken
from planbook.envs.types import Action, Observation, Verdict
from planbook.envs.web.accessibility import INTERACTIVE_ROLES, AccessibilityNode, quote
from planbook.envs.web.context import BrowserContext
from planbook.envs.web.page import ElementRef
from planbook.envs.web.tabs import Browsing, TabAction, WebTab

FIELD_ROLES = ("textbox", "searchbox", "spinbutton", "slider", "combobox", "listbox", "date", "inputtime", "datetime",
               "colorwell")  # fmt: skip
"""Roles of form fields whose values cannot be changed just by clicking."""


def _node_actions(node: AccessibilityNode, browsing: Browsing) -> list[Action]:
    if "disabled" in node.properties or node.role not in INTERACTIVE_ROLES or node.role == "option":
        return []
    if node.role in FIELD_ROLES:
        return [Action("select", (browsing.number(node), option)) for option in node.options if option != node.value]
    return [Action("click", (browsing.number(node),))]


DIRECTIONS = {"down": 1, "up": -1}
"""Maps a direction to the sign of the scrolled distance."""


class WebActions(Environment):
    """The actions of the web environment, which use the tabs of one episode."""

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._context: BrowserContext | None = None
        self._browsing: Browsing | None = None
        self._notes: list[str] = []
        self._answer: str | None = None
        self._verdict: Verdict | None = None
        """The verdict on the current state, or None if it has not been requested since the last change."""

    @action("agent.click(12) -> the updated page")
    def click(self, element: int) -> Observation:
        """Click on an element. If it is out of view, the page is scrolled to it first.

        The element must not be hidden, disabled or covered. If a new tab opens, it becomes the current tab.
        """
        return self._act_on(element, WebTab.click)

    @action("agent.type(7, 'blue shoes') -> the updated page")
    def type(self, element: int, text: str, enter: bool = True) -> Observation:
        """Replace the content of a field with a text, and press Enter unless ``enter`` is False.

        In a ``<textarea>``, Enter is never pressed. Write dates as 2024-05-31 and times as 17:05. If there is no action
        ``select``, the text selects an option of a select box.
        """

        def type_or_select(tab: WebTab, ref: ElementRef) -> Answer:
            answer = tab.type(ref, text, enter)
            is_select_box = "isSelectBox" in answer and "select" not in self.offer.actions
            return tab.call_script(ref, "choose", text) if is_select_box else answer

        return self._act_on(element, type_or_select)

    @action("agent.select(9, 'Large') -> the updated page", name="select")
    def select_option(self, element: int, option: str) -> Observation:
        """Select an option of a select box by its text. If the box allows several, a selected option is deselected."""
        return self._act_on(element, lambda tab, ref: tab.call_script(ref, "choose", option))

    @action("agent.scroll('down') -> the updated page")
    def scroll(self, direction: str, element: int = 0) -> Observation:
        """Scroll the page 'down' or 'up' by most of the window's height.

        If ``element`` is given, scroll the part of the page that contains it.
        """
        if direction not in DIRECTIONS:
            return self._do(lambda _: f"there is no direction {direction!r}; there are down and up")
        sign = DIRECTIONS[direction]
        if element:
            return self._act_on(element, lambda tab, ref: tab.scroll(sign, ref))
        return self._do(lambda tab: _refusal_text(tab.scroll(sign, None), "the page"))

    @action("agent.goto('http://example.org/shoes') -> the page there")
    def goto(self, url: str) -> Observation:
        """Open an address in the current tab. An address that begins with / is on the same site."""
        browsing = self._open_browsing()
        return self._do(lambda tab: tab.navigate(browsing.names.resolve(url.strip(), browsing.base_url)))

    @action("agent.go_back() -> the previous page")
    def go_back(self) -> Observation:
        """Go back to the previous page in the tab's history."""
        return self._do(lambda tab: self._open_browsing().step(tab, -1))

    @action("agent.go_forward() -> the next page")
    def go_forward(self) -> Observation:
        """Go forward to the next page in the tab's history."""
        return self._do(lambda tab: self._open_browsing().step(tab, 1))

    @action("agent.new_tab() -> an empty page")
    def new_tab(self) -> Observation:
        """Open an empty tab, which becomes the current tab. Use goto to open an address in it."""
        return self._do(lambda _: self._open_browsing().open_tab())

    @action("agent.switch_tab(1) -> the page in that tab")
    def switch_tab(self, number: int) -> Observation:
        """Switch to another tab. Tabs are numbered from 1."""
        browsing = self._open_browsing()
        if not 1 <= number <= len(browsing.tabs):
            return self._do(lambda _: f"there is no tab {number}; there are {len(browsing.tabs)}")
        browsing.switch(number - 1)
        return self._do(lambda _: "")

    @action("agent.close_tab() -> the page in the tab before it")
    def close_tab(self) -> Observation:
        """Close the current tab. The only open tab cannot be closed."""
        browsing = self._open_browsing()
        if len(browsing.tabs) == 1:
            return self._do(lambda _: "it is the only tab")
        browsing.close_tab()
        return self._do(lambda _: "")

    @action("agent.note_down('the red ones cost 12.50') -> the page, unchanged")
    def note_down(self, text: str) -> Observation:
        """Save a note for later. Every description of the state repeats all notes."""
        browsing = self._open_browsing()
        self._notes.append(text)
        return browsing.last_observation()

    @action("agent.stop('12.50') -> the end of the task")
    def stop(self, answer: str = "") -> Observation:
        """End the task with an answer: empty if nothing is asked, 'N/A: ' and the reason if the task cannot be done."""
        self._answer, self._verdict = answer, None
        return Observation(f"The task has ended with the answer {answer!r}.", terminated=True)

    @query("agent.find(role='link', name='shoes') -> [{'id': 12, 'role': 'link', 'name': 'Blue shoes', ...}]")
    def find(self, role: str = "", name: str = "") -> JsonValue:
        """Return the elements of the whole page with this role and with this text in their name, in page order.

        An empty argument matches all. Case is ignored. Each is a dict with ``id``, ``role``, ``name`` (or the text
        inside), ``value``, ``in_view`` and, where they apply, ``checked``, ``expanded``, ``disabled`` and similar keys,
        the ``url`` of a link, and the ``options`` of a select box.
        """
        return self._open_browsing().find(role.lower(), name.lower())

    def possible_actions(self) -> list[Action]:
        """Return the possible clicks and choices on the elements in view, scrolling, going back and going forward."""
        browsing = self._open_browsing()
        page = browsing.page
        if page is None:
            return []
        on_elements = [action for node in page.root.walk() if node.visible for action in _node_actions(node, browsing)]
        history = browsing.tab.history(page.browser_history)
        page_actions = {
            Action("scroll", ("down", 0)): page.pixels_below > 0,
            Action("scroll", ("up", 0)): page.pixels_above > 0,
            Action("go_back"): history.index > 0,
            Action("go_forward"): history.index + 1 < len(history.urls),
        }
        return [*on_elements, *(action for action, possible in page_actions.items() if possible)]

    def _act_on(self, element: int, act: Callable[[WebTab, ElementRef], Answer]) -> Observation:
        browsing = self._open_browsing()

        def act_if_present(tab: WebTab) -> str:
            ref = browsing.element_ref(element)
            if isinstance(ref, str):
                return ref
            reason = _refusal_text(act(tab, ref), browsing.describe_element(element, ref))
            return reason if "select" in self.offer.actions else reason.replace("use select(", "use type(")

        return self._do(act_if_present)

    def _do(self, tab_action: TabAction) -> Observation:
        browsing = self._open_browsing()
        self._verdict = None
        with closing_if_broken(self._close_browsing):
            return browsing.do(tab_action)

    def _open_browsing(self) -> Browsing:
        """Return the episode's tabs.

        Raises EpisodeEnded if no episode has begun, or EnvironmentBroken if the episode's browser is gone.
        """
        if self.task is None:
            raise EpisodeEnded("web: no episode has begun; call reset(task) first")
        if self._browsing is None:
            raise EnvironmentBroken("the browser of this episode is gone; only a reset starts a new one")
        return self._browsing

    def _close_browsing(self) -> None:
        """Close the episode's tabs and their browser context, if there are any."""
        self._browsing = None
        if self._context is not None:
            self._context.close()
            self._context = None


def _refusal_text(answer: Answer, name: str) -> str:
    """Return the reason why an action on an element was refused, or "" if it was carried out.

    ``answer`` is what our script ``page.js`` returned, and ``name`` describes the element.
    """
    if "refused" not in answer:
        return ""
    cover = answer.get("cover")
    if cover:
        return f"{name} is covered by <{quote(cover['tag'], 30)[1:-1]}> {quote(cover['text'], 80)}"
    if "options" in answer:
        return f"{name} {answer['refused']}; it has {', '.join(quote(text, 60) for text in answer['options'][:30])}"
    return f"{name} {answer['refused']}"
