"""Who writes the next plan, and when the episode is over."""

from planner.episode import Episode, Mark, Terms
from planner.errors import (
    BadProcedure,
    EpisodeBroken,
    EpisodeOver,
    EpisodeStopped,
    JournalFailed,
    JournalMismatch,
    PlannerError,
    UnknownStrategy,
    WrongMark,
)
from planner.frames import Frame
from planner.journal import Body, EventKind, Journal, MemoryJournal
from planner.memory import Memory, NoMemory, Recall
from planner.play import play
from planner.procedure import Procedure, is_procedure, parse_procedure, read_procedure
from planner.scope import Scope
from planner.strategies import METHODS, GivenCode, Method, Strategy, code_of, method
from planner.surface import checked_functions, plan_attributes
from planner.types import Cell, Ending, Feedback, FeedbackKind, Outcome, Round, Step, Trajectory

__all__ = [
    "METHODS",
    "BadProcedure",
    "Body",
    "Cell",
    "Ending",
    "Episode",
    "EpisodeBroken",
    "EpisodeOver",
    "EpisodeStopped",
    "EventKind",
    "Feedback",
    "FeedbackKind",
    "Frame",
    "GivenCode",
    "Journal",
    "JournalFailed",
    "JournalMismatch",
    "Mark",
    "Memory",
    "MemoryJournal",
    "Method",
    "NoMemory",
    "Outcome",
    "PlannerError",
    "Procedure",
    "Recall",
    "Round",
    "Scope",
    "Step",
    "Strategy",
    "Terms",
    "Trajectory",
    "UnknownStrategy",
    "WrongMark",
    "checked_functions",
    "code_of",
    "is_procedure",
    "method",
    "parse_procedure",
    "plan_attributes",
    "play",
    "read_procedure",
]
