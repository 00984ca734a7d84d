"""Playing MiniWoB++ pages in a real Chromium."""

import random
from collections.abc import Iterator

import pytest

from planbook.envs.errors import EpisodeEnded
from planbook.envs.miniwob import Miniwob
from planbook.envs.types import Action, Selection
from tests.browser import act, need_browser, start

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def world() -> Iterator[Miniwob]:
    need_browser()
    world = Miniwob()
    yield world
    world.close()


def texts(world: Miniwob, xpath: str) -> list[str]:
    found = world.find(xpath)
    assert isinstance(found, list)
    return [str(item["text"]) for item in found if isinstance(item, dict)]


def attributes(world: Miniwob, xpath: str) -> dict[str, object]:
    found = world.find(xpath)
    assert isinstance(found, list)
    assert isinstance(found[0], dict)
    assert isinstance(found[0]["attributes"], dict)
    return dict(found[0]["attributes"])


def test_goal_and_params_are_there_once_the_page_begins(world: Miniwob) -> None:
    first = start(world, "login-user/3")
    assert world.task is not None
    assert world.task.goal.startswith('Enter the username "keneth" and the password "91YP"')
    assert world.task.params == {"username": "keneth", "password": "91YP"}
    assert first.text.startswith('<div id="wrap">')
    assert "reward" not in first.text
    assert "sync-task-cover" not in first.text


def test_a_login_is_solved_and_the_typed_values_show(world: Miniwob) -> None:
    start(world, "login-user/3")
    act(world, "click_xpath", "//*[@id='username']")
    assert 'value="keneth"' in act(world, "type", "keneth").text
    act(world, "press_key", "tab")
    act(world, "type", "91YP")
    assert not world.verdict().solved
    last = act(world, "press_key", "tab")
    assert not last.terminated
    last = act(world, "press_key", "enter")
    assert last.terminated
    assert world.verdict().solved
    with pytest.raises(EpisodeEnded):
        act(world, "press_key", "enter")


def test_a_wrong_answer_ends_the_episode_unsolved(world: Miniwob) -> None:
    start(world, "login-user/3")
    assert act(world, "click_xpath", "//button").terminated
    assert (world.verdict().solved, world.verdict().score) == (False, 0.0)


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
def test_what_cannot_be_done_is_said_first(world: Miniwob, action: Action, reason: str) -> None:
    page = start(world, "login-user/1").text
    refused = world.act(action)
    line, _, rest = refused.text.partition("\n")
    assert not refused.accepted
    assert line.startswith("Nothing happens: ")
    assert reason in line
    assert rest == page


def test_an_element_under_another_is_not_clicked(world: Miniwob) -> None:
    for seed in range(20):
        start(world, f"login-user-popup/{seed}")
        act(world, "click_xpath", "//*[@id='username']")
        if texts(world, "//*[@id='popup']"):
            break
    refused = act(world, "click_xpath", "//*[@id='password']")
    assert "disabled" in refused.text.splitlines()[0]
    refused = act(world, "click_xpath", "//label[text()='Password']")
    assert 'covered by <div id="popup">' in refused.text.splitlines()[0]
    assert act(world, "click_xpath", "//*[@id='popup-cancel']").accepted
    assert act(world, "click_xpath", "//*[@id='password']").accepted


def test_an_element_that_is_not_shown_is_not_clicked(world: Miniwob) -> None:
    start(world, "guess-number/1")
    refused = act(world, "click_xpath", "//*[@id='correct']")
    assert "is not visible" in refused.text.splitlines()[0]


def test_options_are_chosen_as_a_person_would(world: Miniwob) -> None:
    start(world, "choose-list/1")
    assert world.task is not None
    option = f"//option[text()='{world.task.params['target']}']"
    act(world, "click_option", option)
    assert attributes(world, option)["selected"] == "selected"
    act(world, "click_xpath", "//button")
    assert world.verdict().solved


def test_a_list_of_several_takes_and_gives_back(world: Miniwob) -> None:
    start(world, "click-scroll-list/1")
    act(world, "click_option", "//option[1]")
    act(world, "click_option", "//option[2]")
    assert [number for number in (1, 2, 3) if "selected" in attributes(world, f"//option[{number}]")] == [1, 2]
    act(world, "click_option", "//option[1]")
    assert [number for number in (1, 2, 3) if "selected" in attributes(world, f"//option[{number}]")] == [2]


def test_icons_are_there_before_the_first_click(world: Miniwob) -> None:
    for seed in range(3):
        world.close()  # a tab that has not seen the page
        start(world, f"social-media/{seed}")
        act(world, "click_xpath", "(//*[@class='more'])[last()]")
        assert "Share via DM" in texts(world, "//ul[not(contains(@class, 'hide'))]/li")


def test_find_describes_elements_and_names_each(world: Miniwob) -> None:
    start(world, "click-test-2/1")
    found = world.find("//button")
    assert isinstance(found, list)
    first, second = found
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert (first["text"], first["tag"], first["visible"]) == ("ONE", "button", True)
    assert isinstance(first["box"], dict)
    assert first["box"]["width"] == 40
    assert texts(world, str(second["xpath"])) == ["TWO"]
    assert texts(world, "//button/@id") == ["subbtn", "subbtn2"]
    assert texts(world, "//button/text()") == ["ONE", "TWO"]
    assert world.find("//button[") == []
    assert world.find("//script") == []


