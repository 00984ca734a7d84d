"""If a page misbehaves, the environment reports this and continues."""

import re
import time
from collections.abc import Iterator

import pytest

from planbook.envs import chromium
from planbook.envs.devtools import Connection
from planbook.envs.web import Web
from planbook.envs.web.context import BrowserContext, TabGone
from planbook.envs.web.sites import AddressPolicy
from tests.webserver import Pages, act, click, open_page, serving

pytestmark = pytest.mark.browser


@pytest.fixture
def web(base: str) -> Iterator[Web]:
    environment = open_page(base, "/links")
    yield environment
    environment.close()


@pytest.mark.deep
def test_a_page_that_never_loads_is_refused(base: str) -> None:
    environment = open_page(base, "/links", patience=2)
    for seen in (click(environment, "slow"), act(environment, "goto", "/slow")):
        assert "Nothing happens: the page did not load within 2 seconds." in seen.text
        assert not seen.accepted
    assert "Posted" in click(environment, "post").text
    environment.close()


def test_an_endless_script_costs_only_its_tab(base: str) -> None:
    environment = open_page(base, "/two", patience=2)
    act(environment, "goto", "/links")
    lost = click(environment, "loop")
    assert "The tab was lost and replaced by an empty one: the page did not answer for 2 seconds." in lost.text
    assert "Address: about:blank" in lost.text
    assert "Title: 'Second'" in act(environment, "go_back").text
    assert "The tab was lost" in act(environment, "goto", "/loops").text
    assert "Title: 'Second'" in act(environment, "go_back").text
    environment.close()


def test_a_crash_costs_only_its_tab(base: str, web: Web) -> None:
    act(web, "goto", "/two")
    assert web._browsing is not None
    context = web._browsing.context
    context.connection.post("Page.crash", web._browsing.tab.target.session)
    while not web._browsing.tab.target.gone:
        context.connection.listen(1)
    assert "The tab was lost and replaced by an empty one: the page crashed." in act(web, "scroll", "down").text
    assert "Title: 'Links'" in act(web, "go_back").text


def test_dialogs_are_answered_and_reported(web: Web) -> None:
    act(web, "goto", "/dialogs")
    assert "A dialog (alert) said 'first [1] button'; it was closed." in click(web, "alert").text
    sure = click(web, "confirm")
    assert "A dialog (confirm) said 'sure?'; it was answered with OK." in sure.text
    assert "Title: 'true'" in sure.text
    who = click(web, "prompt")
    assert "A dialog (prompt) said 'who?'; it was cancelled." in who.text
    assert "Title: 'null'" in who.text
    assert "it was closed. (9 times)" in click(web, "nine").text
    assert "The page asked for a file; there is none to give." in click(web, "upload").text
    click(web, "hold")
    left = act(web, "goto", "/two")
    assert "A dialog (beforeunload) came up; the page was left." in left.text
    assert "Title: 'Second'" in left.text


def test_a_tab_closed_by_its_opener_is_not_reported_as_crashed(web: Web) -> None:
    act(web, "goto", "/links")
    assert "crashed" not in click(web, "brief").text


def test_a_tab_that_was_closed_a_moment_ago_is_gone() -> None:
    browser = chromium.shared_browser()
    context, other = BrowserContext(browser, AddressPolicy(()), patience=10), Connection(browser.url)
    target = context.open_tab()
    other.call("Target.closeTarget", targetId=target.id)
    while any(info["targetId"] == target.id for info in other.call("Target.getTargets")["targetInfos"]):
        time.sleep(0.01)
    with pytest.raises(TabGone, match="a page closed it"):
        context.call(target, "Page.getFrameTree")
    context.close()
    other.close()


@pytest.mark.deep
def test_endless_dialogs_cost_the_tab(base: str) -> None:
    environment = open_page(base, "/dialogs", patience=2)
    seen = click(environment, "endless")
    assert re.search(r"A dialog \(alert\) said 'again'; it was closed. \(\d+ times\)", seen.text)
    assert "The tab was lost" in seen.text
    assert "Title: 'Second'" in act(environment, "goto", "/two").text
    environment.close()


