"""AgentKit (section 2): a graph of prompts with one pass per step. One node's answer is the plan code of the step.

For its prompts, the database of the graph holds ``world`` (goal, about, action_docs, manual, scene, observation,
previous, state, knowledge, and left: the number of actions left), ``last`` (code, feedback) and ``step`` (number,
from 0; nth, from 1; most). Using a value that does not exist yet is an error; give it a default:
``{{ db.last.code | default("Nothing was done yet.") }}``.

This file also has the baseline of random actions (the paper's table 1).
"""

import inspect
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import Field, JsonValue, model_validator

from planbook.envs import Action, ActionSpec, Environment
from planbook.planner.agent import action_docs_of, call_of
from planbook.planner.episode import Episode
from planbook.planner.errors import BadGraphFile, UnusableReply
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.file import SHIPPED_GRAPHS, graph_of, graph_path, graph_text, read_graph
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.node import ROLE, GraphFile
from planbook.planner.graph.traverse import NodeAnswered, run_pass
from planbook.planner.prompts import PROMPTS
from planbook.planner.strategies.base import Figures, Method, Options, Played, format_figure, mean_of, model_task

GENERAL = "general"
"""The graph for environments without their own."""
SAME_SCENE = "The same as now."
"""Replaces the scene if the observation contains it, so that a prompt does not show a page twice."""
MAX_IDLE = 5
"""Number of consecutive steps without an action after which the episode ends."""


class AgentKitOptions(Options):
    """The options of AgentKit."""

    graph: str | None = Field(
        default=None,
        description="A shipped graph by name, or a YAML file; null is the graph named after the environment, else "
        "general. Its nodes ask the roles that they name (graph, small and large in shipped graphs).",
    )
    text: str | None = Field(
        default=None,
        description="Text of the graph's YAML file. By default the file is read once and stored with the run.",
    )
    steps: int | None = Field(
        default=None, ge=1, description="Maximum number of passes; null is the graph's own, else the episode's actions."
    )
    side_by_side: int = Field(default=1, ge=1, description="Number of nodes that are asked at the same time.")

    @model_validator(mode="before")
    @classmethod
    def _with_text(cls, options: object) -> object:
        """Add the text of a file, and make its path absolute, since a run may be resumed from another folder.

        The text of a shipped graph is not added: the version of planbook determines it.
        """
        name = options.get("graph") if isinstance(options, Mapping) else None
        if not (isinstance(options, Mapping) and isinstance(name, str) and Path(name).is_file()):
            return options
        text = options.get("text")
        return {**options, "graph": str(Path(name).resolve()), "text": graph_text(Path(name)) if text is None else text}

    def in_force(self, environment: str) -> dict[str, JsonValue]:
        """Return all options with the graph's name and steps, without its text."""
        options = {**super().in_force(environment), "graph": self.graph_name(environment)}
        options["steps"] = self.steps or self.graph_file(environment).steps
        del options["text"]
        return options

    def texts(self, environment: str) -> Mapping[str, str]:
        """Return the texts of the graph, its hooks, and the environment's own graph, whose manual is shared."""
        name, own = self.graph_name(environment), SHIPPED_GRAPHS / f"{environment}.yaml"
        texts = {f"graph {Path(name).stem}": graph_text(graph_path(name)) if self.text is None else self.text}
        if own.is_file() and own.stem != name:
            texts[f"manual of the graph {environment}"] = graph_text(own)
        files = {hook.rpartition(":")[0] for hook in self.graph_file(environment).hooks if ":" in hook}
        return texts | {f"hooks {file}": (Path(name).parent / file).read_text("utf-8") for file in sorted(files)}

    def graph_name(self, environment: str) -> str:
        """Return the name of the graph for this environment."""
        return self.graph or (environment if (SHIPPED_GRAPHS / f"{environment}.yaml").is_file() else GENERAL)

    def graph_file(self, environment: str) -> GraphFile:
        """Return the graph for this environment. Raises BadGraphFile, also if no node writes plan code."""
        name = self.graph_name(environment)
        file = read_graph(graph_path(name)) if self.text is None else graph_of(self.text, Path(name))
        if file.code is None:
            raise BadGraphFile(f"{name}: no node writes plan code; say which one does with `code: NODE`")
        return file

    def manual(self, environment: str) -> JsonValue:
        """Return the manual of the environment's own graph, which all graphs share; None without one."""
        own = SHIPPED_GRAPHS / f"{environment}.yaml"
        return read_graph(own).initial.get("manual") if own.is_file() else None


def roles_of(options: AgentKitOptions, environment: str) -> Collection[str]:
    """Return the roles that the nodes of the graph ask. Raises BadGraphFile."""
    return options.graph_file(environment).roles


def agentkit(episode: Episode, options: AgentKitOptions) -> None:
    """Run one pass of the graph after another. Run the plan code of each pass before the next."""
    file = options.graph_file(episode.environment.name)
    graph, database = Graph(*file.nodes.values()), file.new_database()
    steps, idle = options.steps or file.steps or max(1, episode.settings.actions), 0
    manual = options.manual(episode.environment.name)
    for number in range(steps):
        database.set("step", {"number": number, "nth": number + 1, "most": steps})
        _store_situation(episode, database, manual)
        with episode.frame("step", helpers=episode.recall().helpers, task=model_task(episode)) as frame:
            try:
                result = run_pass(
                    graph, database, frame.scope, number=number, hooks=file.hooks, side_by_side=options.side_by_side
                )
            except UnusableReply as unusable:
                raise episode.no_plan(ROLE, str(unusable)) from unusable
            code, before = str(result.answers[str(file.code)]), len(episode.steps)
            feedback = episode.run(code, source=ROLE)
            database.set("last", {"code": code, "feedback": feedback.text})
        idle = 0 if len(episode.steps) > before else idle + 1
        if idle == MAX_IDLE:
            return


