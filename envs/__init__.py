"""Worlds: what the agent acts on, and with which actions."""

if __name__ == "envs":
    raise ImportError("envs is a package of planbook: import planbook.envs", name="envs")

from planbook.envs.base import Environment, NoOptions, action, query
from planbook.envs.errors import (
    BadSelection,
    Diverged,
    EnvsError,
    EpisodeEnded,
    MissingRequirement,
    UnknownAction,
    UnknownWorld,
    WorldBroken,
)
from planbook.envs.goals import Features, Goals
from planbook.envs.preconditions import Change, Deed, Fact, Need, Preconditions
from planbook.envs.registry import known_worlds, load_world
from planbook.envs.types import (
    Action,
    ActionSpec,
    Observation,
    Offered,
    Requirement,
    Selection,
    Snapshot,
    Task,
    Verdict,
)

__all__ = [
    "Action",
    "ActionSpec",
    "BadSelection",
    "Change",
    "Deed",
    "Diverged",
    "Environment",
    "EnvsError",
    "EpisodeEnded",
    "Fact",
    "Features",
    "Goals",
    "MissingRequirement",
    "Need",
    "NoOptions",
    "Observation",
    "Offered",
    "Preconditions",
    "Requirement",
    "Selection",
    "Snapshot",
    "Task",
    "UnknownAction",
    "UnknownWorld",
    "Verdict",
    "WorldBroken",
    "action",
    "known_worlds",
    "load_world",
    "query",
]
