"""The method of the AgentKit paper (section 2).

AgentKit asks models through a graph of prompts. Each step of an episode is one pass over the graph, in which each node
asks one question. The answer of one of the nodes is plan code, which is run as the step.

Prompts read values from the graph's database. Before each pass, this module stores three groups of them:

- ``world``: ``goal``, ``about``, ``action_docs``, ``manual``, ``scene``, ``observation``, ``previous`` (the observation
  in the last pass), ``state``, ``knowledge``, and ``left`` (the number of actions that are left).
- ``last``: ``code`` and ``feedback`` of the last step.
- ``step``: ``number`` (counted from 0), ``nth`` (counted from 1), ``most`` (the maximum number of steps) and
  ``actions`` (the maximum number of actions in a step, if there is one).

It is an error to use a value that does not exist yet, unless the prompt gives it a default:
``{{ db.last.code | default("Nothing was done yet.") }}``.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from pydantic import Field, JsonValue, model_validator

from planbook.envs import Environment
from planbook.planner.agent import action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import BadGraphFile, UnusableReply
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.file import SHIPPED_GRAPHS, graph_of, graph_path, graph_text, read_graph
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.node import ROLE, GraphFile
from planbook.planner.graph.traverse import NodeAnswered, run_pass
from planbook.planner.prompts import PROMPTS
from planbook.planner.strategies.base import Method, Options, public_task_fields
from planbook.planner.strategies.figures import Figures, PlayedEpisode, format_figure, mean_of

GENERAL = "general"
"""The name of the graph for environments that have no graph."""
SAME_SCENE = "The same as now."
"""Replaces the scene if the observation contains it, so that prompts do not show the same text twice."""
MAX_IDLE = 5
"""The episode ends after this many consecutive steps without an action."""


class AgentKitOptions(Options):
    """The options of AgentKit."""

    graph: str | None = Field(
        default=None,
        description="The name of a shipped graph, or a YAML file; null means the graph named after the environment, or "
        "general if there is none. Each node asks the role that it names (graph, small or large in shipped graphs).",
    )
    text: str | None = Field(
        default=None,
        description="Text of the graph's YAML file. By default the file is read once and stored with the run.",
    )
    steps: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of passes; null means the graph's own limit or, if it has none, the "
        "episode's action limit.",
    )
    actions_per_step: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of actions that the code of a step may take; null means no limit.",
    )
    max_concurrent: int = Field(default=1, ge=1, description="Maximum number of nodes that are asked at the same time.")

    @model_validator(mode="before")
    @classmethod
    def _with_text(cls, options: object) -> object:
        """Add the text of the graph file, and make its path absolute, since a run may be resumed in another folder.

        The text of a shipped graph is not added, since the version of planbook determines it.
        """
        name = options.get("graph") if isinstance(options, Mapping) else None
        if not (isinstance(options, Mapping) and isinstance(name, str) and Path(name).is_file()):
            return options
        text = options.get("text")
        return {**options, "graph": str(Path(name).resolve()), "text": graph_text(Path(name)) if text is None else text}

    def effective_values(self, environment: str) -> dict[str, JsonValue]:
        """Map each option except ``text`` to the value that takes effect, such as the name of the graph."""
        options = {**super().effective_values(environment), "graph": self.graph_name(environment)}
        options["steps"] = self.steps or self.graph_file(environment).steps
        del options["text"]
        return options

    def prompt_sources(self, environment: str) -> Mapping[str, str]:
        """Return the texts of the graph and its hooks, and of the environment's own graph, since it has the manual."""
        name, own_graph = self.graph_name(environment), SHIPPED_GRAPHS / f"{environment}.yaml"
        texts = {f"graph {Path(name).stem}": graph_text(graph_path(name)) if self.text is None else self.text}
        if own_graph.is_file() and own_graph.stem != name:
            texts[f"manual of the graph {environment}"] = graph_text(own_graph)
        files = {hook.rpartition(":")[0] for hook in self.graph_file(environment).hooks if ":" in hook}
        return texts | {f"hooks {file}": (Path(name).parent / file).read_text("utf-8") for file in sorted(files)}

    def stored_texts(self) -> Mapping[Path, str]:
        """Map the graph file to its stored text."""
        return {} if self.graph is None or self.text is None else {Path(self.graph): self.text}

    def graph_name(self, environment: str) -> str:
        """Return the name of the graph that is used in this environment."""
        return self.graph or (environment if (SHIPPED_GRAPHS / f"{environment}.yaml").is_file() else GENERAL)

    def graph_file(self, environment: str) -> GraphFile:
        """Return the graph that is used in this environment.

        Raises BadGraphFile if the file is missing or faulty, or if no node writes plan code.
        """
        name = self.graph_name(environment)
        file = read_graph(graph_path(name)) if self.text is None else graph_of(self.text, Path(name))
        if file.code is None:
            raise BadGraphFile(f"{name}: no node writes plan code; say which one does with `code: NODE`")
        return file

    def manual(self, environment: str) -> JsonValue:
        """Return the manual of the environment's own graph, or None. Any graph can read it as ``db.world.manual``."""
        own_graph = SHIPPED_GRAPHS / f"{environment}.yaml"
        return read_graph(own_graph).initial_values.get("manual") if own_graph.is_file() else None