def _store_situation(episode: Episode, database: GraphDatabase, manual: JsonValue) -> None:
    """Store the current state of the environment in the database."""
    environment, recall, scene = episode.environment, episode.recall(), episode.environment.scene()
    observation = (episode.steps[-1].observation if episode.steps else episode.observation).text
    situation: dict[str, JsonValue] = {
        "goal": episode.task.goal,
        "about": environment.about,
        "action_docs": PROMPTS["action_docs"].render(action_docs=action_docs_of(environment)),
        "scene": SAME_SCENE if scene and scene in observation else scene,
        "observation": observation,
        "state": environment.state(),
        "left": episode.settings.actions - episode.actions,
    }
    if database.has("world.observation"):
        situation["previous"] = database.get("world.observation")
    if manual is not None:
        situation["manual"] = manual
    if recall.text:
        situation["knowledge"] = recall.text
    database.set("world", situation)


class Passes(Figures):
    """Counts over a run, under ``graph`` in ``--json``."""

    key = "graph"

    passes: int
    answered: int
    """Nodes that a model answered."""
    reused: int
    """Skipped nodes whose last answer was used again."""
    temporary: int
    """Nodes of a single pass."""
    skipped: int = 0
    """Skipped nodes that had no answer yet."""
    mean_passes: float | None = Field(default=None, exclude=True)
    """Mean number of passes over the played episodes."""

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over a run. Return None for a run without a graph."""
        counts: Counter[str] = Counter()
        passes_played = list[int]()
        for played in episodes:
            nodes = played.held(NodeAnswered)
            answered = set[str]()
            passes = len({node.number for node in nodes})
            counts["passes"] += passes
            passes_played += [passes] if played.ending.outcome.played else []
            for node in nodes:
                answered |= set() if node.skipped else {node.node}
                skipped = "reused" if node.node in answered else "skipped"
                counts[skipped if node.skipped else "answered"] += 1
                counts["temporary"] += node.temporary
        fields = {name: counts[name] for name in cls.model_fields}
        return cls(**fields | {"mean_passes": mean_of(passes_played)}) if counts["passes"] else None

    def tell(self) -> Iterable[str]:
        """Return the counts as one line."""
        temporary = f"; temporary nodes {self.temporary}" if self.temporary else ""
        skipped = f", skipped {self.skipped}" if self.skipped else ""
        yield (
            f"Passes over the graph: {self.passes}, {format_figure(self.mean_passes)} per task; nodes answered "
            f"{self.answered}, reused {self.reused}{skipped}{temporary}."
        )


# Random actions.

RANDOM = "random"
CELLS_PER_ACTION = 3
"""Maximum number of cells for each action of the episode, since a cell may fail before it acts."""


class RandomOptions(Options):
    """The options of the random baseline."""

    steps: int | None = Field(
        default=None, ge=1, description=f"Maximum number of one-action cells; null is {CELLS_PER_ACTION} per action."
    )


def random_choice(episode: Episode, options: RandomOptions) -> None:
    """Take random actions, drawn with the seed of the run and the task."""
    steps = options.steps or CELLS_PER_ACTION * episode.settings.actions
    dice = random.Random(f"{episode.settings.seed}/{episode.task.id}")
    with episode.frame("plan"):
        for _ in range(steps):
            choices = choices_in(episode.environment)
            if not choices:
                raise episode.no_plan(RANDOM, f"{RANDOM} cannot play {episode.environment.name}: {NOTHING_LISTED}")
            episode.run(call_of(dice.choice(choices)), source=RANDOM)


NOTHING_LISTED = (
    "it lists neither possible actions nor goals, and every action takes an argument that could be anything"
)


def choices_in(environment: Environment) -> Sequence[Action]:
    """Return the actions to draw from.

    If all arguments have few values, these are all actions with all combinations of arguments. Otherwise they are the
    actions that the environment lists as possible, else its goals if each is an action, else its actions without free
    arguments.
    """
    calls = [list(_calls(spec)) for spec in environment.offer.actions.values()]
    fixed = [action for actions in calls for action in actions]
    if all(calls):
        return fixed
    listed = environment.possible_actions()
    if listed is None and environment.goals.direct:
        listed = list(environment.goals.known())
    return listed or fixed


def _calls(spec: ActionSpec) -> Iterator[Action]:
    """Yield the action with each choice of its arguments; nothing if one of them is free."""
    values = [_values(parameter) for parameter in spec.signature.parameters.values()]
    return (Action(spec.name, chosen) for chosen in product(*values))


def _values(parameter: inspect.Parameter) -> Sequence[Any]:
    """Return the values of an argument: those of a Literal or a bool, else its default; nothing if it is free."""
    if get_origin(parameter.annotation) is Literal:
        return get_args(parameter.annotation)
    if parameter.annotation is bool:
        return (True, False)
    return () if parameter.default is inspect.Parameter.empty else (parameter.default,)


def _asks_default_role(options: AgentKitOptions, environment: Environment) -> bool:
    """Return True if a node of the graph names no role."""
    return ROLE in roles_of(options, environment.name)


METHODS: Mapping[str, Method] = {
    "agentkit": Method(
        agentkit,
        AgentKitOptions,
        "a graph of prompts with one pass per step (AgentKit)",
        (ROLE,),
        sometimes={ROLE: _asks_default_role},
        named=roles_of,
        spans=(NodeAnswered,),
        figures=(Passes,),
    ),
    "random": Method(random_choice, RandomOptions, "random actions; no model"),
}
