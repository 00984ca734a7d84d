"""Find the differences between runs in settings, in inputs such as prompts and libraries, and in software versions."""

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
MAX_VALUE_CHARS = 60
"""Maximum length of a setting's value that is displayed in full, in characters. See ``abridged``."""


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
    for role, sampling in others:
        differing = {name: value for name, value in sampling.items() if value != default[1][name]}
        values["sampling"][role] = {name: value or json.dumps(value) for name, value in differing.items()}
    return dict(flatten_settings(values))


SEEDS = ("seed", "selection.seeds", "repeats")
"""Settings that may differ between repetitions of the same experiment."""
KNOWLEDGE = ("library", "after", "rule_tokens")
"""Settings that determine the knowledge of a run."""
TASK_SELECTION = tuple(f"selection.{name}" for name in Selection.model_fields)
"""Settings that choose the tasks."""


def distinct_settings(runs: Iterable[RunResults], ignored: Sequence[str]) -> frozenset[tuple[tuple[str, str], ...]]:
    """Return the distinct combinations of settings of the runs, without the ``ignored`` settings.

    There is only one if the runs agree on all other settings.
    """
    return frozenset(
        tuple(sorted(item for item in settings(run.run.config).items() if item[0] not in ignored)) for run in runs
    )


def differing_settings(first: RunResults, second: RunResults) -> tuple[SettingDifference, ...]:
    """Return the settings that differ between two runs, then the inputs, then the versions of software."""
    differences = [*_differing_values(settings(first.run.config), settings(second.run.config))]
    differences += differing_inputs(first, second)
    shared = first.run.versions.keys() & second.run.versions.keys()  # old runs list more packages
    names = sorted(shared | first.versions.keys() | second.versions.keys())
    recorded = [run.run.versions | run.versions for run in (first, second)]
    compared = [{name: versions[name] for name in names if name in versions} for versions in recorded]
    versions = _differing_values(*compared)
    return (*differences, *(version.model_copy(update={"name": f"{VERSION}{version.name}"}) for version in versions))


INPUTS: Mapping[str, Sequence[str]] = {"data": TASK_SELECTION, "prompts": (), "models": (), "knowledge": KNOWLEDGE}
"""Maps each part of ``RunInputs`` to the settings that two runs must share for the part to be compared."""


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


def pairs_with_inputs(runs: Iterable[RunResults]) -> Iterator[tuple[RunResults, RunResults]]:
    """Pair the first run that recorded its inputs with each of the others that did."""
    recorded = [run for run in runs if run.run.initial_inputs]
    yield from ((recorded[0], other) for other in recorded[1:])


def have_same_inputs(runs: Sequence[RunResults]) -> bool:
    """Return True if the inputs of the runs, apart from knowledge, are the same as far as they were recorded."""
    parts = INPUTS.keys() - {"knowledge"}
    return not any(True for pair in pairs_with_inputs(runs) for _ in differing_inputs(*pair, parts))


def _digest(digests: str | None) -> str:
    return f"SHA-256 {', '.join(digest[:8] for digest in digests.split(', '))}" if digests else UNSET


def _all_inputs(run: RunResults) -> RunInputs:
    """Return the inputs of a run. An input that changed before a resume has several digests, separated by commas."""
    inputs = [_without_folders(recorded) for recorded in run.inputs or filter(None, [run.run.initial_inputs])]
    merged: dict[str, dict[str, str]] = {}
    for part in INPUTS:
        digests: list[dict[str, str]] = [getattr(recorded, part) for recorded in inputs]
        values: dict[str, set[str]] = {}
        for name in dict.fromkeys(name for recorded in digests for name in recorded):
            # missing knowledge counts as a difference, other missing inputs do not
            counted = [recorded for recorded in digests if part == "knowledge" or name in recorded]
            values[name] = {recorded.get(name, UNSET) for recorded in counted}
        merged[part] = {name: ", ".join(sorted(values[name])) for name in values}
    return RunInputs.model_validate(merged)


def _without_folders(inputs: RunInputs) -> RunInputs:
    models = {change_path_in_model(name, lambda path: Path(path.name)): sha for name, sha in inputs.models.items()}
    return inputs.model_copy(update={"models": models})


def abridged(value: str) -> str:
    """Return the value of a setting on one line. A long value is cut, and its length and a digest are added."""
    if len(value) <= MAX_VALUE_CHARS and "\n" not in value:
        return value or '""'
    beginning = " ".join(value[:MAX_VALUE_CHARS].split())
    return f"{beginning} ... ({len(value):,} characters, SHA-256 {texts_digest([value])[:8]})"


def _differing_values(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[SettingDifference]:
    for name in dict.fromkeys([*first, *second]):
        values = first.get(name, UNSET), second.get(name, UNSET)
        if values[0] != values[1]:
            yield SettingDifference(name=name, first=values[0], second=values[1])


def setting(config: Config, name: str) -> str:
    """Return the value of a setting, given its full name, or ``-`` if there is no such setting."""
    return settings(config).get(name, UNSET)


def check_setting_names(names: Iterable[str], configs: Iterable[Config]) -> None:
    """Raise BadArgument if one of these full names, such as ``selection.split``, is not a setting of any run."""
    all_names = {name for config in configs for name in (*settings(config), *Config.model_fields)}
    for name in names:
        if name not in all_names:
            raise BadArgument(f"no run has a setting {name!r}{did_you_mean(name, sorted(all_names))}")
