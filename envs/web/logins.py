"""Logins: the cookies and local storage of a logged-in browser, as Playwright writes them to a file.

WebArena's tasks name such a file in ``storage_state``; its ``auto_login.py`` makes one for each site.
"""

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue, ValidationError

from planbook.envs.errors import BadSelection, EnvironmentBroken
from planbook.envs.web.context import Context
from planbook.envs.web.tab import WebTab


class _Cookie(BaseModel):
    name: str
    value: str
    domain: str
    path: str = "/"
    expires: float = -1
    http_only: Annotated[bool, Field(alias="httpOnly")] = False
    secure: bool = False
    same_site: Annotated[Literal["Strict", "Lax", "None"] | None, Field(alias="sameSite")] = None

    def parameter(self) -> dict[str, JsonValue]:
        """Return the cookie as the browser takes it; without ``expires``, it lasts as long as the context.

        Playwright wrote "None" if a cookie does not state ``sameSite``; without ``secure``, Chromium silently drops
        such a cookie.
        """
        unstated = {"expires"} if self.expires <= 0 else set()
        if self.same_site == "None" and not self.secure:
            unstated.add("same_site")
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=unstated)


class _StoredItem(BaseModel):
    name: str
    value: str


class _StoredOrigin(BaseModel):
    origin: str
    items: Annotated[tuple[_StoredItem, ...], Field(alias="localStorage")] = ()


class Login(BaseModel):
    """The content of a login file."""

    cookies: tuple[_Cookie, ...] = ()
    origins: tuple[_StoredOrigin, ...] = ()


def read_login(path: Path) -> Login:
    """Read a login. Raises BadSelection, which says what to do."""
    try:
        return Login.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadSelection(f"the login {path} cannot be read: {error.strerror}; log in again and write it") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise BadSelection(
            f"{path} is not a login ({where or 'the file'}: {first['msg']}); it has to be a storage state of Playwright"
        ) from error


def log_in(context: Context, login: Login) -> None:
    """Set the login's cookies and local storage. Raises EnvironmentBroken if a site does not open."""
    context.set_cookies([cookie.parameter() for cookie in login.cookies])
    for origin in login.origins:
        tab = WebTab(context, context.open(hidden=True))
        if why := tab.fetch(origin.origin):
            raise EnvironmentBroken(f"the login is for {origin.origin}, which cannot be opened: {why}")
        for item in origin.items:
            tab.value(f"localStorage.setItem({json.dumps(item.name)}, {json.dumps(item.value)})")
        context.drop(tab.target)
