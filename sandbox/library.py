"""The standard library's own sources, which the host hands out to workers: they can read no file."""

import importlib.util
import sys
import sysconfig
import zoneinfo
from contextlib import suppress
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path

LIBRARY = Path(sysconfig.get_path("stdlib"))
ZONES = "zoneinfo:"


@lru_cache(256)
def library_source(name: str) -> tuple[str, bool] | None:
    """Return the source of a module of the standard library, and whether it is a package; None where there is none.

    No other module is ever read, and none is imported. The data of a time zone have the name of the zone in
    ``zoneinfo:``, a character a byte.
    """
    if name.startswith(ZONES):
        return _zone(name.removeprefix(ZONES))
    if name.partition(".")[0] not in sys.stdlib_module_names or not all(map(str.isidentifier, name.split("."))):
        return None
    place = LIBRARY.joinpath(*name.split("."))
    for path, is_package in ((place / "__init__.py", True), (place.with_name(place.name + ".py"), False)):
        with suppress(OSError, UnicodeError, SyntaxError):  # a name as long as the plan likes
            if path.is_file():
                return importlib.util.decode_source(path.read_bytes()), is_package
    return None


@cache
def _zones() -> frozenset[str]:
    """Return the names of the time zones, for which Python reads hundreds of files."""
    return frozenset(zoneinfo.available_timezones())


def _zone(key: str) -> tuple[str, bool] | None:
    if key not in _zones():
        return None
    found = next((path for folder in zoneinfo.TZPATH if (path := Path(folder, key)).is_file()), None)
    data = (found or resources.files("tzdata").joinpath("zoneinfo", *key.split("/"))).read_bytes()
    return data.decode("latin-1"), False
