"""Logins that a task names, given to a real browser before the task begins."""

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


def written(folder: Path, path: str) -> Path:
    """A file with a task of WebArena's format that begins on a page of its shop, with a login."""
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


def begun(folder: Path, base: str, login: JsonValue, path: str = "/store") -> str:
    """The first page of such a task, and again after another episode."""
    (folder / "shopping_state.json").write_text(login if isinstance(login, str) else json.dumps(login))
    options = WebOptions(tasks=written(folder, path), sites={"shopping": base}, logins=folder)
    environment = Web(options)
    try:
        (chosen,) = Web.select(Selection(), options)
        told = [environment.reset(chosen).text for _ in range(2)]
        assert told[0] == told[1], "the second episode begins as the first did"
        return told[0]
    finally:
        environment.close()


def test_a_task_begins_with_the_cookies_and_the_storage_of_its_login(base: str, tmp_path: Path) -> None:
    storage: JsonValue = [{"origin": base, "localStorage": [{"name": "seen", "value": "kept"}]}]
    assert "kept user=ada" in begun(tmp_path, base, {"cookies": [COOKIE], "origins": storage})


@pytest.mark.parametrize(
    ("cookie", "told"),
    [
        (COOKIE, "Welcome, Ada"),
        (COOKIE | {"httpOnly": True, "sameSite": "Strict"}, "Welcome, Ada"),
        (COOKIE | {"sameSite": "None"}, "Welcome, Ada"),
        (COOKIE | {"sameSite": "None", "secure": True}, "Welcome, Ada"),
        (COOKIE | {"expires": 4e9}, "Welcome, Ada"),
        (COOKIE | {"value": "bob"}, "Who are you?"),
        (COOKIE | {"domain": "elsewhere.example"}, "Who are you?"),
    ],
)
def test_a_site_knows_whoever_has_its_cookie(
    base: str, tmp_path: Path, cookie: dict[str, JsonValue], told: str
) -> None:
    assert told in begun(tmp_path, base, {"cookies": [cookie], "origins": []}, "/private")


def test_a_login_that_is_missing_is_told_before_anything_begins(base: str, tmp_path: Path) -> None:
    options = WebOptions(tasks=written(tmp_path, "/private"), sites={"shopping": base}, logins=tmp_path)
    wanted = rf"there is no {tmp_path / 'shopping_state.json'}; write it with WebArena's auto_login"
    for selection in (Selection(), Selection(ids=("webarena/1",))):
        with pytest.raises(BadSelection, match=wanted):
            Web.select(selection, options)


@pytest.mark.parametrize(
    ("login", "message"),
    [
        ("no JSON", "is not a login .the file: Invalid JSON.*storage state of Playwright"),
        ({"cookies": [{"name": "user"}]}, r"is not a login .cookies\.0\.value: Field required"),
    ],
)
def test_a_file_that_is_no_login_is_told(base: str, tmp_path: Path, login: JsonValue, message: str) -> None:
    with pytest.raises(BadSelection, match=message):
        begun(tmp_path, base, login)


def test_a_cookie_that_the_browser_refuses_is_told(base: str, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentBroken, match="refuses a cookie of the login"):
        begun(tmp_path, base, {"cookies": [COOKIE | {"name": "two\nlines"}]})
