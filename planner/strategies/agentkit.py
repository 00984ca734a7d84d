"""AgentKit (section 2): a graph of prompts with one pass a step. One node's answer is the plan code of the step.

The database of the graph holds, for its prompts, ``environment`` (goal, about, action_docs, manual, scene, observation,
previous, state, knowledge, left: the actions that are left), ``last`` (code, feedback) and ``step`` (number, from 0,
nth, from 1, and most). What does not exist yet is not in it: ``{{ db.last.code | default("Nothing was done yet.") }}``.

The baseline of the paper's table 1 that needs no model is here, too: random actions.
"""

import inspect
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, Field, JsonValue, field_validator, model_validator

from planbook.envs import Action, ActionSpec, Environment
from planbook.planner.agent import action_docs_of, call_of
from planbook.planner.episode import Episode
from planbook.planner.errors import BadGraphFile, UnusableReply
from planbook.planner.graph import GraphDatabase
from planbook.planner.graph.file import SHIPPED_GRAPHS, graph_of, graph_path, graph_text, read_graph
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.node import ROLE, GraphFile
from planbook.planner.graph.traverse import NodeAnswered, run_pass
from planbook.planner.prompts import PROMPTS
from planbook.planner.strategies.base import Figures, Method, Options, Played, told_task
from planbook.planner.types import Feedback

GENERAL = "general"
"""The graph for environments without one of their own."""
SAME = "The same as now."
"""Stands for the scene where the observation holds all of it, so that a page is not read twice."""
IDLE = 5
"""Steps in a row without an action, after which the episode ends."""


class AgentKitOptions(Options):
    """The options of AgentKit."""

    graph: str | None = Field(
        default=None,
        description="A graph that ships, by name, or a YAML file; null is the one named after the "
        "environment, else general. Its nodes ask the roles that they name (graph, small and large in shipped graphs).",
    )
    text: str | None = Field(
        default=None,
        description="What the YAML file of the graph says; read from it once, so that a run has it whole.",
    )
    steps: int | None = Field(
        default=None, ge=1, description="Passes at most; null is the graph's own number, else the episode's actions."
    )
    side_by_side: int = Field(default=1, ge=1, description="Nodes that are asked at the same time.")

    @field_validator("graph")
    @classmethod
    def _lasting(cls, graph: str | None) -> str | None:
        """Return the name as an absolute path: a run may be resumed from another folder."""
        return str(Path(graph).resolve()) if graph and Path(graph).is_file() else graph

    @model_validator(mode="before")
    @classmethod
    def _with_text(cls, given: object) -> object:
        """Add the text of a file. That of a graph that ships follows from the version of planbook."""
        if not isinstance(given, Mapping) or given.get("text") is not None:
            return given
        name = given.get("graph")
        return {**given, "text": graph_text(Path(name))} if isinstance(name, str) and Path(name).is_file() else given

    def in_force(self, environment: str) -> dict[str, JsonValue]:
        """Return all options with the graph's name and steps, without its text."""
        found = {**super().in_force(environment), "graph": self.graph_name(environment)}
        found["steps"] = self.steps or self.graph_file(environment).steps
        del found["text"]
        return found

    def texts(self, environment: str) -> Mapping[str, str]:
        """Return the texts of the graph, its hooks, and the environment's own graph, whose manual is shared."""
        name, own = self.graph_name(environment), SHIPPED_GRAPHS / f"{environment}.yaml"
        found = {f"graph {Path(name).stem}": graph_text(graph_path(name)) if self.text is None else self.text}
        if own.is_file() and own.stem != name:
            found[f"manual of the graph {environment}"] = graph_text(own)
        files = {hook.rpartition(":")[0] for hook in self.graph_file(environment).hooks if ":" in hook}
        return found | {f"hooks {file}": (Path(name).parent / file).read_text("utf-8") for file in sorted(files)}

    def graph_name(self, environment: str) -> str:
        """Return the name of the graph for this environment."""
        return self.graph or (environment if (SHIPPED_GRAPHS / f"{environment}.yaml").is_file() else GENERAL)

    def graph_file(self, environment: str) -> GraphFile:
        """Return that graph. Raises BadGraphFile."""
        name = self.graph_name(environment)
        return graph_named(name) if self.text is None else playable(graph_of(self.text, Path(name)), name)

    def manual(self, environment: str) -> JsonValue:
        """Return the manual of the environment's own graph, which all graphs play with; None without one."""
        own = SHIPPED_GRAPHS / f"{environment}.yaml"
        return read_graph(own).initial.get("manual") if own.is_file() else None


def graph_named(name: str) -> GraphFile:
    """Return a graph that writes plan code: one that ships, or that of a file. Raises BadGraphFile."""
    return playable(read_graph(graph_path(name)), name)


def playable(file: GraphFile, name: str) -> GraphFile:
    """Return the graph. Raises BadGraphFile where no node writes plan code."""
    if file.code is None:
        raise BadGraphFile(f"{name}: no node writes plan code; say which one does with `code: NODE`")
    return file


def roles_of(options: BaseModel, environment: str) -> Collection[str]:
    """Return the roles that the nodes of the graph ask. Raises BadGraphFile."""
    return AgentKitOptions.model_validate(options).graph_file(environment).roles


