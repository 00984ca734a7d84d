"""Find Chromium, start it with Selenium, and share one browser among all episodes of this process."""

import atexit
import importlib.metadata
import os
import shutil
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from planbook.envs.devtools import Connection
from planbook.envs.errors import EnvironmentBroken, MissingRequirement
from planbook.envs.requirements import RequiredPackage, missing_extra
from planbook.envs.types import Requirement
from planbook.envs.watchdog import Watchdog

if TYPE_CHECKING:
    from selenium import webdriver

PACKAGES = {"selenium": "selenium", "websocket-client": "websocket"}
"""Maps each required package's name on the package index to the name of its module."""
REMEDY = (
    "install Chromium and its driver (Debian: apt-get install chromium chromium-driver), "
    "or name them in PLANBOOK_CHROMIUM and PLANBOOK_CHROMEDRIVER"
)
SANDBOX_ADVICE = (
    "If the message is about a sandbox, this machine does not allow user namespaces: install Debian's "
    "chromium-sandbox, or run as root: Chromium then runs without a sandbox."
)
PATH_VARIABLES = {"chromium": "PLANBOOK_CHROMIUM", "chromedriver": "PLANBOOK_CHROMEDRIVER"}
"""Maps each required program to the environment variable that may name its path."""
PROGRAM_NAMES = {"chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")}
"""Maps a required program to the names that it may have on PATH, if there are several."""

FLAGS = tuple(
    "--headless=new --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-default-apps --disable-extensions --disable-dev-shm-usage "
    "--disable-background-timer-throttling --disable-backgrounding-occluded-windows "
    "--disable-renderer-backgrounding --lang=en-US".split()
)
ENVIRONMENT_VARIABLES = {"TZ": "UTC", "LANGUAGE": "en_US"}
"""Environment variables for the browser. Dates in goals, and the order of the parts of a date field, depend on them."""


def _program_requirement(name: str) -> Requirement:
    """Return a program as a requirement. The program's environment variable takes precedence over PATH."""
    variable = PATH_VARIABLES[name]
    if path := os.environ.get(variable):
        remedy = f"{variable} names {path}, which cannot be executed: correct it"
        return Requirement(name, path if os.access(path, os.X_OK) else None, remedy)
    return Requirement(name, next(filter(None, map(shutil.which, PROGRAM_NAMES.get(name, (name,)))), None), REMEDY)


def requirements() -> Sequence[Requirement]:
    """Return Chromium, its driver and the Python packages as requirements."""
    packages = [RequiredPackage(module, "browser").requirement(name) for name, module in PACKAGES.items()]
    return [*packages, *map(_program_requirement, PATH_VARIABLES)]


def program_paths() -> tuple[str, str]:
    """Return the paths of Chromium and its driver. Raises MissingRequirement if either is missing."""
    chromium, driver = map(_program_requirement, PATH_VARIABLES)
    if chromium.found is None or driver.found is None:
        missing = [program for program in (chromium, driver) if program.found is None]
        names, remedies = " and ".join(item.name for item in missing), dict.fromkeys(item.remedy for item in missing)
        raise MissingRequirement(f"this environment needs a browser; missing: {names}: {'; '.join(remedies)}")
    return chromium.found, driver.found


def start_selenium(profile: str) -> "webdriver.Chrome":
    """Start a browser with Selenium and return it.

    ``profile`` is the folder for the browser's data. Its path is on the command lines of the browser and its driver, so
    that the watchdog finds both processes. Raises MissingRequirement if a package or a program is missing, or
    EnvironmentBroken if the browser does not start.
    """
    try:
        from selenium import webdriver  # imported only here, since the import is slow
        from selenium.common.exceptions import WebDriverException
    except ImportError as error:
        raise missing_extra("browser", "a browser") from error
    chromium, driver = program_paths()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # otherwise Chromium refuses to start as root
    service = webdriver.ChromeService(
        executable_path=driver,
        service_args=[f"--log-path={profile}/chromedriver.log"],
        # TMPDIR: Chromium's temporary files are removed with the profile.
        env=os.environ | ENVIRONMENT_VARIABLES | {"TMPDIR": profile},
        popen_kw={"start_new_session": True},  # so that Ctrl-C does not reach the browser
    )
    try:
        return webdriver.Chrome(options=options, service=service)
    except WebDriverException as error:
        raise EnvironmentBroken(
            f"Chromium ({chromium}) did not start: {error.msg}. {SANDBOX_ADVICE if os.geteuid() else ''}".strip()
        ) from error


class Browser:
    """A running Chromium in which tabs can be opened."""

    def __init__(self) -> None:
        self.profile = tempfile.mkdtemp(prefix="planbook-chromium-")
        self._watchdog = Watchdog(self.profile)  # kills all processes faster and more reliably than the driver does
        self._lock = threading.Lock()
        try:
            self.driver = start_selenium(self.profile)
            self.address: str = self.driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
            path = Path(self.profile, "DevToolsActivePort").read_text(encoding="ascii").split()[1]
            self.url = f"ws://{self.address}{path}"
            self._control = Connection(self.url)
        except BaseException:
            self._watchdog.end_processes()
            raise

    @property
    def version(self) -> str:
        """The version of Chromium."""
        return str(self.driver.capabilities["browserVersion"])

    def is_alive(self) -> bool:
        """Return True if the browser still answers."""
        try:
            with self._lock:
                self._control.call("Browser.getVersion")
        except EnvironmentBroken:
            return False
        return True

    def open_tab(self) -> tuple[str, Connection]:
        """Open a tab in a new window, and return its id and a connection to it."""
        with self._lock:
            target = str(self._control.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"])
        return target, Connection(f"ws://{self.address}/devtools/page/{target}")

    def close_tab(self, target: str) -> None:
        """Close a tab. If the browser is gone, do nothing."""
        with self._lock, suppress(EnvironmentBroken):
            self._control.call("Target.closeTarget", targetId=target)

    def close(self) -> None:
        """End the browser, and remove its profile."""
        self._control.close()
        self._watchdog.end_processes()


_browser: Browser | None = None
_owner_pid = 0
_browser_lock = threading.Lock()


def shared_browser() -> Browser:
    """Return this process's browser. Start it at the first call, and again if it has died.

    Raises MissingRequirement if there is no browser on this machine, or EnvironmentBroken if it does not start.
    """
    global _browser, _owner_pid
    with _browser_lock:
        if _browser is not None and _owner_pid == os.getpid():
            if _browser.is_alive():
                return _browser
            _browser.close()
        _browser, _owner_pid = Browser(), os.getpid()
        return _browser


@atexit.register
def close_shared_browser() -> None:
    """End this process's browser, if it has one."""
    global _browser
    with _browser_lock:
        if _browser is not None and _owner_pid == os.getpid():
            _browser.close()
        _browser = None


def versions() -> dict[str, str]:
    """Return the versions that a run records: Selenium's and, if this process started Chromium, Chromium's."""
    selenium = {"selenium": importlib.metadata.version("selenium")}
    return selenium | ({"chromium": _browser.version} if _browser is not None else {})
