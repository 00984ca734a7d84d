"""Where a run's events are: in a file, or in a database of PostgreSQL."""

import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from planbook.errors import BadArgument

URL_STARTS = ("postgresql", "postgres")


@dataclass(frozen=True)
class Schema:
    """The two tables of one run in a PostgreSQL database: they are in a schema of their own."""

    url: str = field(repr=False)
    """As libpq takes it; it may have a password."""
    schema: str

    @classmethod
    def named_now(cls, url: str) -> Self:
        """A name that no run has yet. Raises BadArgument for what is no URL of PostgreSQL."""
        if urlsplit(url).scheme not in URL_STARTS:
            raise BadArgument(f"--store {url}: write postgresql://USER@HOST/DATABASE; without --store it is a file")
        return cls(url, f"planbook_{datetime.now():%Y%m%d_%H%M%S}_{secrets.token_hex(3)}")

    def lasting(self) -> Self:
        """Without the password, to be written down."""
        return replace(self, url=without_password(self.url))

    def __str__(self) -> str:
        return f"{without_password(self.url)} (schema {self.schema})"


Place = Path | Schema


def without_password(url: str) -> str:
    """The URL without what must not be written down."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "password"]
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}", query=urlencode(query, safe="/")))
