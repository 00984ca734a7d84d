"""Reading and using pages in a real Chromium."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from planbook.envs import chromium
from planbook.envs.types import Observation
from planbook.envs.web import Web
from tests.webserver import Pages, act, click, element_number, open_page, serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def web(base: str) -> Iterator[Web]:
    environment = open_page(base, "/")
    yield environment
    environment.close()


def go_to_page(environment: Web, path: str) -> Observation:
    """Open the page at a path."""
    return act(environment, "goto", path)


def test_a_page_is_shown_as_its_accessibility_tree(web: Web, base: str) -> None:
    lines = re.sub(r"\[\d+\]", "[n]", go_to_page(web, "/").text).split("\n")
    assert lines[:3] == [f"Address: {base}/", "Title: 'Home'", "In view (all of it):"]
    for line in (
        "[n] heading 'Home' level=1",
        "  [n] text 'bold'",
        "[n] link 'Two'",
        "[n] button 'Off' disabled",
        "[n] textbox 'Query' value='old'",
        "[n] checkbox 'Agree' checked=false",
        "[n] combobox 'Size' value='Large' options='Small' | 'Large' | 'Huge' expanded=false",
        "[n] textbox 'Fixed' value='f' readonly",
    ):
        assert line in lines
    assert "invisible" not in "".join(lines)
    assert "far away" not in "".join(lines)


def test_fields_boxes_and_lists_can_be_filled_in(web: Web) -> None:
    go_to_page(web, "/")
    assert "checked=true" in click(web, "agree").text
    assert "value='Small'" in act(web, "select", element_number(web, "size"), "small").text
    assert "value='2024-05-31'" in act(web, "type", element_number(web, "day"), "2024-05-31", False).text
    by_label = act(web, "type", element_number(web, "date", "text"), "2024-06-01", False)
    assert "date 'Due date' value='2024-06-01'" in by_label.text
    assert "value='two lines'" in act(web, "type", element_number(web, "long"), "two\nlines").text
    assert "value='••'" in act(web, "type", element_number(web, "secret"), "pw", False).text
    found = act(web, "type", element_number(web, "query"), "new \u00e9 words")
    assert "'q=new+%C3%A9+words'" in found.text
    assert not found.lasting


@pytest.mark.parametrize(
    ("name", "action", "more", "reason"),
    [
        ("off", "click", (), "button 'Off' is disabled"),
        ("size", "click", (), "use select(element, option)"),
        ("file", "click", (), "takes a file"),
        ("size", "select", ("huge",), "is disabled"),
        ("size", "select", ("tiny",), "it has 'Small', 'Large', 'Huge'"),
        ("press", "select", ("x",), "is not a select box"),
        ("press", "type", ("x",), "is not a field"),
        ("fixed", "type", ("x",), "is read-only"),
        ("query", "type", ("x\ny",), "takes only one line"),
        ("day", "type", ("tomorrow",), "does not accept this text"),
    ],
)
def test_a_refusal_gives_the_reason(web: Web, name: str, action: str, more: tuple[str, ...], reason: str) -> None:
    go_to_page(web, "/")
    seen = act(web, action, element_number(web, name), *more)
    assert not seen.accepted
    assert seen.text.startswith("Nothing happens: ")
    assert reason in seen.text.split("\n")[0]


def test_a_number_of_another_page_is_refused(web: Web) -> None:
    go_to_page(web, "/")
    press = element_number(web, "press")
    go_to_page(web, "/two")
    assert "is on a page that was left" in act(web, "click", press).text
    assert "there is no element [12345]" in act(web, "click", 12345).text


def test_a_covered_element_is_refused_with_what_covers_it(web: Web) -> None:
    go_to_page(web, "/covered")
    assert "button 'Under' is covered by <div> 'Cookies'" in click(web, "under").text


def test_elements_keep_their_numbers(web: Web) -> None:
    go_to_page(web, "/changing")
    first, second = element_number(web, "A", "button"), element_number(web, "B", "button")
    click(web, "add")
    assert element_number(web, "new", "button") not in (first, second)
    assert (element_number(web, "A", "button"), element_number(web, "B", "button")) == (first, second)
    click(web, "drop")
    assert "there" in act(web, "click", second).text or not web._last_observation.accepted
    go_to_page(web, "/two")
    go_to_page(web, "/changing")
    assert (element_number(web, "A", "button"), element_number(web, "B", "button")) == (first, second)


def test_scrolling_shows_elements_out_of_view(web: Web) -> None:
    seen = go_to_page(web, "/tall")
    assert re.search(r"In view \(0 px above, \d{4} px below\):", seen.text)
    assert "Deep" not in seen.text
    deep = element_number(web, "deep")
    assert "Deep" in act(web, "click", deep).text
    assert "the page cannot be scrolled any further down" in act(web, "scroll", "down").text
    assert act(web, "scroll", "up").accepted
    assert element_number(web, "deep") == deep


def test_frames_and_shadow_trees_belong_to_the_page(web: Web) -> None:
    seen = go_to_page(web, "/frames")
    assert re.search(r"iframe 'in'\n  \[\d+\] button 'Inner'", seen.text)
    assert "iframe 'foreign'" in seen.text
    assert "Title: '1'" in click(web, "inner").text
    assert "Title: '2'" in click(web, "shadow").text


def test_clicks_in_a_padded_and_scaled_frame_reach_their_element(web: Web) -> None:
    for name, title in (("one", "1"), ("two", "2"), ("closed", "3")):
        go_to_page(web, "/inset")
        assert f"Title: '{title}'" in act(web, "click", element_number(web, name, "button")).text


def test_clicks_in_a_frame_of_another_origin_are_refused(base: str) -> None:
    with serving() as other:
        hosts = tuple(address.removeprefix("http://") for address in (base, other))
        environment = open_page(base, f"/inset?{other}/two", allowed=hosts)
        seen = act(environment, "click", element_number(environment, "home", "link"))
        environment.close()
    assert "is in a frame that is rotated or has another origin" in seen.text
    assert "Title: 'Inset'" in seen.text


def test_a_page_that_consists_of_one_text_is_shown(web: Web) -> None:
    assert "text 'Your order number is 4711.'" in go_to_page(web, "/sentence").text
    assert element_number(web, "4711")


def test_a_frame_of_another_site_is_not_read(base: str) -> None:
    environment = open_page(base, "/frames", allowed=("localhost",))
    assert re.search(r"iframe 'foreign' unread$", environment.scene(), re.MULTILINE)
    environment.close()


def test_back_and_forward_work_within_a_page(web: Web) -> None:
    go_to_page(web, "/hash")
    assert "'#/one'" in click(web, "one").text
    assert "#" not in act(web, "go_back").text.split("\n")[0]
    assert act(web, "go_forward").text.split("\n")[0].endswith("/hash#/one")
    assert "no page to go forward to" in act(web, "go_forward").text


def test_a_post_request_is_marked_as_lasting(web: Web) -> None:
    go_to_page(web, "/links")
    assert not click(web, "fetch").lasting
    assert "fetched" in web._last_observation.text
    assert click(web, "post").lasting
    assert not act(web, "go_back").lasting
    assert "POST /post" in Pages.seen


def test_tabs_are_opened_switched_and_closed(web: Web, base: str) -> None:
    go_to_page(web, "/links")
    opened = click(web, "new")
    assert "The page opened a new tab, which is the current one now." in opened.text
    assert "Tabs: 1, 2 (current)" in opened.text
    back = act(web, "switch_tab", 1)
    assert "Tabs: 1 (current), 2" in back.text
    assert f"Address: {base}/links" in back.text
    assert "there is no tab 3" in act(web, "switch_tab", 3).text
    assert "Tabs: 1, 2, 3 (current)" in act(web, "new_tab").text
    assert "Tabs: 1, 2 (current)" in act(web, "close_tab").text
    assert "Tabs" not in act(web, "close_tab").text
    assert "the only tab" in act(web, "close_tab").text


def test_feedback_shows_only_changes(web: Web, base: str) -> None:
    before = go_to_page(web, "/")
    after = click(web, "press")
    assert re.fullmatch(r"new: \[\d+\] paragraph 'pressed'", web.brief(after, before))
    assert web.brief(go_to_page(web, "/two"), after) == f"now at {base}/two, 'Second'"


def test_possible_actions_leave_out_disabled_elements(web: Web) -> None:
    go_to_page(web, "/")
    offered = [str(each) for each in web.possible_actions()]
    assert f"click({element_number(web, 'press')})" in offered
    assert f"select({element_number(web, 'size')}, 'Small')" in offered
    assert f"click({element_number(web, 'off')})" not in offered
    assert "go_back()" in offered
    assert "scroll('down', 0)" not in offered


@pytest.mark.deep
def test_only_the_visible_part_of_a_page_of_ten_megabytes_is_read(base: str) -> None:
    environment = open_page(base, "/two", patience=60)
    seen = act(environment, "goto", "/big")
    assert "link 'Link 3'" in seen.text
    assert "find sees only what is in view" in seen.text
    assert len(seen.text) < 12_500
    assert "link 'Link 3'" not in act(environment, "scroll", "down").text
    assert "Title: 'Missing'" in act(environment, "click", element_number(environment, "link", "link")).text
    environment.close()


def test_the_character_limit_of_a_page_is_shown(base: str) -> None:
    environment = open_page(base, "/", characters=200)
    assert re.search(r"\(\d+ more lines in view are left out: the limit is 200 characters\)", environment.scene())
    environment.close()


COMPARED = "a, button, input:not([type=file]), textarea, h1, h2, [role]"
"""The elements to compare. The driver gives a file field another name."""
ROLES = {"InputTime": "inputtime", "Date": "date", "DateTime": "datetime"}


@pytest.fixture
def driver() -> Iterator[webdriver.Chrome]:
    driver = chromium.shared_browser().driver
    before = driver.current_window_handle
    driver.switch_to.new_window("window")
    yield driver
    driver.close()
    driver.switch_to.window(before)


@pytest.mark.parametrize("path", ["/", "/links", "/lies", "/covered"])
def test_names_and_roles_are_those_of_the_driver(web: Web, base: str, driver: webdriver.Chrome, path: str) -> None:
    go_to_page(web, path)
    listed: Any = web.find()
    found = [(item["role"], "".join(item["name"].split())) for item in listed]
    driver.get(base + path)
    elements = [each for each in driver.find_elements(By.CSS_SELECTOR, COMPARED) if each.is_displayed()]
    assert elements
    for element in elements:
        role, name = element.aria_role, "".join(element.accessible_name.split())
        name = "".join(each for each in name if each.isprintable())
        assert (ROLES.get(role, role.lower()), name) in found


def test_a_page_that_navigates_while_it_is_read_is_not_mixed_with_the_next(web: Web, base: str) -> None:
    """The page navigates away at several moments after the click, some of them while it is being read."""
    navigations = 0
    for milliseconds in range(30, 150, 24):
        go_to_page(web, f"/leaving?{milliseconds}")
        lines = click(web, "leave").text.split("\n")
        address, title, elements = lines[0], lines[1], "\n".join(lines[3:])
        gone = address == f"Address: {base}/two"
        assert title == f"Title: '{'Second' if gone else 'Leaving'}'"
        assert ("heading 'Two'" if gone else "button 'Leave'") in elements, lines[:6]
        navigations += gone
        if not gone:
            time.sleep(0.2)  # otherwise it navigates away during the next action
    assert navigations
