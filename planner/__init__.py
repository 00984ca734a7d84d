"""Play episodes: ask models for plans, run the plans in the sandbox, and record every step.

An episode is one attempt at one task. A planning method (a strategy) decides what to ask the models and which code to
run. Everything that happens is written to a journal, so an interrupted run can be resumed.

Protocols that you can implement yourself

- ``journal``: the protocol ``Journal``, which stores the events of an episode, and spans, which record parts of an
  episode, such as subtasks, goals or branches.
- ``memory``: the protocol ``Memory``, which provides knowledge about a task.
- ``budget``: the limits of a run, and the protocol ``Ledger``, which counts what the run has spent.
- ``models``: the protocol ``Model``, and models whose replies come from servers, recordings, people or scripts.
- ``strategies``: the protocol ``Strategy``, and the methods that come with planbook. ``strategies.base`` plays an
  episode with a method. ``strategies.automanual`` also asks for conclusions from an episode.

Playing an episode

- ``episode``: what a method can do in an episode, such as asking for a plan and running it.
- ``frames``: the namespaces in which plan code runs.
- ``agent``: the environment's actions and queries, as functions for plans and as documentation for prompts.
- ``dry_runs``: before a plan runs, check it against the preconditions of its actions.
- ``feedback``: reports to the planner on what a piece of plan code did.

Asking models

- ``roles``: the model for each kind of question.
- ``scope``: ask a model, and record the reply in the journal.
- ``prompts``: render templates.
- ``shortening``: shorten a conversation that is too long for a model.
- ``replies``: read the plan or the JSON in a reply.
- ``streaming``: run the plan in a reply while the reply arrives.
- ``graph``: ask several questions that depend on each other, as described in a YAML file. planbook's own files are in
  ``graph/shipped``.

Records

- ``types``: the records of an episode, and texts with a digest of their data.
- ``procedure_files``: read and check procedures, which are files of plan code for one type of task.
- ``trajectory``: read a whole episode back from its events.
- ``errors``: the exceptions.
"""

