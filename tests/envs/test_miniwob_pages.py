"""Playing MiniWoB++ pages in a real Chromium."""

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from planbook.envs.devtools import CommandRefused, Connection
from planbook.envs.errors import EpisodeEnded
from planbook.envs.miniwob import Miniwob
from planbook.envs.types import Action, Selection
from tests.browser import act, need_browser, start
from tests.executing import wait_until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def environment() -> Iterator[Miniwob]:
    need_browser()
    environment = Miniwob()
    yield environment
    environment.close()


def found(environment: Miniwob, xpath: str) -> Any:
    """Return the descriptions of the elements that match the XPath expression."""
    return environment.find(xpath)


def texts(environment: Miniwob, xpath: str) -> list[str]:
    return [item["text"] for item in found(environment, xpath)]


def attributes(environment: Miniwob, xpath: str) -> dict[str, object]:
    return dict(found(environment, xpath)[0]["attributes"])


def test_the_goal_and_its_params_are_read_from_the_page(environment: Miniwob) -> None:
    first = start(environment, "login-user/3")
    assert environment.task is not None
    assert environment.task.goal.startswith('Enter the username "keneth" and the password "91YP"')
    assert environment.task.params == {"username": "keneth", "password": "91YP"}
    assert first.text.startswith('<div id="wrap">')
    assert "reward" not in first.text
    assert "sync-task-cover" not in first.text


def test_a_login_is_solved_and_the_typed_values_show(environment: Miniwob) -> None:
    start(environment, "login-user/3")
    act(environment, "click_xpath", "//*[@id='username']")
    assert 'value="keneth"' in act(environment, "type", "keneth").text
    act(environment, "press_key", "tab")
    act(environment, "type", "91YP")
    assert not act(environment, "press_key", "tab").terminated
    assert not environment.verdict().solved
    assert act(environment, "press_key", "enter").terminated
    assert environment.verdict().solved
    with pytest.raises(EpisodeEnded):
        act(environment, "press_key", "enter")


def test_a_wrong_answer_ends_the_episode_unsolved(environment: Miniwob) -> None:
    start(environment, "login-user/3")
    assert act(environment, "click_xpath", "//button").terminated
    assert (environment.verdict().solved, environment.verdict().score) == (False, 0.0)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Action("click_xpath", ("//button[3]",)), "no element matches //button[3]"),
        (Action("click_xpath", ("//button[",)), "not a valid XPath expression"),
        (Action("click_xpath", ("//button/@id",)), "does not name an element"),
        (Action("click_xpath", ("count(//button)",)), "no element matches"),
        (Action("move_mouse_on", ("//td",)), "no element matches //td"),
        (Action("drag", ("//input", "//td")), "no element matches //td"),
        (Action("click_at", ("//button", 500, 5)), "does not lie on the element"),
        (Action("scroll", ("//button", 100)), "can be scrolled"),
        (Action("type", ("text",)), "no text field has the focus"),
        (Action("press_key", ("hyper",)), "no key named 'hyper'"),
    ],
    ids=str,
)
def test_a_refusal_and_its_reason_come_before_the_page(environment: Miniwob, action: Action, reason: str) -> None:
    page = start(environment, "login-user/1").text
    refused = environment.act(action)
    line, _, rest = refused.text.partition("\n")
    assert not refused.accepted
    assert line.startswith("Nothing happens: ")
    assert reason in line
    assert rest == page


def test_a_covered_disabled_or_invisible_element_is_not_clicked(environment: Miniwob) -> None:
    for seed in range(20):
        start(environment, f"login-user-popup/{seed}")
        act(environment, "click_xpath", "//*[@id='username']")
        if texts(environment, "//*[@id='popup']"):
            break
    refused = act(environment, "click_xpath", "//*[@id='password']")
    assert "disabled" in refused.text.splitlines()[0]
    refused = act(environment, "click_xpath", "//label[text()='Password']")
    assert 'covered by <div id="popup">' in refused.text.splitlines()[0]
    assert act(environment, "click_xpath", "//*[@id='popup-cancel']").accepted
    assert act(environment, "click_xpath", "//*[@id='password']").accepted
    start(environment, "guess-number/1")
    refused = act(environment, "click_xpath", "//*[@id='correct']")
    assert "is not visible" in refused.text.splitlines()[0]


def test_an_option_of_a_list_is_chosen(environment: Miniwob) -> None:
    start(environment, "choose-list/1")
    assert environment.task is not None
    option = f"//option[text()='{environment.task.params['target']}']"
    act(environment, "click_option", option)
    assert attributes(environment, option)["selected"] == "selected"
    act(environment, "click_xpath", "//button")
    assert environment.verdict().solved


def test_a_list_of_several_choices_adds_and_removes_options(environment: Miniwob) -> None:
    def selected() -> list[int]:
        return [n for n in (1, 2, 3) if "selected" in attributes(environment, f"//option[{n}]")]

    start(environment, "click-scroll-list/1")
    act(environment, "click_option", "//option[1]")
    act(environment, "click_option", "//option[2]")
    assert selected() == [1, 2]
    act(environment, "click_option", "//option[1]")
    assert selected() == [2]


def test_icons_are_loaded_before_the_first_click(environment: Miniwob) -> None:
    for seed in range(3):
        environment.close()  # the next episode has a new tab, which has not loaded the page
        start(environment, f"social-media/{seed}")
        act(environment, "click_xpath", "(//*[@class='more'])[last()]")
        assert "Share via DM" in texts(environment, "//ul[not(contains(@class, 'hide'))]/li")


