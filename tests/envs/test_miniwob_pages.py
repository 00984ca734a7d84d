"""Playing MiniWoB++ pages in a real Chromium."""

import random
from collections.abc import Iterator
from contextlib import suppress

import pytest

from planbook.envs.browser.devtools import CommandRefused, Connection
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


def texts(environment: Miniwob, xpath: str) -> list[str]:
    found = environment.find(xpath)
    assert isinstance(found, list)
    return [str(item["text"]) for item in found if isinstance(item, dict)]


def attributes(environment: Miniwob, xpath: str) -> dict[str, object]:
    found = environment.find(xpath)
    assert isinstance(found, list)
    assert isinstance(found[0], dict)
    assert isinstance(found[0]["attributes"], dict)
    return dict(found[0]["attributes"])


def test_goal_and_params_are_there_once_the_page_begins(environment: Miniwob) -> None:
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
    assert not environment.verdict().solved
    last = act(environment, "press_key", "tab")
    assert not last.terminated
    last = act(environment, "press_key", "enter")
    assert last.terminated
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
        (Action("click_xpath", ("//script",)), "no element matches"),
        (Action("click_xpath", ("//*[@id='reward-display']",)), "no element matches"),
        (Action("click_option", ("//option",)), "no element matches //option"),
        (Action("move_mouse_on", ("//td",)), "no element matches //td"),
        (Action("drag", ("//input", "//td")), "no element matches //td"),
        (Action("click_at", ("//button", 500, 5)), "does not lie on the element"),
        (Action("scroll", ("//button", 100)), "can be scrolled"),
        (Action("type", ("text",)), "no text field has the focus"),
        (Action("press_key", ("hyper",)), "no key named 'hyper'"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said_first(environment: Miniwob, action: Action, reason: str) -> None:
    page = start(environment, "login-user/1").text
    refused = environment.act(action)
    line, _, rest = refused.text.partition("\n")
    assert not refused.accepted
    assert line.startswith("Nothing happens: ")
    assert reason in line
    assert rest == page


def test_an_element_under_another_is_not_clicked(environment: Miniwob) -> None:
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


def test_an_element_that_is_not_shown_is_not_clicked(environment: Miniwob) -> None:
    start(environment, "guess-number/1")
    refused = act(environment, "click_xpath", "//*[@id='correct']")
    assert "is not visible" in refused.text.splitlines()[0]


def test_options_are_chosen_as_a_person_would(environment: Miniwob) -> None:
    start(environment, "choose-list/1")
    assert environment.task is not None
    option = f"//option[text()='{environment.task.params['target']}']"
    act(environment, "click_option", option)
    assert attributes(environment, option)["selected"] == "selected"
    act(environment, "click_xpath", "//button")
    assert environment.verdict().solved


def test_a_list_of_several_takes_and_gives_back(environment: Miniwob) -> None:
    start(environment, "click-scroll-list/1")
    act(environment, "click_option", "//option[1]")
    act(environment, "click_option", "//option[2]")
    assert [number for number in (1, 2, 3) if "selected" in attributes(environment, f"//option[{number}]")] == [1, 2]
    act(environment, "click_option", "//option[1]")
    assert [number for number in (1, 2, 3) if "selected" in attributes(environment, f"//option[{number}]")] == [2]


def test_icons_are_there_before_the_first_click(environment: Miniwob) -> None:
    for seed in range(3):
        environment.close()  # a tab that has not seen the page
        start(environment, f"social-media/{seed}")
        act(environment, "click_xpath", "(//*[@class='more'])[last()]")
        assert "Share via DM" in texts(environment, "//ul[not(contains(@class, 'hide'))]/li")


def test_find_describes_elements_and_names_each(environment: Miniwob) -> None:
    start(environment, "click-test-2/1")
    found = environment.find("//button")
    assert isinstance(found, list)
    first, second = found
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert (first["text"], first["tag"], first["visible"]) == ("ONE", "button", True)
    assert isinstance(first["box"], dict)
    assert first["box"]["width"] == 40
    assert texts(environment, str(second["xpath"])) == ["TWO"]
    assert texts(environment, "//button/@id") == ["subbtn", "subbtn2"]
    assert texts(environment, "//button/text()") == ["ONE", "TWO"]
    assert environment.find("//button[") == []
    assert environment.find("//script") == []


def test_a_guess_shows_its_feedback_and_text_can_be_replaced(environment: Miniwob) -> None:
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


def test_the_terminal_takes_real_keys_and_stands_still(environment: Miniwob) -> None:
    first = start(environment, "terminal/1")
    assert "Wed Jan 01 2020" in first.text
    act(environment, "click_xpath", "//*[@id='terminal']")
    answer = act(environment, "type", "ls\n")
    assert answer.accepted
    assert texts(environment, "//*[@class='terminal-output'][last()]")[0] not in ("", "Command not found.")


def test_drag_scroll_and_click_at_reach_the_page(environment: Miniwob) -> None:
    start(environment, "email-inbox/1")
    assert act(environment, "scroll", "//*[@id='main']", 50).accepted
    start(environment, "grid-coordinate/1")
    assert act(environment, "click_at", "//*[local-name()='svg']", 75, 75).terminated
    start(environment, "enter-text/1")
    assert act(environment, "drag", "//*[@id='query']", "//button").accepted


@pytest.mark.deep
@pytest.mark.parametrize("type_name", Miniwob.types)
def test_a_seed_gives_the_same_page_whatever_came_before(environment: Miniwob, type_name: str) -> None:
    tasks = Miniwob.tasks(Selection(types=(type_name,), seeds=(0, 1)))
    environment.close()
    fresh = [environment.reset(task) for task in tasks]
    for turn in range(3):
        assert environment.reset(tasks[turn % 2]) == fresh[turn % 2]
        wander(environment, random.Random(turn))


def wander(environment: Miniwob, chance: random.Random) -> None:
    """Act at random, but leave the episode unfinished where that can be told."""
    for _ in range(6):
        found = environment.find("//body//*[not(@id='query') and not(contains(., 'ubmit'))]")
        assert isinstance(found, list)
        shown = [item for item in found if isinstance(item, dict) and item["visible"]]
        chosen = chance.choice(shown)
        act(environment, "click_option", str(chosen["xpath"]))
        if not environment.ended and chosen["tag"] in ("input", "textarea"):
            act(environment, "type", "1a")
        if environment.ended:
            return


def test_a_replayed_history_is_answered_the_same(environment: Miniwob) -> None:
    start(environment, "search-engine/2")
    act(environment, "click_xpath", "//*[@id='search-text']")
    act(environment, "type", "Jess")
    act(environment, "click_xpath", "//*[@id='search']")
    marked = environment.snapshot()
    act(environment, "click_xpath", "//*[@id='pagination']//a[text()='2']")
    assert environment.restore(marked) == marked.last


def _has_loaded_again(connection: Connection) -> bool:
    with suppress(CommandRefused):  # the old page may go while it is asked
        return bool(connection.evaluate("document.readyState === 'complete' && !window.isOld"))
    return False


def test_a_page_that_is_left_is_over_and_comes_back(environment: Miniwob) -> None:
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


def test_nothing_of_the_judge_can_be_read_or_asked(environment: Miniwob) -> None:
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
