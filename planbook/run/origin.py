"""Where the episodes of an imported run come from, as its run.json says it."""

from itertools import accumulate
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class ReadFile(BaseModel):
    """A file that was imported; ``sha256`` is of its bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    sha256: str
    episodes: int


class Origin(BaseModel):
    """The run that so many episodes, one after the other, were exported from; ``facts`` as the schema tells them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    episodes: int
    facts: dict[str, JsonValue]


class Imported(BaseModel):
    """What marks a run as one that was not played here."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: tuple[ReadFile, ...]
    origins: tuple[Origin, ...] = Field(default=())

    def facts_of(self, index: int) -> dict[str, Any]:
        """Those of the run that an episode comes from."""
        last = accumulate(origin.episodes for origin in self.origins)
        return next(origin.facts for origin, end in zip(self.origins, last, strict=True) if index < end)