def agentkit(episode: Episode, options: BaseModel) -> None:
    """Run one pass of the graph after another, each followed by the plan code that it wrote."""
    chosen = AgentKitOptions.model_validate(options)
    file = chosen.graph_file(episode.environment.name)
    graph, database = Graph(*file.nodes.values()), file.new_database()
    steps, idle = chosen.steps or file.steps or max(1, episode.settings.actions), 0
    manual = chosen.manual(episode.environment.name)
    for number in range(steps):
        database.set("step", {"number": number, "nth": number + 1, "most": steps})
        _look(episode, database, manual)
        with episode.frame("step", helpers=episode.recall().helpers, task=told_task(episode)) as frame:
            try:
                passed = run_pass(
                    graph, database, frame.scope, number=number, hooks=file.hooks, side_by_side=chosen.side_by_side
                )
            except UnusableReply as unusable:
                raise episode.no_plan(ROLE, str(unusable)) from unusable
            code, before = str(passed.answers[str(file.code)]), len(episode.steps)
            _keep(database, code, episode.run(code, source=ROLE))
        idle = 0 if len(episode.steps) > before else idle + 1
        if idle == IDLE:
            return


def _look(episode: Episode, database: GraphDatabase, manual: JsonValue) -> None:
    """Put what is known of the environment into the database."""
    environment, recall = episode.environment, episode.recall()
    seen = episode.steps[-1].observation if episode.steps else episode.observation
    told: dict[str, JsonValue] = {
        "goal": episode.task.goal,
        "about": environment.about,
        "action_docs": PROMPTS["action_docs"].render(action_docs=action_docs_of(environment)),
        "scene": SAME if (scene := environment.scene()) in seen.text else scene,
        "observation": seen.text,
        "state": environment.state(),
        "left": episode.settings.actions - episode.actions,
    }
    if database.has("world.observation"):
        told["previous"] = database.get("world.observation")
    if manual is not None:
        told["manual"] = manual
    if recall.text:
        told["knowledge"] = recall.text
    database.set("world", told)


def _keep(database: GraphDatabase, code: str, feedback: Feedback) -> None:
    database.set("last", {"code": code, "feedback": feedback.text})


class Passes(Figures):
    """Sums over a run: ``graph`` in ``--json``."""

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
    tasks: int = Field(default=0, exclude=True)

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over a run. Returns None for one without a graph."""
        counts: Counter[str] = Counter()
        for played in episodes:
            nodes = played.held(NodeAnswered)
            answered = set[str]()
            counts["passes"] += len({node.number for node in nodes})
            for node in nodes:
                answered |= set() if node.skipped else {node.node}
                kept = "reused" if node.node in answered else "skipped"
                counts[kept if node.skipped else "answered"] += 1
                counts["temporary"] += node.temporary
        found = {name: counts[name] for name in cls.model_fields}
        return cls(**found | {"tasks": len(episodes)}) if counts["passes"] else None

    def tell(self) -> Iterable[str]:
        """Yield them as one line."""
        temporary = f"; temporary nodes {self.temporary}" if self.temporary else ""
        skipped = f", skipped {self.skipped}" if self.skipped else ""
        yield (
            f"Passes over the graph: {self.passes}, {self.passes / self.tasks:.1f} per task; nodes answered "
            f"{self.answered}, reused {self.reused}{skipped}{temporary}."
        )


# Random actions

RANDOM = "random"
CELLS_PER_ACTION = 3
"""Cells for each action of the episode at most: an environment may have actions that do not count."""


class RandomOptions(Options):
    """The options of the random baseline."""

    steps: int | None = Field(
        default=None, ge=1, description="Cells, of one action each; null is as many as the episode has actions."
    )


def random_choice(episode: Episode, options: BaseModel) -> None:
    """Take random actions, drawn by the seed of the run and the task."""
    steps = RandomOptions.model_validate(options).steps or CELLS_PER_ACTION * episode.settings.actions
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
    """Return the actions to draw from: every action, where all arguments have few values, else those possible now.

    Where the environment does not list these, its goals, if each is an action; else its actions without free arguments.
    """
    every = [list(_ways(spec)) for spec in environment.offer.actions.values()]
    fixed = [action for ways in every for action in ways]
    if all(every):
        return fixed
    listed = environment.possible_actions()
    if listed is None and environment.goals.direct:
        listed = list(environment.goals.known())
    return listed or fixed


def _ways(spec: ActionSpec) -> Iterator[Action]:
    """Yield the action with each choice of its arguments; nothing if one of them is free."""
    values = [_values(parameter) for parameter in spec.signature.parameters.values()]
    return (Action(spec.name, chosen) for chosen in product(*values))


def _values(parameter: inspect.Parameter) -> Sequence[Any]:
    """Return the values of an argument that has few: of a Literal, of a bool, else its default if there is one."""
    if get_origin(parameter.annotation) is Literal:
        return get_args(parameter.annotation)
    if parameter.annotation is bool:
        return (True, False)
    return () if parameter.default is inspect.Parameter.empty else (parameter.default,)


def _has_unnamed(options: BaseModel, environment: Environment) -> bool:
    """Return whether a node of the graph names no role."""
    return ROLE in roles_of(options, environment.name)


METHODS: Mapping[str, Method] = {
    "agentkit": Method(
        agentkit,
        AgentKitOptions,
        "a graph of prompts, gone through once a step (AgentKit)",
        (ROLE,),
        sometimes={ROLE: _has_unnamed},
        named=roles_of,
        spans=(NodeAnswered,),
        figures=(Passes,),
    ),
    "random": Method(random_choice, RandomOptions, "one action after another, by chance; no model"),
}
