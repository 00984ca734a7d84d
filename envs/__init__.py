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
from envs.preconditions import Change, Deed, Fact, Need, Preconditions
from envs.registry import known_worlds, load_world
from envs.types import Action, ActionSpec, Observation, Offered, Requirement, Selection, Snapshot, Task, Verdict

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
