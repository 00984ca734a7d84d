"""Worlds: what the agent acts on, and with which actions."""

from envs.base import Environment, NoOptions, action, query
from envs.errors import (
    BadSelection,
    Diverged,
    EnvsError,
    EpisodeEnded,
    MissingRequirement,
    UnknownAction,
    UnknownWorld,
    WorldBroken,
)
from envs.goals import Features, Goals
from envs.registry import known_worlds, load_world
from envs.types import Action, ActionSpec, Observation, Offered, Requirement, Selection, Snapshot, Task, Verdict

__all__ = [
    "Action",
    "ActionSpec",
    "BadSelection",
    "Diverged",
    "Environment",
    "EnvsError",
    "EpisodeEnded",
    "Features",
    "Goals",
    "MissingRequirement",
    "NoOptions",
    "Observation",
    "Offered",
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
