"""The time of an episode of MiniWoB++ with our browser driver, compared with Selenium's actions.

Both use the same browser. An episode consists of a reset and ten actions.
"""

import statistics
from collections.abc import Callable
from functools import partial

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from planbook.envs import Action, Selection, chromium
from planbook.envs.miniwob import Miniwob, page_address
from tools.bench import Row
from tools.bench.timing import seconds, seconds_together

TYPE = "login-user"
FIELDS = ("username", "password", "username", "password", "username")
"""The fields to click on and type into: ten actions, none of which ends the episode."""
TEXT = "ab"
REPEATS = 5
TABS = (1, 2, 4)
EPISODES_PER_TAB = 25
GOAL = 8.0
READ_PAGE = "return [document.getElementById('wrap').outerHTML, WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]"
SELENIUM_RESET = (
    "core.endEpisode(0); core.EPISODE_MAX_TIME = 1e9; Math.seedrandom(arguments[0]); core.startEpisodeReal();"
)


def rows() -> list[Row]:
    """Return the milliseconds of an episode with both drivers, and the episodes per second with several tabs."""
    environment = Miniwob()
    play(environment, 0)
    driver = chromium.shared_browser().driver
    driver.get(page_address(TYPE))
    peer = _median(lambda seed: play_with_selenium(driver, seed))
    ours = _median(lambda seed: play(environment, seed))
    environment.close()
    ratio = peer / ours
    pair = [
        Row("miniwob: reset + 10 actions, Selenium's ActionChains", peer, "ms"),
        Row(
            name="miniwob: reset + 10 actions, ours",
            value=ours,
            unit="ms",
            ratio=ratio,
            against="Selenium's ActionChains",
            goal=f"at least {GOAL:g} times as fast",
            met=ratio >= GOAL,
        ),
    ]
    return pair + [_tabs_row(tabs) for tabs in TABS]


def play(environment: Miniwob, seed: int) -> None:
    """Play an episode with our driver."""
    environment.reset(Miniwob.tasks(Selection(types=(TYPE,), seeds=(seed,)))[0])
    for field in FIELDS:
        environment.act(Action("click_xpath", (f"//*[@id='{field}']",)))
        environment.act(Action("type", (TEXT,)))


def play_with_selenium(driver: webdriver.Chrome, seed: int) -> None:
    """Play the same episode with Selenium's ActionChains. The page is read after each action, as our driver does."""
    driver.execute_script(SELENIUM_RESET, seed)
    driver.execute_script(READ_PAGE)
    for field in FIELDS:
        element = driver.find_element(By.XPATH, f"//*[@id='{field}']")
        ActionChains(driver).move_to_element(element).click().perform()
        driver.execute_script(READ_PAGE)
        ActionChains(driver).send_keys(TEXT).perform()
        driver.execute_script(READ_PAGE)


def _median(episode: Callable[[int], None]) -> float:
    """Return the median time of several episodes in milliseconds. The first one, a warm-up, is not counted."""
    times = [seconds(partial(episode, seed)) for seed in range(REPEATS + 1)]
    return 1000 * statistics.median(times[1:])


def _tabs_row(tabs: int) -> Row:
    environments = [Miniwob() for _ in range(tabs)]
    for environment in environments:
        play(environment, 0)
    elapsed = seconds_together([partial(_play_many, environment) for environment in environments])
    for environment in environments:
        environment.close()
    return Row(f"miniwob: episodes with {tabs} tab{'s' if tabs > 1 else ''}", tabs * EPISODES_PER_TAB / elapsed, "/s")


def _play_many(environment: Miniwob) -> None:
    for seed in range(EPISODES_PER_TAB):
        play(environment, seed)
