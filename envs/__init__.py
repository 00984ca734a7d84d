"""Worlds: what the agent acts on, and with which actions."""

from envs.base import (
    Action,
    ActionSpec,
    Environment,
    NoOptions,
    Observation,
    Offered,
    Requirement,
    Selection,
    Snapshot,
    Task,
    Verdict,
    action,
    query,
)
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
from envs.registry import known_worlds, load_world

__all__ = [
    "Action",
    "ActionSpec",
    "BadSelection",
    "Diverged",
    "Environment",
    "EnvsError",
    "EpisodeEnded",
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
