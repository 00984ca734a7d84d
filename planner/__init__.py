"""Play episodes: ask models for plans, run the plans in the sandbox, and record every step.

Protocols

- ``journal``: ``Journal``, where an episode records its events. ``budget``: ``Ledger``, where a run counts its costs.
- ``memory``: ``Memory``, the knowledge that an episode recalls.
- ``models``: ``Model``, which answers questions.
- ``strategies``: ``Strategy``, a planning method, with its ``Options``, ``Figures``, and the ``Payload`` of its spans.

An episode

- ``episode`` has the verbs that methods use, ``scope`` those that only ask. ``frames`` are the namespaces of plan code,
  ``spans`` record the structure of a method.
- ``agent`` describes an environment's actions to plans and prompts; ``dry_runs`` checks plans by their preconditions.
- ``roles`` ask models within a ``budget``; ``prompts`` renders templates, ``rendered`` keeps the digest of their data.
- ``thought`` reads plans from replies, ``streaming`` runs them while they are written (``reply_stream``).
- ``feedback`` reports the result of a plan, ``ending`` that of the episode.
- ``trajectory`` reads the record of an episode. ``types`` holds the records, ``errors`` the exceptions.
- ``procedure``: stored plan code.

Packages inside

- ``models``: servers, recordings, scripts. ``graph``: prompt graphs.
- ``strategies``: the methods that ship; the module "base" plays an episode with one, "code" also matches goals with
  found types, and "automanual" draws conclusions.
"""

