"""Compute how two runs differ in settings, in inputs such as prompts and libraries, and in versions of software."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from planbook.config import Config, effective_options
from planbook.envs import Selection, texts_digest
from planbook.errors import BadArgument
from planbook.options import flatten_settings
from planbook.planner import DEFAULT_ROLE, Sampling
from planbook.results import RunResults
from planbook.runs import RunInputs, change_path_in_model, changed_inputs, without_folders
from planbook.sandbox import did_you_mean

UNSET = "-"
VERSION = "version of "
LONGEST = 60
"""Maximum number of characters of a setting's value that are displayed. See ``abridged``."""


class SettingDifference(BaseModel):
    """A setting, an input or a version that differs between two runs. Its value is ``-`` if a run lacks it."""

    name: str
    first: str
    second: str


def settings(config: Config) -> dict[str, str]:
    """Return a dict from the dotted names of all settings, such as ``selection.split``, to their values as text.

    Paths are reduced to file names. Options that the user did not give have their default values. A role lists only
    the sampling parameters in which it differs from the default role.
    """
    values = without_folders(config).model_dump(mode="json")
    values["planner_options"] |= effective_options(config, config.env)
    default, *others = ({DEFAULT_ROLE: Sampling().model_dump(mode="json")} | values["sampling"]).items()
    values["sampling"] = dict([default])
    for role, own in others:
        differing = {name: value for name, value in own.items() if value != default[1][name]}
        values["sampling"][role] = {name: value or json.dumps(value) for name, value in differing.items()}
    return dict(flatten_settings(values))


SEEDS = ("seed", "selection.seeds", "repeats")
"""Settings in which repetitions of the same experiment differ."""
KNOWLEDGE = ("library", "after", "rule_tokens")
"""Settings that determine the knowledge of a run."""
SELECTED = tuple(f"selection.{name}" for name in Selection.model_fields)
"""Settings that choose the tasks."""


def settings_without(runs: Iterable[RunResults], names: Sequence[str]) -> frozenset[tuple[tuple[str, str], ...]]:
    """Return the distinct combinations of settings that the runs have, leaving out the settings ``names``.

    There is only one if the runs agree on all other settings.
    """
    return frozenset(
        tuple(sorted(item for item in settings(run.run.config).items() if item[0] not in names)) for run in runs
    )


def differing_settings(first: RunResults, second: RunResults) -> tuple[SettingDifference, ...]:
    """Return the settings that differ between two runs, then the inputs, then the versions of software."""
    differences = [*_differing_values(settings(first.run.config), settings(second.run.config))]
    differences += differing_inputs(first, second)
    shared = first.run.versions.keys() & second.run.versions.keys()  # old runs list more packages
    names = sorted(shared | first.versions.keys() | second.versions.keys())
    known = [run.run.versions | run.versions for run in (first, second)]
    versions = _differing_values(*({name: each[name] for name in names if name in each} for each in known))
    return (*differences, *(version.model_copy(update={"name": f"{VERSION}{version.name}"}) for version in versions))


INPUTS: Mapping[str, Sequence[str]] = {"data": SELECTED, "prompts": (), "models": (), "knowledge": KNOWLEDGE}
"""Maps each compared part of ``RunInputs`` to the settings that two runs must share for it to be compared."""


def differing_inputs(
    first: RunResults, second: RunResults, parts: Collection[str] = tuple(INPUTS)
) -> Iterator[SettingDifference]:
    """Yield the inputs whose digests differ between two runs, or nothing if one of them has not recorded its inputs.

    An input that only one run has is yielded only if it is knowledge, and both runs use the same method.
    """
    recorded = first.run.initial_inputs and second.run.initial_inputs
    for change in changed_inputs(_all_inputs(first), _all_inputs(second)) if recorded else ():
        in_both = None not in (change.then, change.now)
        if change.part in parts and (in_both or change.part == "knowledge"):
            names = INPUTS[change.part] if in_both else (*INPUTS[change.part], "planner")
            if all(setting(first.run.config, name) == setting(second.run.config, name) for name in names):
                yield SettingDifference(name=change.input, first=_digest(change.then), second=_digest(change.now))


def recorded_pairs(runs: Iterable[RunResults]) -> Iterator[tuple[RunResults, RunResults]]:
    """Pair the first run that recorded its inputs with each of the others that did."""
    recorded = [run for run in runs if run.run.initial_inputs]
    yield from ((recorded[0], other) for other in recorded[1:])


def have_same_inputs(runs: Sequence[RunResults]) -> bool:
    """Return True if the inputs of the runs, apart from knowledge, are the same as far as they were recorded."""
    parts = INPUTS.keys() - {"knowledge"}
    return not any(True for pair in recorded_pairs(runs) for _ in differing_inputs(*pair, parts))


def _digest(digests: str | None) -> str:
    return f"SHA-256 {', '.join(digest[:8] for digest in digests.split(', '))}" if digests else UNSET


def _all_inputs(run: RunResults) -> RunInputs:
    """Return the inputs of a run. An input that changed before a resume has several digests, separated by commas."""
    inputs = [_without_folders(each) for each in run.inputs or filter(None, [run.run.initial_inputs])]
    merged: dict[str, dict[str, str]] = {}
    for part in INPUTS:
        digests: list[dict[str, str]] = [getattr(each, part) for each in inputs]
        names = dict.fromkeys(name for each in digests for name in each)
        found = {
            name: {each.get(name, UNSET) for each in digests if part == "knowledge" or name in each} for name in names
        }
        merged[part] = {name: ", ".join(sorted(values)) for name, values in found.items()}
    return RunInputs.model_validate(merged)


def _without_folders(inputs: RunInputs) -> RunInputs:
    models = {change_path_in_model(name, lambda path: Path(path.name)): sha for name, sha in inputs.models.items()}
    return inputs.model_copy(update={"models": models})


def abridged(value: str) -> str:
    """Return the value of a setting on one line. A long value is cut, and its length and a digest are added."""
    if len(value) <= LONGEST and "\n" not in value:
        return value or '""'
    beginning = " ".join(value[:LONGEST].split())
    return f"{beginning} ... ({len(value):,} characters, SHA-256 {texts_digest([value])[:8]})"


def _differing_values(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[SettingDifference]:
    for name in dict.fromkeys([*first, *second]):
        values = first.get(name, UNSET), second.get(name, UNSET)
        if values[0] != values[1]:
            yield SettingDifference(name=name, first=values[0], second=values[1])


def setting(config: Config, name: str) -> str:
    """Return the value of the setting with this full name, or ``-`` if there is none."""
    return settings(config).get(name, UNSET)


def check_names(names: Iterable[str], configs: Iterable[Config]) -> None:
    """Raise BadArgument if one of these full names, such as ``selection.split``, is not a setting of any run."""
    known = {name for config in configs for name in (*settings(config), *Config.model_fields)}
    for name in names:
        if name not in known:
            raise BadArgument(f"no run has a setting {name!r}{did_you_mean(name, sorted(known))}")
