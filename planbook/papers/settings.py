"""The settings that a paper played a method with, as far as ours can have them: what ``--paper`` sets."""

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from planbook.config import Learning
from planbook.envs import load_environment
from planbook.errors import BadArgument
from planbook.papers.published import publications
from planbook.planner import method


class PaperSettings(NamedTuple):
    """The settings of a paper; empty for what it does not state, or if no paper was asked for."""

    paper: str = ""
    options: Mapping[str, JsonValue] = {}
    env_options: Mapping[str, JsonValue] = {}
    sampling: Mapping[str, JsonValue] = {}
    actions: int | None = None
    without: tuple[str, ...] = ()
    learning: Learning | None = None

    def facts(self) -> dict[str, JsonValue]:
        """Return what is set, as JSON; of building, its own settings beside."""
        learning = self.learning.model_dump(mode="json", exclude_unset=True) if self.learning else None
        return {**self._asdict(), "learning": learning}

    def __str__(self) -> str:
        """Write them in a line."""
        actions = {} if self.actions is None else {"actions": self.actions}
        groups = {
            "planner": self.options,
            "environment": self.env_options,
            "sampling": self.sampling,
            "episode": actions,
        }
        told = [f"{title}: {_listed(values)}" for title, values in groups.items() if values]
        return "; ".join((*told, *([f"without {', '.join(self.without)}"] if self.without else [])))


NO_PAPER = PaperSettings()


def paper_settings(
    planner: str, env: str, split: str = "", types: Collection[str] = (), *, building: bool = False
) -> PaperSettings:
    """Return a paper's settings for a method on an environment's split.

    For ``building``, those of its building episodes. Raises BadArgument where no paper has both.
    """
    name = load_environment(env).name
    paper = next((each for each in publications() if planner in each.planners and name in each.worlds), None)
    if paper is None:
        raise BadArgument(f"--paper: no paper played {planner} on {name}; {_played(planner)}")
    setting = paper.setting(name, split, types)
    built = setting.building if building else None
    known = method(planner).options.model_fields
    options = paper.options(planner, setting) | (built.options if built else {})
    return PaperSettings(
        paper.paper,
        {name: value for name, value in options.items() if name in known},
        {name: values[0] for name, values in setting.world_options.items()},
        dict(setting.sampling),
        built.actions if built else setting.actions,
        setting.without,
        built.learning if built else None,
    )


def settings_of_papers(planner: str) -> dict[tuple[str, str], PaperSettings]:
    """Return the settings of all papers that played a method, by environment and split."""
    settings = [each for paper in publications() if planner in paper.planners for each in paper.settings]
    return {(each.env, each.split): paper_settings(planner, each.env, each.split) for each in settings}


def _listed(values: Mapping[str, JsonValue]) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in values.items())


def _played(planner: str) -> str:
    """Return the environments on which papers played a method, in words."""
    there = [f"{each.paper} on {', '.join(each.worlds)}" for each in publications() if planner in each.planners]
    return f"{planner} was played in {'; '.join(there)}" if there else f"no paper has the method {planner}"