def test_a_guess_shows_its_feedback_and_text_can_be_replaced(world: Miniwob) -> None:
    start(world, "guess-number/1")
    for guess in ("0", "9"):
        act(world, "click_xpath", "//*[@id='tt']")
        act(world, "select_text", "//*[@id='tt']")
        act(world, "type", guess)
        assert attributes(world, "//*[@id='tt']")["value"] == guess
        last = act(world, "click_xpath", "//*[@id='subbtn']")
        if last.terminated:
            return
    assert 'id="lower"' in last.text


def test_the_terminal_takes_real_keys_and_stands_still(world: Miniwob) -> None:
    first = start(world, "terminal/1")
    assert "Wed Jan 01 2020" in first.text
    act(world, "click_xpath", "//*[@id='terminal']")
    answer = act(world, "type", "ls\n")
    assert answer.accepted
    assert texts(world, "//*[@class='terminal-output'][last()]")[0] not in ("", "Command not found.")


def test_drag_scroll_and_click_at_reach_the_page(world: Miniwob) -> None:
    start(world, "email-inbox/1")
    assert act(world, "scroll", "//*[@id='main']", 50).accepted
    start(world, "grid-coordinate/1")
    assert act(world, "click_at", "//*[local-name()='svg']", 75, 75).terminated
    start(world, "enter-text/1")
    assert act(world, "drag", "//*[@id='query']", "//button").accepted


@pytest.mark.deep
@pytest.mark.parametrize("type_name", Miniwob.types)
def test_a_seed_gives_the_same_page_whatever_came_before(world: Miniwob, type_name: str) -> None:
    tasks = Miniwob.tasks(Selection(types=(type_name,), seeds=(0, 1)))
    world.close()
    fresh = [world.reset(task) for task in tasks]
    for turn in range(3):
        assert world.reset(tasks[turn % 2]) == fresh[turn % 2]
        wander(world, random.Random(turn))


def wander(world: Miniwob, chance: random.Random) -> None:
    """Act at random, but leave the episode unfinished where that can be told."""
    for _ in range(6):
        found = world.find("//body//*[not(@id='query') and not(contains(., 'ubmit'))]")
        assert isinstance(found, list)
        shown = [item for item in found if isinstance(item, dict) and item["visible"]]
        chosen = chance.choice(shown)
        act(world, "click_option", str(chosen["xpath"]))
        if not world.ended and chosen["tag"] in ("input", "textarea"):
            act(world, "type", "1a")
        if world.ended:
            return


def test_a_replayed_history_is_answered_the_same(world: Miniwob) -> None:
    start(world, "search-engine/2")
    act(world, "click_xpath", "//*[@id='search-text']")
    act(world, "type", "Jess")
    act(world, "click_xpath", "//*[@id='search']")
    marked = world.snapshot()
    act(world, "click_xpath", "//*[@id='pagination']//a[text()='2']")
    assert world.restore(marked) == marked.last


def test_two_worlds_share_one_browser(world: Miniwob) -> None:
    other = Miniwob()
    start(world, "click-test/1")
    start(other, "login-user/1")
    assert act(world, "click_xpath", "//button").terminated
    assert not other.ended
    assert act(other, "click_xpath", "//input").accepted
    assert {"chromium", "selenium", "miniwob"} <= set(other.versions())
    other.close()
    other.close()


def test_a_page_that_is_left_is_over_and_comes_back(world: Miniwob) -> None:
    start(world, "click-test/1")
    tab = world._tab
    assert tab is not None
    tab._connection.evaluate("location.reload()")
    while tab._connection.evaluate("document.readyState") != "complete":
        pass
    assert act(world, "press_key", "tab").terminated
    assert not world.verdict().solved
    start(world, "click-test/1")
    assert act(world, "click_xpath", "//button").terminated
    assert world.verdict().solved


def test_partial_credit_is_not_success(world: Miniwob) -> None:
    for seed in range(20):
        start(world, f"click-checkboxes-large/{seed}")
        act(world, "click_xpath", "//*[@id='subbtn']")
        if 0 < world.verdict().score < 1:
            assert not world.verdict().solved
            return
    pytest.fail("no seed gave partial credit")


def test_nothing_of_the_judge_can_be_read_or_asked(world: Miniwob) -> None:
    for name in ("click-test/1", "click-test/2"):  # the second page shows the first one's reward
        start(world, name)
        shown = str(world.find("//body")) + str(world.find("//*")) + str(world.find("//body//text()"))
        assert "Last reward" not in shown
        assert "Episodes done" not in shown
        assert "reward-last" not in shown
        for oracle in ("//body[contains(string(//*[@id='reward-last']),'-')]", "//body[//*[@id='reward-display']]"):
            assert world.find(oracle) == []
            assert not act(world, "click_xpath", oracle).accepted
        act(world, "click_xpath", "//button")