def test_find_describes_each_element_and_returns_its_xpath(environment: Miniwob) -> None:
    start(environment, "click-test-2/1")
    first, second = found(environment, "//button")
    assert (first["text"], first["tag"], first["visible"], first["box"]["width"]) == ("ONE", "button", True, 40)
    assert texts(environment, second["xpath"]) == ["TWO"]
    assert texts(environment, "//button/@id") == ["subbtn", "subbtn2"]
    assert texts(environment, "//button/text()") == ["ONE", "TWO"]
    assert environment.find("//button[") == []
    assert environment.find("//script") == []


def test_selected_text_is_replaced_and_a_wrong_guess_gets_feedback(environment: Miniwob) -> None:
    start(environment, "guess-number/1")
    for guess in ("0", "9"):
        act(environment, "click_xpath", "//*[@id='tt']")
        act(environment, "select_text", "//*[@id='tt']")
        act(environment, "type", guess)
        assert attributes(environment, "//*[@id='tt']")["value"] == guess
        last = act(environment, "click_xpath", "//*[@id='subbtn']")
        if last.terminated:
            return
    assert 'id="lower"' in last.text


def test_the_terminal_takes_typed_commands_and_its_clock_stands_still(environment: Miniwob) -> None:
    first = start(environment, "terminal/1")
    assert "Wed Jan 01 2020" in first.text
    act(environment, "click_xpath", "//*[@id='terminal']")
    answer = act(environment, "type", "ls\n")
    assert answer.accepted
    assert texts(environment, "//*[@class='terminal-output'][last()]")[0] not in ("", "Command not found.")


def test_drag_scroll_and_click_at_are_accepted(environment: Miniwob) -> None:
    start(environment, "email-inbox/1")
    assert act(environment, "scroll", "//*[@id='main']", 50).accepted
    start(environment, "grid-coordinate/1")
    assert act(environment, "click_at", "//*[local-name()='svg']", 75, 75).terminated
    start(environment, "enter-text/1")
    assert act(environment, "drag", "//*[@id='query']", "//button").accepted


@pytest.mark.deep
@pytest.mark.parametrize("type_name", Miniwob.types)
def test_a_seed_gives_the_same_page_after_any_episode(environment: Miniwob, type_name: str) -> None:
    tasks = Miniwob.tasks(Selection(types=(type_name,), seeds=(0, 1)))
    environment.close()
    fresh = [environment.reset(task) for task in tasks]
    for turn in range(3):
        assert environment.reset(tasks[turn % 2]) == fresh[turn % 2]
        wander(environment, random.Random(turn))


def wander(environment: Miniwob, rng: random.Random) -> None:
    """Take random actions, and avoid finishing the episode where possible."""
    for _ in range(6):
        elements = found(environment, "//body//*[not(@id='query') and not(contains(., 'ubmit'))]")
        chosen = rng.choice([item for item in elements if item["visible"]])
        act(environment, "click_option", str(chosen["xpath"]))
        if not environment.ended and chosen["tag"] in ("input", "textarea"):
            act(environment, "type", "1a")
        if environment.ended:
            return


def test_a_replayed_history_gives_the_same_page(environment: Miniwob) -> None:
    start(environment, "search-engine/2")
    act(environment, "click_xpath", "//*[@id='search-text']")
    act(environment, "type", "Jess")
    act(environment, "click_xpath", "//*[@id='search']")
    snapshot = environment.snapshot()
    act(environment, "click_xpath", "//*[@id='pagination']//a[text()='2']")
    assert environment.restore(snapshot) == snapshot.last


def _has_loaded_again(connection: Connection) -> bool:
    with suppress(CommandRefused):  # the old page may disappear during the request
        return bool(connection.evaluate("document.readyState === 'complete' && !window.isOld"))
    return False


def test_a_reloaded_page_ends_the_episode_and_a_reset_restores_it(environment: Miniwob) -> None:
    start(environment, "click-test/1")
    tab = environment._tab
    assert tab is not None
    tab._connection.evaluate("window.isOld = true; location.reload()")
    wait_until(lambda: _has_loaded_again(tab._connection))
    assert act(environment, "press_key", "tab").terminated
    assert not environment.verdict().solved
    start(environment, "click-test/1")
    assert act(environment, "click_xpath", "//button").terminated
    assert environment.verdict().solved


def test_partial_credit_is_not_success(environment: Miniwob) -> None:
    for seed in range(20):
        start(environment, f"click-checkboxes-large/{seed}")
        act(environment, "click_xpath", "//*[@id='subbtn']")
        if 0 < environment.verdict().score < 1:
            assert not environment.verdict().solved
            return
    pytest.fail("no seed gave partial credit")


def test_the_reward_can_neither_be_read_nor_found_by_xpath(environment: Miniwob) -> None:
    for name in ("click-test/1", "click-test/2"):  # the second page shows the first one's reward
        start(environment, name)
        shown = str(environment.find("//body")) + str(environment.find("//*")) + str(environment.find("//body//text()"))
        assert "Last reward" not in shown
        assert "Episodes done" not in shown
        assert "reward-last" not in shown
        for oracle in ("//body[contains(string(//*[@id='reward-last']),'-')]", "//body[//*[@id='reward-display']]"):
            assert environment.find(oracle) == []
            assert not act(environment, "click_xpath", oracle).accepted
        act(environment, "click_xpath", "//button")
