"""Who writes the next plan, and when the episode is over."""

if __name__ == "planner":
    raise ImportError("planner is a package of planbook: import planbook.planner", name="planner")

from planbook.planner.action_docs import ActionDocs, action_docs, functions_to_check, plan_attributes
from planbook.planner.budget import Budget, Meter, Spent
from planbook.planner.conclusion import Conclusion, about_the_world, conclude
from planbook.planner.episode import Episode
from planbook.planner.errors import (
    BadProcedure,
    BudgetEnded,
    EpisodeBroken,
    EpisodeOver,
    EpisodeStopped,
    JournalFailed,
    JournalMismatch,
    ModelError,
    PlannerError,
    UnknownStrategy,
    UnusableReply,
    WrongMark,
)
from planbook.planner.frames import Frame, Mark
from planbook.planner.journal import Body, EventKind, Journal, MemoryJournal
from planbook.planner.memory import Candidate, Match, Memory, NoMemory, Recall
from planbook.planner.play import play
from planbook.planner.procedure import (
    Procedure,
    checked_procedure,
    is_procedure,
    parse_procedure,
    procedure_faults,
    read_procedure,
)
from planbook.planner.prompts import Prompt, Prompts
from planbook.planner.roles import Answer, Roles, as_text
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload, Span
from planbook.planner.strategies import (
    METHODS,
    AutoManualOptions,
    Figures,
    GivenCode,
    Grid,
    Method,
    Options,
    Played,
    Strategy,
    code_of,
    method,
)
from planbook.planner.thought import as_plan
from planbook.planner.trajectory import Call, Round, RunFacts, Trajectory, read_trajectory, rows_of, tell_trajectory
from planbook.planner.types import Cell, Ending, EpisodeSettings, Feedback, FeedbackKind, Outcome, Plan, Step, Thought

__all__ = [
    "METHODS",
    "ActionDocs",
    "Answer",
    "AutoManualOptions",
    "BadProcedure",
    "Body",
    "Budget",
    "BudgetEnded",
    "Call",
    "Candidate",
    "Cell",
    "Conclusion",
    "Ending",
    "Episode",
    "EpisodeBroken",
    "EpisodeOver",
    "EpisodeSettings",
    "EpisodeStopped",
    "EventKind",
    "Feedback",
    "FeedbackKind",
    "Figures",
    "Frame",
    "GivenCode",
    "Grid",
    "Journal",
    "JournalFailed",
    "JournalMismatch",
    "Mark",
    "Match",
    "Memory",
    "MemoryJournal",
    "Meter",
    "Method",
    "ModelError",
    "NoMemory",
    "Options",
    "Outcome",
    "Payload",
    "Plan",
    "PlannerError",
    "Played",
    "Procedure",
    "Prompt",
    "Prompts",
    "Recall",
    "Roles",
    "Round",
    "RunFacts",
    "Scope",
    "Span",
    "Spent",
    "Step",
    "Strategy",
    "Thought",
    "Trajectory",
    "UnknownStrategy",
    "UnusableReply",
    "WrongMark",
    "about_the_world",
    "action_docs",
    "as_plan",
    "as_text",
    "checked_procedure",
    "code_of",
    "conclude",
    "functions_to_check",
    "is_procedure",
    "method",
    "parse_procedure",
    "plan_attributes",
    "play",
    "procedure_faults",
    "read_procedure",
    "read_trajectory",
    "rows_of",
    "tell_trajectory",
]
