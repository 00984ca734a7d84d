"""What a graph is given to work on: values by database path, each of which something in the file uses."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import click
from pydantic import JsonValue

from planbook.envs import known_environments
from planbook.errors import BadArgument
from planbook.option_values import pairs
from planbook.planner.graph import SHIPPED_GRAPHS, Database, GraphFile
from planbook.planner.graph.lookups import nearest

WORLD = "world"
"""Where an agent's graph finds what there is to know of the world that it plays."""


def values_of(file: GraphFile, texts: tuple[str, ...], files: tuple[str, ...]) -> dict[str, JsonValue]:
    """The values of ``--set`` and ``--input``. Raises BadArgument, GraphError."""
    values: dict[str, JsonValue] = {**pairs(texts, "--set"), **_of_files(files)}
    _filled(file, values)
    if not file.hooks:  # a hook may use any
        _no_slips(file, values)
    return values


def with_inputs(file: GraphFile, values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The values, and what the graph needs and was not given: asked for at a terminal. Raises BadArgument."""
    asked: dict[str, JsonValue] = {}
    database = _filled(file, values)
    for path, what in file.inputs.items():
        if not database.has(path):
            if not sys.stdin.isatty():
                raise BadArgument(
                    f"{file.name} needs {path} ({what}): give it with --set {path}=... or --input {path}=@FILE"
                )
            asked[path] = click.prompt(f"{what} ({path})", err=True)
    return {**values, **asked}


def needs_no_world(file: GraphFile, path: Path, values: Mapping[str, JsonValue]) -> None:
    """Refuse a graph that plays a world, and is told of none: its hooks that ship, too. Raises BadArgument."""
    looks = any(_meet(each, WORLD) for each in file.looked_up) or any(":" not in hook for hook in file.hooks)
    if file.code is None or not looks or any(_meet(each, WORLD) for each in (*values, *file.inputs, *file.initial)):
        return
    ships = path.parent.resolve() == SHIPPED_GRAPHS.resolve()
    if ships and file.name in known_environments():
        how = f"--env {file.name}"
    else:
        how = f"--env ENV --planner-option graph={file.name if ships else path}"
    raise BadArgument(f"{file.name} plays a world, a pass a step: `planbook run --planner agentkit {how}`")


def _filled(file: GraphFile, values: Mapping[str, JsonValue]) -> Database:
    database = file.database()
    for path, value in values.items():
        database.set(path, value)
    return database


def _no_slips(file: GraphFile, paths: Iterable[str]) -> None:
    """Refuse a value that nothing would use. Raises BadArgument."""
    known = file.known_paths
    for path in paths:
        if "" not in file.looked_up and not any(_meet(path, each) for each in known):  # $db$ is all of it
            there = f"It takes {', '.join(known)}" if known else "It takes no values"
            raise BadArgument(f"nothing in {file.name} uses {path}{nearest(path, known)} {there}")


def _meet(one: str, other: str) -> bool:
    """Whether one path is the other, or lies in it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _of_files(texts: tuple[str, ...]) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = {}
    for text in texts:
        path, found, file = text.partition("=@")
        if not path or not found:
            raise BadArgument(f"--input {text}: write PATH=@FILE; a value goes with --set PATH=VALUE")
        values[path] = _input(Path(file))
    return values


def _input(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"--input: {path} cannot be read: {error}") from error