def roles_of(options: AgentKitOptions, environment: str) -> Collection[str]:
    """Return the roles that the nodes of the graph ask. Raises BadGraphFile, as ``graph_file`` does."""
    return options.graph_file(environment).roles


def agentkit(episode: Episode, options: AgentKitOptions) -> None:
    """In each step, run one pass over the graph, and then the plan code from this pass."""
    file = options.graph_file(episode.environment.name)
    graph, database = Graph(*file.nodes.values()), file.new_database()
    steps, idle_steps = options.steps or file.steps or max(1, episode.settings.actions), 0
    manual = options.manual(episode.environment.name)
    for number in range(steps):
        limit = {"actions": options.actions_per_step} if options.actions_per_step else {}
        database.set("step", {"number": number, "nth": number + 1, "most": steps, **limit})
        _store_situation(episode, database, manual)
        with episode.frame("step", helpers=episode.recall().helpers, task=public_task_fields(episode)) as frame:
            try:
                result = run_pass(
                    graph, database, frame.scope, number=number, hooks=file.hooks, max_concurrent=options.max_concurrent
                )
            except UnusableReply as unusable:
                raise episode.no_plan(ROLE, str(unusable)) from unusable
            code, first_step = str(result.answers[str(file.code)]), len(episode.steps)
            feedback = episode.run(code, source=ROLE, actions=options.actions_per_step)
            database.set("last", {"code": code, "feedback": feedback.text})
        idle_steps = 0 if len(episode.steps) > first_step else idle_steps + 1
        if idle_steps == MAX_IDLE:
            return


def _store_situation(episode: Episode, database: GraphDatabase, manual: JsonValue) -> None:
    """Store the task and the current state of the environment in the database, under ``world``."""
    environment, recall, scene = episode.environment, episode.recall(), episode.environment.scene()
    observation = (episode.steps[-1].observation if episode.steps else episode.observation).text
    situation: dict[str, JsonValue] = {
        "goal": episode.task.goal,
        "about": environment.about,
        "action_docs": PROMPTS["action_docs"].render(action_docs=action_docs_of(environment)),
        "scene": SAME_SCENE if scene and scene in observation else scene,
        "observation": observation,
        "state": environment.state(),
        "left": episode.actions_left,
    }
    if database.has("world.observation"):
        situation["previous"] = database.get("world.observation")
    if manual is not None:
        situation["manual"] = manual
    if recall.text:
        situation["knowledge"] = recall.text
    database.set("world", situation)


class GraphFigures(Figures):
    """The numbers of passes and nodes in a run, under ``graph`` in ``--json``.

    A node is counted once in each pass in which it takes part.
    """

    key = "graph"

    passes: int
    answered: int
    """Number of nodes that a model answered."""
    skipped: int
    """Number of nodes that were skipped. A skipped node keeps its last answer or gets its ``else`` value."""
    mean_passes: float | None = Field(default=None, exclude=True)
    """Mean number of passes in an episode that was played."""

    @classmethod
    def count(cls, episodes: Sequence[PlayedEpisode]) -> Self | None:
        """Count the passes and nodes of a run. Return None if there were no passes."""
        nodes = [episode.payloads(NodeAnswered) for episode in episodes]
        passes = [len({node.number for node in episode_nodes}) for episode_nodes in nodes]
        if not any(passes):
            return None
        played = [count for count, episode in zip(passes, episodes, strict=True) if episode.ending.outcome.played]
        skipped = Counter(node.skipped for episode_nodes in nodes for node in episode_nodes)
        return cls(passes=sum(passes), answered=skipped[False], skipped=skipped[True], mean_passes=mean_of(played))

    def describe(self) -> Iterable[str]:
        """Yield one sentence with the counts."""
        yield (
            f"Passes over the graph: {self.passes}, {format_figure(self.mean_passes)} per task; nodes answered "
            f"{self.answered}, skipped {self.skipped}."
        )


def _asks_default_role(options: AgentKitOptions, environment: Environment) -> bool:
    """Return True if a node of the graph asks the default role."""
    return ROLE in roles_of(options, environment.name)


METHODS: Mapping[str, Method] = {
    "agentkit": Method(
        agentkit,
        AgentKitOptions,
        "a graph of prompts with one pass per step (AgentKit)",
        (ROLE,),
        conditional_roles={ROLE: _asks_default_role},
        roles_from_options=roles_of,
        spans=(NodeAnswered,),
        figures=(GraphFigures,),
    )
}
