"""The settings of runs by name, such as ``models.default``, and the differences between runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from planbook.config import Config, by_dotted_name
from planbook.errors import BadArgument
from planbook.results import RunResults
from planbook.runs import without_folders
from planbook.sandbox import did_you_mean

UNSET = "-"
VERSION = "version of "


class SettingDifference(BaseModel):
    """A setting in which two runs differ; ``-`` where one does not have it at all."""

    model_config = ConfigDict(frozen=True)

    name: str
    first: str
    second: str


def settings(config: Config) -> dict[str, str]:
    """Return all settings by their dotted names, as text; of files the names alone."""
    return dict(by_dotted_name(without_folders(config).model_dump(mode="json")))


def differing_settings(one: RunResults, other: RunResults) -> tuple[SettingDifference, ...]:
    """Return what differs between two runs: settings first, then versions."""
    found = [*_different(settings(one.run.config), settings(other.run.config))]
    versions = _different(one.run.versions | one.versions, other.run.versions | other.versions)
    return (*found, *(each.model_copy(update={"name": f"{VERSION}{each.name}"}) for each in versions))


def _different(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[SettingDifference]:
    for name in dict.fromkeys([*one, *other]):
        first, second = one.get(name, UNSET), other.get(name, UNSET)
        if first != second:
            yield SettingDifference(name=name, first=first, second=second)


def setting(config: Config, name: str) -> str:
    """Return a setting by its full name."""
    return settings(config).get(name, UNSET)


def full_name(asked: str, configs: Iterable[Config]) -> str:
    """Return the full name of a setting that some run has; a unique end of it is enough. Raises BadArgument."""
    known = dict.fromkeys(name for config in configs for name in (*settings(config), *Config.model_fields))
    if asked in known:
        return asked
    ends = [name for name in known if name.endswith(f".{asked}")]
    if len(ends) > 1:
        raise BadArgument(f"{asked!r} could be {' or '.join(sorted(ends))}; write one of them")
    if not ends:
        raise BadArgument(f"no run has a setting {asked!r}{did_you_mean(asked, sorted(known))}")
    return ends[0]


def wanted(asked: Sequence[str]) -> dict[str, str]:
    """Parse NAME=VALUE, several with commas. Raises BadArgument."""
    pairs = [pair.partition("=") for text in asked for pair in text.split(",") if pair]
    if wrong := [name for name, equals, _ in pairs if not (name and equals)]:
        raise BadArgument(f"--where {wrong[0]!r}: write NAME=VALUE, such as planner=adapt")
    return {name: value for name, _, value in pairs}