if __name__ == "planner":
    raise ImportError("planner is a package of planbook: import planbook.planner", name="planner")

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.planner.agent import (
        AGENT,
        TASK,
        action_docs,
        call_of,
        function_heads,
        function_signatures,
        functions_to_check,
        plan_attributes,
        seen_task,
    )
    from planbook.planner.budget import Allows, Amount, Budget, Meter, Spent, add_cost, amount_of, cost_of
    from planbook.planner.dry_runs import KnownState
    from planbook.planner.ending import NOT_JUDGED
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
        NotRecorded,
        PlannerError,
        UnknownModel,
        UnknownStrategy,
        UnusableReply,
    )
    from planbook.planner.frames import Frame
    from planbook.planner.graph import GRAPH_SYNTAX
    from planbook.planner.graph.checks import whole_graph
    from planbook.planner.graph.database import GraphDatabase
    from planbook.planner.graph.drawing import GRAPH_FORMATS
    from planbook.planner.graph.file import SHIPPED_GRAPHS, graph_faults, graph_of, graph_path, graph_text, read_graph
    from planbook.planner.graph.graph import Graph
    from planbook.planner.graph.node import GraphFile, GraphNode
    from planbook.planner.graph.templating import nearest, value_text
    from planbook.planner.graph.traverse import GRAPH_PROMPTS, run_pass
    from planbook.planner.journal import Body, EventKind, Journal, MemoryJournal
    from planbook.planner.memory import Match, MatchCandidate, Memory, NoMemory, Recall
    from planbook.planner.models.answers import ScriptedModel, pass_on
    from planbook.planner.models.context import prompt_block, unmarked
    from planbook.planner.models.recordings import (
        RecordedMessage,
        RecordedModel,
        RecordedReplies,
        RecordedReply,
        explain_missing,
        read_recording,
    )
    from planbook.planner.models.registry import load_model, register_model
    from planbook.planner.models.tokens import SHIPPED_PRICES, Prices, estimate_tokens, usage_of_cut
    from planbook.planner.models.types import Message, Model, OnText, Reply, Sampling, Usage, journal_place, request_key
    from planbook.planner.models.waiting import USUAL_TIMEOUTS, Stopped, Timeouts, never_stopped
    from planbook.planner.procedure import (
        Procedure,
        checked_procedure,
        is_procedure,
        parse_procedure,
        procedure_faults,
        read_procedure,
    )
    from planbook.planner.prompts import PROMPTS, Prompt, Prompts, fence_around
    from planbook.planner.rendered import Rendered, Text
    from planbook.planner.roles import DEFAULT_ROLE, NO_MODELS, PLANNER_ROLE, Roles, as_json, no_model
    from planbook.planner.scope import NO_ANSWER, Scope
    from planbook.planner.spans import (
        OLD_SPAN_KINDS,
        SPAN_END,
        SPAN_MOMENT,
        Claim,
        Payload,
        RecordedSpan,
        Span,
        Spans,
        spans_in,
    )
    from planbook.planner.strategies import METHODS, bulky_fields, figures_of, is_method_file, known_method, method
    from planbook.planner.strategies.automanual import Conclusion, about_the_environment, conclude
    from planbook.planner.strategies.base import (
        Figures,
        Grid,
        Method,
        Options,
        Played,
        Strategy,
        mean_of,
        play,
        registered_methods,
    )
    from planbook.planner.strategies.code import GivenCode, code_of, given_code
    from planbook.planner.streaming import NOT_RUN
    from planbook.planner.thought import as_plan
    from planbook.planner.trajectory import (
        TRAJECTORY_SCHEMA,
        Call,
        Recalled,
        Rewind,
        Round,
        RunFacts,
        Trajectory,
        TrajectoryRow,
        in_reading_order,
        read_trajectory,
        rows_of,
        tell_trajectory,
    )
    from planbook.planner.types import (
        ERROR_KINDS,
        Cell,
        Ending,
        EpisodeSettings,
        Feedback,
        FeedbackKind,
        Outcome,
        Plan,
        Step,
    )
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "AGENT",
    "DEFAULT_ROLE",
    "ERROR_KINDS",
    "GRAPH_FORMATS",
    "GRAPH_PROMPTS",
    "GRAPH_SYNTAX",
    "METHODS",
    "NOT_JUDGED",
    "NOT_RUN",
    "NO_ANSWER",
    "NO_MODELS",
    "OLD_SPAN_KINDS",
    "PLANNER_ROLE",
    "PROMPTS",
    "SHIPPED_GRAPHS",
    "SHIPPED_PRICES",
    "SPAN_END",
    "SPAN_MOMENT",
    "TASK",
    "TRAJECTORY_SCHEMA",
    "USUAL_TIMEOUTS",
    "Allows",
    "Amount",
    "BadProcedure",
    "Body",
    "Budget",
    "BudgetEnded",
    "Call",
    "Cell",
    "Claim",
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
    "Graph",
    "GraphDatabase",
    "GraphFile",
    "GraphNode",
    "Grid",
    "Journal",
    "JournalFailed",
    "JournalMismatch",
    "KnownState",
    "Match",
    "MatchCandidate",
    "Memory",
    "MemoryJournal",
    "Message",
    "Meter",
    "Method",
    "Model",
    "ModelError",
    "NoMemory",
    "NotRecorded",
    "OnText",
    "Options",
    "Outcome",
    "Payload",
    "Plan",
    "PlannerError",
    "Played",
    "Prices",
    "Procedure",
    "Prompt",
    "Prompts",
    "Recall",
    "Recalled",
    "RecordedMessage",
    "RecordedModel",
    "RecordedReplies",
    "RecordedReply",
    "RecordedSpan",
    "Rendered",
    "Reply",
    "Rewind",
    "Roles",
    "Round",
    "RunFacts",
    "Sampling",
    "Scope",
    "ScriptedModel",
    "Span",
    "Spans",
    "Spent",
    "Step",
    "Stopped",
    "Strategy",
    "Text",
    "Timeouts",
    "Trajectory",
    "TrajectoryRow",
    "UnknownModel",
    "UnknownStrategy",
    "UnusableReply",
    "Usage",
    "about_the_environment",
    "action_docs",
    "add_cost",
    "amount_of",
    "as_json",
    "as_plan",
    "bulky_fields",
    "call_of",
    "checked_procedure",
    "code_of",
    "conclude",
    "cost_of",
    "estimate_tokens",
    "explain_missing",
    "fence_around",
    "figures_of",
    "function_heads",
    "function_signatures",
    "functions_to_check",
    "given_code",
    "graph_faults",
    "graph_of",
    "graph_path",
    "graph_text",
    "in_reading_order",
    "is_method_file",
    "is_procedure",
    "journal_place",
    "known_method",
    "load_model",
    "mean_of",
    "method",
    "nearest",
    "never_stopped",
    "no_model",
    "parse_procedure",
    "pass_on",
    "plan_attributes",
    "play",
    "procedure_faults",
    "prompt_block",
    "read_graph",
    "read_procedure",
    "read_recording",
    "read_trajectory",
    "register_model",
    "registered_methods",
    "request_key",
    "rows_of",
    "run_pass",
    "seen_task",
    "spans_in",
    "tell_trajectory",
    "unmarked",
    "usage_of_cut",
    "value_text",
    "whole_graph",
]
