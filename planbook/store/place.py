"""Where a run's events are: in a file, or in a database of PostgreSQL."""

import re
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Self

from planbook.errors import BadArgument

URL_STARTS = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Schema:
    """The two tables of one run in a PostgreSQL database: they are in a schema of their own."""

    url: str = field(repr=False)
    """As libpq takes it; it may have a password."""
    schema: str

    @classmethod
    def named_now(cls, url: str) -> Self:
        """A name that no run has yet. Raises BadArgument for what is no URL of PostgreSQL."""
        if not url.startswith(URL_STARTS):
            told = f"--store {without_password(url)}"
            raise BadArgument(f"{told}: write postgresql://USER@HOST/DATABASE; without --store it is a file")
        return cls(url, f"planbook_{datetime.now():%Y%m%d_%H%M%S}_{secrets.token_hex(3)}")

    def lasting(self) -> Self:
        """Without the password, to be written down."""
        return replace(self, url=without_password(self.url))

    def by(self, url: str | None) -> Self:
        """The same place by a URL that may have the password; another URL than this one's changes nothing."""
        return replace(self, url=url) if url and without_password(url) == without_password(self.url) else self

    def __str__(self) -> str:
        return f"{without_password(self.url)} (schema {self.schema})"


Place = Path | Schema


def without_password(url: str) -> str:
    """The URL without what must be neither written down nor told."""
    bare = re.sub(r"^(\w+://[^/:@]*):[^/]*@", r"\1@", url)
    return re.sub(r"(?<=[?&])password=[^&]*(&|$)", "", bare).rstrip("?&")