def test_downloads_are_refused(web: Web) -> None:
    seen = click(web, "file")
    assert "The page wanted to download the file 'a.bin'; nothing is downloaded here." in seen.text
    assert "Title: 'Links'" in seen.text


def test_popups_become_tabs_whose_dialogs_are_answered(web: Web) -> None:
    answered = "A dialog (alert) said 'from a popup'; it was closed."
    for _ in range(4):
        if answered in (seen := click(web, "popup")).text:
            break
        assert "was closed again: the page did not answer" in seen.text, "the dialog opened before we listened"
    assert answered in seen.text
    assert "Tabs: 1, 2 (current)" in seen.text
    closed = click(web, "close me")
    assert "A tab was closed by its page." in closed.text
    assert "Title: 'Links'" in closed.text


def test_the_number_of_tabs_is_limited(web: Web) -> None:
    seen = click(web, "many")
    assert "which was not opened, since 8 tabs are open. (13 times)" in seen.text
    assert "Tabs: 1, 2, 3, 4, 5, 6, 7, 8 (current)" in seen.text
    assert "no more than 8 tabs can be open" in act(web, "new_tab").text


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("file:///etc/passwd", "'file' addresses cannot be opened"),
        ("javascript:alert(1)", "'javascript' addresses cannot be opened"),
        ("data:text/html,x", "'data' addresses cannot be opened"),
        ("nonsense", "an address must begin with http://, https://, or /"),
        ("http://", "the address is not well-formed"),
        ("http://127.0.0.1:1/", "127.0.0.1:1 may not be visited here; allowed: 127.0.0.1:"),
        ("http://example.org/", "example.org:80 may not be visited here"),
    ],
)
def test_forbidden_addresses_are_refused(web: Web, address: str, reason: str) -> None:
    seen = act(web, "goto", address)
    assert not seen.accepted
    assert reason in seen.text.split("\n")[0]
    assert "Title: 'Links'" in seen.text


def test_pages_cannot_lead_to_forbidden_addresses(base: str, web: Web) -> None:
    seen = click(web, "elsewhere")
    assert "Nothing happens: 'http://127.0.0.1:1/x' was not opened: 127.0.0.1:1 may not" in seen.text
    assert not seen.accepted
    assert "Title: 'Links'" in click(web, "local").text
    with serving() as other:
        assert act(web, "goto", "/to?" + other).accepted
        Pages.seen.clear()
        click(web, "load")
        click(web, "open")
        assert "refused" in web._last_observation.text
        assert not [each for each in Pages.seen if each.endswith("/two")]


def test_text_of_a_page_cannot_imitate_our_lines(web: Web) -> None:
    lines = act(web, "goto", "/lies").text.split("\n")
    assert [line[:8] for line in lines[:3]] == ["Address:", 'Title: "', "In view "]
    assert [line.partition("] ")[2].split(" ")[0] for line in lines[3:]] == ["button", "paragraph", "paragraph"]
    assert not any(mark in "".join(lines) for mark in ("\u202e", "\u2028"))
    assert "there is no element [98]" in act(web, "click", 98).text


def test_a_server_without_a_response_is_reported(web: Web) -> None:
    seen = click(web, "closed")
    assert "/closed' could not be loaded (EMPTY_RESPONSE)." in seen.text.split("\n")[0]
    assert not seen.accepted
    assert "Title: 'Links'" in seen.text
    assert "Posted" in click(web, "post").text


@pytest.mark.deep
def test_a_lost_background_tab_and_a_failed_restore_are_reported(base: str) -> None:
    environment = open_page(base, "/two", patience=2)
    snapshot = environment.snapshot()
    act(environment, "new_tab")
    act(environment, "goto", "/once")
    looping = environment.snapshot()
    assert environment._browsing is not None
    environment._browsing.context.connection.post("Page.crash", environment._browsing.tabs[0].target.session)
    assert "The tab was lost and replaced by an empty one" in act(environment, "switch_tab", 1).text
    assert "Title: 'Second'" in environment.restore(snapshot).text
    back = environment.restore(looping)
    assert back.accepted
    assert "The tab was lost and replaced by an empty one: the page did not answer for 2 seconds." in back.text
    assert "Title: 'Second'" in act(environment, "switch_tab", 1).text
    environment.close()
