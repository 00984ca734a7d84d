"""The record of what a run is made of, as it stands in run.json."""

from pydantic import BaseModel, ConfigDict


class MadeOf(BaseModel):
    """Beside the versions. Everything but the seeds is a digest (SHA-256, of prompts its beginning), by what it is of.

    ``knowledge`` is what the run was told beforehand: library, start and demonstrations. ``models`` are recordings and
    scripts that answer. ``seeds`` has that of the run and those that models are sent in the first repeat, by role; the
    seeds of tasks stand in the tasks.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: dict[str, str] = {}
    prompts: dict[str, str] = {}
    knowledge: dict[str, str] = {}
    models: dict[str, str] = {}
    prices: dict[str, str] = {}
    seeds: dict[str, int | None] = {}
