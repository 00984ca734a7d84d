"""Find the differences between runs in settings, in inputs such as prompts and libraries, and in software versions."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from planbook.config import Config, effective_options
from planbook.envs import Selection, texts_digest
from planbook.errors import BadArgument
from planbook.options import differing_parts, flatten_settings
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


def differing_settings(first: RunResults, second: RunResults) -> tuple[SettingDifference, ...]:
    """Return the settings that differ between two runs, then the inputs, then the versions of software."""
    shared = first.run.versions.keys() & second.run.versions.keys()  # old runs list more packages
    names = sorted(shared | first.versions.keys() | second.versions.keys())
    recorded = [run.run.versions | run.versions for run in (first, second)]
    then, now = ({f"{VERSION}{name}": versions.get(name) for name in names} for versions in recorded)
    own = _differing_values(settings(first.run.config), settings(second.run.config))
    return (*own, *differing_inputs(first, second), *_differing_values(then, now))


def _differing_values(former: Mapping[str, Any], latter: Mapping[str, Any]) -> Iterator[SettingDifference]:
    for name, *texts in differing_parts(former, latter):
        first, second = (UNSET if text is None else text for text in texts)
        yield SettingDifference(name=name, first=first, second=second)


def differing_names(runs: Sequence[RunResults], ignored: Sequence[str], *, knowledge: bool = True) -> tuple[str, ...]:
    """Return the names of the settings and inputs in which the runs differ, without the ``ignored`` settings.

    Inputs are compared as far as they were recorded. Without ``knowledge``, all that concerns knowledge is ignored.
    """
    left_out = {*ignored} if knowledge else {*ignored, *KNOWLEDGE}
    parts = [part for part in INPUTS if knowledge or part != "knowledge"]
    values = [settings(run.run.config) for run in runs]
    names = {name for other in values[1:] for name, _, _ in differing_parts(values[0], other)} - left_out
    recorded = [run for run in runs if run.run.initial_inputs]
    inputs = {difference.name for run in recorded[1:] for difference in differing_inputs(recorded[0], run, parts)}
    return (*sorted(names), *sorted(inputs))


INPUTS: Mapping[str, Sequence[str]] = {"data": TASK_SELECTION, "prompts": (), "models": (), "knowledge": KNOWLEDGE}
"""Maps each part of ``RunInputs`` to the settings that two runs must share for the part to be compared."""


def differing_inputs(
    first: RunResults, second: RunResults, parts: Collection[str] = tuple(INPUTS)
) -> Iterator[SettingDifference]:
    """Yield the inputs whose digests differ between two runs, or nothing if one of them has not recorded its inputs.

    An input that only one run has is yielded only if it is knowledge, and both runs use the same method.
    """
    recorded = first.run.initial_inputs and second.run.initial_inputs
    changed = {name for name, _, _ in differing_parts(settings(first.run.config), settings(second.run.config))}
    for change in changed_inputs(_all_inputs(first), _all_inputs(second)) if recorded else ():
        in_both = None not in (change.then, change.now)
        if change.part in parts and (in_both or change.part == "knowledge"):
            names = INPUTS[change.part] if in_both else (*INPUTS[change.part], "planner")
            if changed.isdisjoint(names):
                yield SettingDifference(name=change.input, first=_digest(change.then), second=_digest(change.now))


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


def setting(config: Config, name: str) -> str:
    """Return the value of a setting, given its full name, or ``-`` if there is no such setting."""
    return settings(config).get(name, UNSET)


def check_setting_names(names: Iterable[str], configs: Iterable[Config]) -> None:
    """Raise BadArgument if one of these full names, such as ``selection.split``, is not a setting of any run."""
    all_names = {name for config in configs for name in (*settings(config), *Config.model_fields)}
    for name in names:
        if name not in all_names:
            raise BadArgument(f"no run has a setting {name!r}{did_you_mean(name, sorted(all_names))}")
