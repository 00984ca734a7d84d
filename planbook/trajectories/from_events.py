"""An episode of a run, in the schema."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

from planbook.errors import BadRun
from planbook.figures.summary import NOT_PLAYED
from planbook.planner import Ending
from planbook.planner.trajectory import as_asked
from planbook.run import Entry, Run, last_path, recorded_endings
from planbook.run.moved import without_folders
from planbook.store import Event
from planbook.trajectories.schema import SCHEMA, RunFacts, Trajectory

PARTS: Mapping[str, str] = {
    "subtask": "subtasks",
    "goal": "goals",
    "plan": "plans",
    "branch": "branches",
    "node": "nodes",
    "ask": "calls",
}
"""Kinds of events that are told as they are, and the field that has them."""
Body = dict[str, Any]


def facts_of(run: Run, index: int) -> RunFacts:
    """What is known of the run that an episode comes from; of an imported one, of the run that it was exported from."""
    if run.imported is not None:
        return RunFacts.model_validate(run.imported.facts_of(index))
    world = next((event.body for event in run.store.events("run", "versions")), {})
    config = without_folders(run.config)
    return RunFacts(
        planner=config.planner,
        config=config.model_dump(mode="json"),
        begun=run.begun,
        versions=run.versions,
        world={name: str(version) for name, version in world.items()},
    )


def ended(run: Run) -> Iterator[Entry]:
    """The episodes of a run that have ended, in its order."""
    endings = recorded_endings(run)
    return (entry for entry in run.entries() if entry.index in endings)


def trajectory_of(run: Run, entry: Entry, facts: RunFacts) -> Trajectory:
    """One episode that has ended, as it was last started over. Raises BadRun for what has no place in the schema."""
    path = last_path(run, entry)
    try:
        return Told(path, entry, facts).of(run.store.events(path))
    except ValueError as error:
        raise BadRun(f"{run.folder}: {path} does not fit the schema {SCHEMA}: {error}") from error


def task_alone(entry: Entry, facts: RunFacts, ending: Ending | None) -> Trajectory:
    """An episode without what happened in it; with no ending, it was not run."""
    return Trajectory(schema=SCHEMA, task=entry.task, repeat=entry.repeat, run=facts, ending=ending or NOT_PLAYED)


class Told:
    """Takes an episode's events one by one."""

    def __init__(self, path: str, entry: Entry, facts: RunFacts) -> None:
        self._path = path
        self._whole: Body = {
            "schema": SCHEMA,
            "task": entry.task.model_dump(mode="json"),
            "repeat": entry.repeat,
            "run": facts,
            "rounds": [],
            **{field: [] for field in PARTS.values()},
        }
        self._steps: defaultdict[tuple[int, str, int], list[Body]] = defaultdict(list)
        self._in_round: list[list[Body]] = []

    def of(self, events: Iterable[Event]) -> Trajectory:
        """The whole."""
        for order, event in enumerate(as_asked(events)):
            self._take(order, event, written(event.body))
        for number, played in enumerate(self._whole["rounds"]):
            self._give_steps(number, played["cells"])
        return Trajectory.model_validate(self._whole)

    def _take(self, order: int, event: Event, body: Body) -> None:
        kind = event.kind
        if kind in PARTS:
            self._whole[PARTS[kind]].append({"order": order, "scope": self._inner(event.scope), **body})
        elif kind == "recall":
            self._whole["told"] = {"order": order, **body}
        elif kind == "outcome":
            self._whole["ending"] = body
        elif kind == "task":
            self._begin_round(order, body)
        elif kind == "act":
            self._step(order, body)
        elif kind == "cell":
            scope = self._inner(body.pop("scope"))
            self._whole["rounds"][-1]["cells"].append({"order": order, "scope": scope, **body})
        elif kind == "rewind":
            self._rewind(order, body)
        else:
            raise ValueError(f"it has no place for {kind} of {event.scope}")

    def _begin_round(self, order: int, body: Body) -> None:
        rounds = self._whole["rounds"]
        if not rounds:
            self._whole["task"] = body["task"]
        other = {} if body["task"] == self._whole["task"] else {"task": body["task"]}
        told = {"order": order, "number": len(rounds), "observation": body["observation"], **other}
        rounds.append({**told, "cells": [], "rewinds": []})
        self._in_round.append([])

    def _step(self, order: int, body: Body) -> None:
        place = (len(self._in_round) - 1, self._inner(body.pop("scope")), body.pop("cell"))
        step = {"order": order, **body}
        self._steps[place].append(step)
        self._in_round[-1].append(step)

    def _rewind(self, order: int, body: Body) -> None:
        for step in self._in_round[-1][body["steps"] :]:
            step["undone"] = True
        rewind = {"order": order, "scope": self._inner(body["path"]), "kept": body["steps"]}
        self._whole["rounds"][-1]["rewinds"].append(rewind)

    def _give_steps(self, number: int, cells: list[Body]) -> None:
        """Put each step into its cell; one that came to no end was never recorded, and is told by its steps alone."""
        there = {(number, cell["scope"], cell["number"]): cell for cell in cells}
        for place in [place for place in self._steps if place[0] == number]:
            if place not in there:
                there[place] = {"scope": place[1], "number": place[2]}
                cells.append(there[place])
            there[place]["steps"] = self._steps[place]

    def _inner(self, scope: str) -> str:
        """The scope as seen from the episode, whose own place in the run is nobody's business."""
        return scope.removeprefix(f"{self._path}/")


def written(value: Any) -> Any:
    """The value as every reader of JSON takes it: half a surrogate pair is no text, and NaN no number."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, dict):
        return {written(key): written(item) for key, item in value.items()}
    if isinstance(value, list):
        return [written(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
