"""The login that a task names is set in a real browser before the task starts."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from planbook.envs.errors import BadSelection, EnvironmentBroken
from planbook.envs.types import Selection
from planbook.envs.web import Web
from planbook.envs.web.environment import WebOptions

pytestmark = pytest.mark.browser
COOKIE: dict[str, JsonValue] = {
    "name": "user",
    "value": "ada",
    "domain": "127.0.0.1",
    "path": "/",
    "expires": -1,
    "httpOnly": False,
    "secure": False,
    "sameSite": "Lax",
}


def task_file(folder: Path, path: str) -> Path:
    """Write a task in WebArena's format that starts on a page of a shop with a login."""
    evaluation = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}
    task = {
        "task_id": 1,
        "intent": "Look around",
        "start_url": f"__SHOPPING__{path}",
        "storage_state": "./.auth/shopping_state.json",
        "eval": evaluation,
    }
    (folder / "tasks.json").write_text(json.dumps([task]))
    return folder / "tasks.json"


def first_page(folder: Path, base: str, login: JsonValue, path: str = "/store") -> str:
    """Return the first page of the task, and check that a second episode starts with the same page."""
    (folder / "shopping_state.json").write_text(login if isinstance(login, str) else json.dumps(login))
    options = WebOptions(tasks=task_file(folder, path), sites={"shopping": base}, logins=folder)
    environment = Web(options)
    try:
        (chosen,) = Web.select(Selection(), options)
        pages = [environment.reset(chosen).text for _ in range(2)]
        assert pages[0] == pages[1]
        return pages[0]
    finally:
        environment.close()


def test_a_task_starts_with_the_cookies_and_storage_of_its_login(base: str, tmp_path: Path) -> None:
    storage: JsonValue = [{"origin": base, "localStorage": [{"name": "seen", "value": "kept"}]}]
    assert "kept user=ada" in first_page(tmp_path, base, {"cookies": [COOKIE], "origins": storage})


@pytest.mark.parametrize(
    ("cookie", "text"),
    [
        (COOKIE, "Welcome, Ada"),
        (COOKIE | {"httpOnly": True, "sameSite": "Strict"}, "Welcome, Ada"),
        (COOKIE | {"sameSite": "None"}, "Welcome, Ada"),
        (COOKIE | {"sameSite": "None", "secure": True}, "Welcome, Ada"),
        (COOKIE | {"expires": 4e9}, "Welcome, Ada"),
        (COOKIE | {"expires": 0}, "Welcome, Ada"),
        (COOKIE | {"sameSite": None, "expires": None}, "Welcome, Ada"),
        (COOKIE | {"partitionKey": "https://a.example", "_crHasCrossSiteAncestor": True}, "Welcome, Ada"),
        (COOKIE | {"value": "bob"}, "Who are you?"),
        (COOKIE | {"domain": "elsewhere.example"}, "Who are you?"),
    ],
)
def test_the_site_receives_the_cookie_if_it_matches(
    base: str, tmp_path: Path, cookie: dict[str, JsonValue], text: str
) -> None:
    assert text in first_page(tmp_path, base, {"cookies": [cookie], "origins": []}, "/private")


def test_a_missing_login_is_refused(base: str, tmp_path: Path) -> None:
    options = WebOptions(tasks=task_file(tmp_path, "/private"), sites={"shopping": base}, logins=tmp_path)
    message = rf"there is no {tmp_path / 'shopping_state.json'}; write it with WebArena's auto_login"
    for selection in (Selection(), Selection(ids=("webarena/1",))):
        with pytest.raises(BadSelection, match=message):
            Web.select(selection, options)


@pytest.mark.parametrize(
    ("login", "message"),
    [
        ("no JSON", "is not a login .the file: Invalid JSON.*Playwright storage state"),
        ({"cookies": ["user"]}, r"is not a login .cookies\.0: Input should be an object"),
        ({"cookies": [{"foo": 1}]}, r"is not a login .cookies\.0\.name: Field required"),
        ({"cookies": [COOKIE | {"value": 1}]}, r"is not a login .cookies\.0\.value: Input should be a valid string"),
    ],
)
def test_an_invalid_login_file_is_refused(base: str, tmp_path: Path, login: JsonValue, message: str) -> None:
    with pytest.raises(BadSelection, match=message):
        first_page(tmp_path, base, login)


def test_a_cookie_that_the_browser_refuses_breaks_the_environment(base: str, tmp_path: Path) -> None:
    cookies: list[JsonValue] = [COOKIE | {"name": "two\nlines"}, {"name": "user", "value": "ada"}]
    for cookie in cookies:
        with pytest.raises(EnvironmentBroken, match="refuses a cookie of the login"):
            first_page(tmp_path, base, {"cookies": [cookie]})
