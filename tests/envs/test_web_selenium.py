"""The tree says the same as the browser's driver: names and roles, element by element."""

from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from planbook.envs.browser import chromium
from tests.browser import need_browser
from tests.webserver import at, serving

pytestmark = pytest.mark.browser
ASKED = "a, button, input:not([type=file]), textarea, h1, h2, [role]"
"""What both must name alike. A file field is a button with another name to each."""
ROLES = {"InputTime": "inputtime", "Date": "date", "DateTime": "datetime"}


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    need_browser()
    with serving() as address:
        yield address


@pytest.fixture
def driver() -> Iterator[webdriver.Chrome]:
    driver = chromium.shared().driver
    before = driver.current_window_handle
    driver.switch_to.new_window("window")
    yield driver
    driver.close()
    driver.switch_to.window(before)


@pytest.mark.parametrize("path", ["/", "/links", "/dialogs", "/lies", "/covered", "/changing"])
def test_names_and_roles_are_those_of_the_driver(base: str, driver: webdriver.Chrome, path: str) -> None:
    world = at(base, path)
    told = world.find()
    assert isinstance(told, list)
    ours = [(item["role"], "".join(str(item["name"]).split())) for item in told if isinstance(item, dict)]
    world.close()
    driver.get(base + path)
    elements = [each for each in driver.find_elements(By.CSS_SELECTOR, ASKED) if each.is_displayed()]
    assert elements
    for element in elements:
        role, name = element.aria_role, "".join(element.accessible_name.split())
        name = "".join(each for each in name if each.isprintable())
        assert (ROLES.get(role, role.lower()), name) in ours
