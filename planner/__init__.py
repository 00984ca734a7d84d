"""Play episodes: ask models for plans, run the plans in the sandbox, and record every step.

An episode is one attempt at one task. A planning method (a strategy) decides which questions models are asked and which
code is run. Everything that happens is written to a journal, so an interrupted run can be resumed.

Protocols that you can implement yourself

- ``journal``: the protocol ``Journal``, which stores the events of an episode; and spans, which record parts of an
  episode, such as subtasks, goals or branches.
- ``memory``: the protocol ``Memory``, which provides knowledge about a task.
- ``budget``: the limits of a run, and the protocol ``Ledger``, which records the run's spending.
- ``models``: the protocol ``Model``, and models whose replies come from servers, recordings, people or scripts.
- ``strategies``: the protocol ``Strategy``, and the methods that come with planbook. ``strategies.base`` plays an
  episode with a method. ``strategies.automanual`` also asks for conclusions from an episode.

Playing an episode

- ``episode``: the class ``Episode``, with which a method asks for plans and runs them.
- ``frames``: the namespaces in which plan code runs.
- ``agent``: the environment's actions and queries, as functions for plans and as documentation for prompts.
- ``dry_runs``: before a plan runs, check it against the preconditions of its actions.
- ``feedback``: reports to the planner on the effects of a piece of plan code.

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

if TYPE_CHECKING:  # `X as X` tells type checkers that X is public
    from planbook.planner.agent import (
        AGENT as AGENT,
        TASK as TASK,
        action_docs as action_docs,
        format_call as format_call,
        function_signatures as function_signatures,
        function_stubs as function_stubs,
        functions_to_check as functions_to_check,
        plan_attributes as plan_attributes,
        plan_task as plan_task,
    )
    from planbook.planner.budget import (
        AllowsCall as AllowsCall,
        Amount as Amount,
        Budget as Budget,
        Meter as Meter,
        Spending as Spending,
        add_cost as add_cost,
        amount_of as amount_of,
        cost_of as cost_of,
    )
    from planbook.planner.dry_runs import KnownState as KnownState
    from planbook.planner.episode import Episode as Episode
    from planbook.planner.errors import (
        BadProcedure as BadProcedure,
        BudgetEnded as BudgetEnded,
        EpisodeBroken as EpisodeBroken,
        EpisodeOver as EpisodeOver,
        EpisodeStopped as EpisodeStopped,
        JournalFailed as JournalFailed,
        JournalMismatch as JournalMismatch,
        ModelError as ModelError,
        NotRecorded as NotRecorded,
        PlannerError as PlannerError,
        UnknownModel as UnknownModel,
        UnknownStrategy as UnknownStrategy,
        UnusableReply as UnusableReply,
    )
    from planbook.planner.frames import Frame as Frame
    from planbook.planner.graph.database import GraphDatabase as GraphDatabase, paths_overlap as paths_overlap
    from planbook.planner.graph.drawing import GRAPH_FORMATS as GRAPH_FORMATS
    from planbook.planner.graph.file import (
        graph_faults as graph_faults,
        graph_of as graph_of,
        graph_path as graph_path,
        graph_text as graph_text,
        read_graph as read_graph,
    )
    from planbook.planner.graph.graph import Graph as Graph
    from planbook.planner.graph.node import GraphFile as GraphFile, GraphNode as GraphNode
    from planbook.planner.graph.template_syntax import suggestion as suggestion
    from planbook.planner.graph.templating import value_text as value_text
    from planbook.planner.graph.traverse import (
        GRAPH_PROMPTS as GRAPH_PROMPTS,
        NodeAnswered as NodeAnswered,
        run_pass as run_pass,
    )
    from planbook.planner.journal import (
        INVOCATION as INVOCATION,
        OLD_SPAN_KINDS as OLD_SPAN_KINDS,
        SPAN_END as SPAN_END,
        SPAN_MOMENT as SPAN_MOMENT,
        Body as Body,
        Claim as Claim,
        EventKind as EventKind,
        Journal as Journal,
        MemoryJournal as MemoryJournal,
        Payload as Payload,
        RecordedSpan as RecordedSpan,
        Span as Span,
        SpanReader as SpanReader,
        spans_in as spans_in,
    )
    from planbook.planner.memory import (
        Match as Match,
        MatchCandidate as MatchCandidate,
        Memory as Memory,
        NoMemory as NoMemory,
        Recall as Recall,
    )
    from planbook.planner.models import load_model as load_model, register_model as register_model
    from planbook.planner.models.recordings import (
        RecordedModel as RecordedModel,
        RecordedReplies as RecordedReplies,
        RecordedReply as RecordedReply,
        explain_missing as explain_missing,
        read_recording as read_recording,
        replayed_reply as replayed_reply,
    )
    from planbook.planner.models.stand_ins import ScriptedModel as ScriptedModel
    from planbook.planner.models.types import (
        SHIPPED_PRICES as SHIPPED_PRICES,
        Message as Message,
        Model as Model,
        OnText as OnText,
        Prices as Prices,
        Reply as Reply,
        Sampling as Sampling,
        Usage as Usage,
        current_question as current_question,
        estimate_tokens as estimate_tokens,
        request_key as request_key,
    )
    from planbook.planner.models.waiting import (
        DEFAULT_TIMEOUTS as DEFAULT_TIMEOUTS,
        IsStopped as IsStopped,
        Timeouts as Timeouts,
        never_stopped as never_stopped,
    )
    from planbook.planner.procedure_files import (
        Procedure as Procedure,
        checked_procedure as checked_procedure,
        is_procedure as is_procedure,
        parse_procedure as parse_procedure,
        procedure_faults as procedure_faults,
        read_procedure as read_procedure,
    )
    from planbook.planner.prompts import (
        PROMPTS as PROMPTS,
        Prompt as Prompt,
        Prompts as Prompts,
        fence_around as fence_around,
        fenced as fenced,
    )
    from planbook.planner.replies import as_json as as_json, as_plan as as_plan
    from planbook.planner.roles import (
        DEFAULT_ROLE as DEFAULT_ROLE,
        NO_MODELS as NO_MODELS,
        PLANNER_ROLE as PLANNER_ROLE,
        Answer as Answer,
        Roles as Roles,
        no_model as no_model,
    )
    from planbook.planner.scope import NO_ANSWER as NO_ANSWER, Scope as Scope
    from planbook.planner.shortening import prompt_block as prompt_block, without_block_marks as without_block_marks
    from planbook.planner.strategies import (
        METHODS as METHODS,
        bulky_fields as bulky_fields,
        figures_of as figures_of,
        is_method_file as is_method_file,
        known_method as known_method,
        method as method,
        registered_methods as registered_methods,
    )
    from planbook.planner.strategies.automanual import (
        Conclusion as Conclusion,
        about_the_environment as about_the_environment,
        conclude as conclude,
    )
    from planbook.planner.strategies.base import (
        Method as Method,
        Options as Options,
        Strategy as Strategy,
        play as play,
    )
    from planbook.planner.strategies.figures import (
        Figures as Figures,
        Grid as Grid,
        PlayedEpisode as PlayedEpisode,
        mean_of as mean_of,
    )
    from planbook.planner.strategies.without_model import (
        GivenCode as GivenCode,
        code_of as code_of,
        fault_of_random as fault_of_random,
        given_code as given_code,
    )
    from planbook.planner.streaming import NOT_RUN as NOT_RUN
    from planbook.planner.trajectory import (
        TRAJECTORY_SCHEMA as TRAJECTORY_SCHEMA,
        Call as Call,
        RecordedRecall as RecordedRecall,
        Rewind as Rewind,
        Round as Round,
        RunFacts as RunFacts,
        Trajectory as Trajectory,
        TrajectoryRow as TrajectoryRow,
        in_reading_order as in_reading_order,
        read_trajectory as read_trajectory,
        render_trajectory as render_trajectory,
        rows_of as rows_of,
    )
    from planbook.planner.types import (
        ERROR_KINDS as ERROR_KINDS,
        NOT_JUDGED as NOT_JUDGED,
        Cell as Cell,
        Ending as Ending,
        EpisodeSettings as EpisodeSettings,
        Feedback as Feedback,
        FeedbackKind as FeedbackKind,
        Outcome as Outcome,
        Plan as Plan,
        RenderedText as RenderedText,
        Step as Step,
        Text as Text,
    )
else:
    __getattr__ = lazy_getattr(__name__)