if __name__ == "planner":
    raise ImportError("planner is a package of planbook: import planbook.planner", name="planner")

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.planner.agent import (
        AGENT,
        TASK,
        action_docs,
        format_call,
        function_heads,
        function_signatures,
        functions_to_check,
        plan_attributes,
        plan_task,
    )
    from planbook.planner.budget import AllowsCall, Amount, Budget, Meter, Spending, add_cost, amount_of, cost_of
    from planbook.planner.dry_runs import KnownState
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
    from planbook.planner.graph.database import GraphDatabase, paths_overlap
    from planbook.planner.graph.drawing import GRAPH_FORMATS
    from planbook.planner.graph.file import graph_faults, graph_of, graph_path, graph_text, read_graph
    from planbook.planner.graph.graph import Graph
    from planbook.planner.graph.node import GraphFile, GraphNode
    from planbook.planner.graph.template_syntax import suggestion
    from planbook.planner.graph.templating import value_text
    from planbook.planner.graph.traverse import GRAPH_PROMPTS, run_pass
    from planbook.planner.journal import (
        INVOCATION,
        OLD_SPAN_KINDS,
        SPAN_END,
        SPAN_MOMENT,
        Body,
        Claim,
        EventKind,
        Journal,
        MemoryJournal,
        Payload,
        RecordedSpan,
        Span,
        Spans,
        spans_in,
    )
    from planbook.planner.memory import Match, MatchCandidate, Memory, NoMemory, Recall
    from planbook.planner.models import load_model, register_model
    from planbook.planner.models.recordings import (
        RecordedModel,
        RecordedReplies,
        RecordedReply,
        explain_missing,
        read_recording,
        replayed_reply,
    )
    from planbook.planner.models.stand_ins import ScriptedModel
    from planbook.planner.models.types import (
        SHIPPED_PRICES,
        Message,
        Model,
        OnText,
        Prices,
        Reply,
        Sampling,
        Usage,
        current_question,
        estimate_tokens,
        request_key,
    )
    from planbook.planner.models.waiting import DEFAULT_TIMEOUTS, IsStopped, Timeouts, never_stopped
    from planbook.planner.procedure_files import (
        Procedure,
        checked_procedure,
        is_procedure,
        parse_procedure,
        procedure_faults,
        read_procedure,
    )
    from planbook.planner.prompts import PROMPTS, Prompt, Prompts, fence_around, fenced
    from planbook.planner.replies import as_json, as_plan
    from planbook.planner.roles import DEFAULT_ROLE, NO_MODELS, PLANNER_ROLE, Answer, Roles, no_model
    from planbook.planner.scope import NO_ANSWER, Scope
    from planbook.planner.shortening import prompt_block, without_block_marks
    from planbook.planner.strategies import (
        METHODS,
        bulky_fields,
        figures_of,
        is_method_file,
        known_method,
        method,
        registered_methods,
    )
    from planbook.planner.strategies.automanual import Conclusion, about_the_environment, conclude
    from planbook.planner.strategies.base import Method, Options, Strategy, play
    from planbook.planner.strategies.figures import Figures, Grid, PlayedEpisode, mean_of
    from planbook.planner.strategies.without_model import GivenCode, code_of, fault_of_random, given_code
    from planbook.planner.streaming import NOT_RUN
    from planbook.planner.trajectory import (
        TRAJECTORY_SCHEMA,
        Call,
        RecordedRecall,
        Rewind,
        Round,
        RunFacts,
        Trajectory,
        TrajectoryRow,
        in_reading_order,
        read_trajectory,
        render_trajectory,
        rows_of,
    )
    from planbook.planner.types import (
        ERROR_KINDS,
        NOT_JUDGED,
        Cell,
        Ending,
        EpisodeSettings,
        Feedback,
        FeedbackKind,
        Outcome,
        Plan,
        RenderedText,
        Step,
        Text,
    )
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "AGENT",
    "DEFAULT_ROLE",
    "DEFAULT_TIMEOUTS",
    "ERROR_KINDS",
    "GRAPH_FORMATS",
    "GRAPH_PROMPTS",
    "INVOCATION",
    "METHODS",
    "NOT_JUDGED",
    "NOT_RUN",
    "NO_ANSWER",
    "NO_MODELS",
    "OLD_SPAN_KINDS",
    "PLANNER_ROLE",
    "PROMPTS",
    "SHIPPED_PRICES",
    "SPAN_END",
    "SPAN_MOMENT",
    "TASK",
    "TRAJECTORY_SCHEMA",
    "AllowsCall",
    "Amount",
    "Answer",
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
    "IsStopped",
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
    "PlayedEpisode",
    "Prices",
    "Procedure",
    "Prompt",
    "Prompts",
    "Recall",
    "RecordedModel",
    "RecordedRecall",
    "RecordedReplies",
    "RecordedReply",
    "RecordedSpan",
    "RenderedText",
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
    "Spending",
    "Step",
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
    "checked_procedure",
    "code_of",
    "conclude",
    "cost_of",
    "current_question",
    "estimate_tokens",
    "explain_missing",
    "fault_of_random",
    "fence_around",
    "fenced",
    "figures_of",
    "format_call",
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
    "known_method",
    "load_model",
    "mean_of",
    "method",
    "never_stopped",
    "no_model",
    "parse_procedure",
    "paths_overlap",
    "plan_attributes",
    "plan_task",
    "play",
    "procedure_faults",
    "prompt_block",
    "read_graph",
    "read_procedure",
    "read_recording",
    "read_trajectory",
    "register_model",
    "registered_methods",
    "render_trajectory",
    "replayed_reply",
    "request_key",
    "rows_of",
    "run_pass",
    "spans_in",
    "suggestion",
    "value_text",
    "without_block_marks",
]
