"""A user who reads reports and the pages of `planbook watch` in Chromium."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from selenium.webdriver import ActionChains
from selenium.webdriver.support.wait import WebDriverWait

from planbook.envs import chromium
from tests.browser import need_browser

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
OVERFLOW = "return document.documentElement.scrollWidth - innerWidth"
"""The number of pixels by which a page is wider than its window."""


class Reader:
    """Opens pages, runs scripts in them, and presses keys."""

    def __init__(self) -> None:
        self.driver = chromium.shared_browser().driver

    def open(self, address: str, size: str = "desktop", theme: str = "light") -> None:
        """Open a page in a window of this size."""
        width, height = SIZES[size]
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        self.driver.get("about:blank")
        self.driver.get(address)

    def ask(self, script: str, *arguments: object) -> Any:
        """Return the value of a script."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, *arguments: object) -> None:
        """Wait until a script returns something true."""
        WebDriverWait(self.driver, 60).until(lambda driver: driver.execute_script(script, *arguments), script)

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def errors(self) -> list[Any]:
        """Return the messages of the browser since the last call, without those of its own pages."""
        log = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [line for line in log if "chrome://" not in line["message"]]


@contextmanager
def reading() -> Iterator[Reader]:
    """Yield a reader, and check at the end that the browser reported no error."""
    need_browser()
    reader = Reader()
    reader.errors()
    yield reader
    errors = reader.errors()
    for command in ("Emulation.clearDeviceMetricsOverride", "Emulation.setEmulatedMedia"):
        reader.driver.execute_cdp_cmd(command, {})
    reader.driver.get("about:blank")
    assert errors == [], errors
