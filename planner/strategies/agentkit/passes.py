"""AgentKit (section 2): a graph of prompts, gone through once a step; the answer of one node is the step's plan code.

The database of the graph holds, for its prompts, ``world`` (goal, about, surface, manual, scene, observation, previous,
state, knowledge, left: the actions that are left), ``last`` (code, feedback) and ``step`` (number, from 0, nth, from 1,
and most). What there is none of yet is not in it: ``$db.last.code|Nothing was done yet.$``.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from pydantic import BaseModel, Field, JsonValue, field_validator, model_validator

from planbook.planner.action_docs import action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import BadGraphFile, UnusableReply
from planbook.planner.graph import (
    ROLE,
    SHIPPED_GRAPHS,
    Database,
    GraphFile,
    graph_of,
    graph_path,
    read_graph,
    run_pass,
    text_of,
)
from planbook.planner.strategies.base import Options, told_task
from planbook.planner.templates import PROMPTS
from planbook.planner.types import Feedback

GENERAL = "general"
"""The graph for worlds that none is shipped for."""
SAME = "The same as now."
"""Stands for the scene where what is to be seen now tells all of it: a page need not be read twice."""
IDLE = 5
"""Steps in a row in which nothing is done in the world: then the graph has given up."""


class AgentKitOptions(Options):
    """Which graph is gone through, and how."""

    graph: str | None = Field(
        default=None,
        description="A graph that ships, by name, or a YAML file; null is the one named after the world, else general. "
        "Its nodes ask the roles that they name (those of shipped graphs are graph, small and large).",
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
        """The name, good in any folder: a run may be resumed from another one."""
        return str(Path(graph).resolve()) if graph and Path(graph).is_file() else graph

    @model_validator(mode="before")
    @classmethod
    def _with_text(cls, given: object) -> object:
        """The text of a file beside its name; what the text of a graph that ships is follows from our version."""
        if not isinstance(given, Mapping) or given.get("text") is not None:
            return given
        name = given.get("graph")
        return {**given, "text": text_of(Path(name))} if isinstance(name, str) and Path(name).is_file() else given

    def in_force(self, world: str) -> dict[str, JsonValue]:
        """With the graph's name and its steps, and without its text."""
        found = {**super().in_force(world), "graph": self.graph_name(world)}
        found["steps"] = self.steps or self.graph_file(world).steps
        del found["text"]
        return found

    def texts(self, world: str) -> Mapping[str, str]:
        """The graph, its hooks, and the graph that ships for the environment, whose manual others share."""
        name, own = self.graph_name(world), SHIPPED_GRAPHS / f"{world}.yaml"
        found = {f"graph {Path(name).stem}": text_of(graph_path(name)) if self.text is None else self.text}
        if own.is_file() and own.stem != name:
            found[f"manual of the graph {world}"] = text_of(own)
        files = {hook.rpartition(":")[0] for hook in self.graph_file(world).hooks if ":" in hook}
        return found | {f"hooks {file}": (Path(name).parent / file).read_text("utf-8") for file in sorted(files)}

    def graph_name(self, world: str) -> str:
        """The graph that is gone through in this world."""
        return self.graph or (world if (SHIPPED_GRAPHS / f"{world}.yaml").is_file() else GENERAL)

    def graph_file(self, world: str) -> GraphFile:
        """The same, read. Raises BadGraphFile."""
        name = self.graph_name(world)
        return graph_named(name) if self.text is None else playable(graph_of(self.text, Path(name)), name)

    def manual(self, world: str) -> JsonValue:
        """The manual of the graph that ships for the world, so that other graphs play with the same; None without."""
        own = SHIPPED_GRAPHS / f"{world}.yaml"
        return read_graph(own).initial.get("manual") if own.is_file() else None


def graph_named(name: str) -> GraphFile:
    """A graph that writes plan code: one that ships, or that of a file. Raises BadGraphFile."""
    return playable(read_graph(graph_path(name)), name)


def playable(file: GraphFile, name: str) -> GraphFile:
    """The graph, if a node of it writes plan code. Raises BadGraphFile."""
    if file.code is None:
        raise BadGraphFile(f"{name}: no node writes plan code; say which one does with `code: NODE`")
    return file


def roles_of(options: BaseModel, world: str) -> Collection[str]:
    """The roles that the nodes of the graph ask. Raises BadGraphFile."""
    return AgentKitOptions.model_validate(options).graph_file(world).roles


def agentkit(episode: Episode, options: BaseModel) -> None:
    """One pass of the graph after another, each followed by the code that it came to."""
    chosen = AgentKitOptions.model_validate(options)
    file = chosen.graph_file(episode.world.name)
    graph, database = file.graph(), file.database()
    steps, idle = chosen.steps or file.steps or max(1, episode.settings.actions), 0
    manual = chosen.manual(episode.world.name)
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


def _look(episode: Episode, database: Database, manual: JsonValue) -> None:
    """Put what there is to know of the world into the database."""
    world, recall = episode.world, episode.recall()
    seen = episode.steps[-1].observation if episode.steps else episode.observation
    told: dict[str, JsonValue] = {
        "goal": episode.task.goal,
        "about": world.about,
        "surface": PROMPTS["action_docs"].render(action_docs=action_docs_of(world)),
        "scene": SAME if (scene := world.scene()) in seen.text else scene,
        "observation": seen.text,
        "state": world.state(),
        "left": episode.settings.actions - episode.actions,
    }
    if database.has("world.observation"):
        told["previous"] = database.get("world.observation")
    if manual is not None:
        told["manual"] = manual
    if recall.text:
        told["knowledge"] = recall.text
    database.set("world", told)


def _keep(database: Database, code: str, feedback: Feedback) -> None:
    database.set("last", {"code": code, "feedback": feedback.text})
