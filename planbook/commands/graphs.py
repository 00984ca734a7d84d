"""The command `planbook graph` for prompt graphs: files of prompts that build on each other's answers, without code.

``graph_runs`` runs a graph, and records it in a run's folder. The engine that plays graphs is in ``planbook.planner``.
``new_graph.yaml`` is the example that `planbook graph new` writes.
"""

import sys
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

import click
from pydantic import JsonValue

from planbook import errors
from planbook.atomic_files import open_output
from planbook.commands.click_options import JSON, Command, CommandResult, options
from planbook.config import Config, models_by_role
from planbook.console import console, is_json_output
from planbook.errors import BadArgument
from planbook.options import parse_pairs
from planbook.planner import (
    DEFAULT_ROLE,
    GRAPH_FORMATS,
    GraphDatabase,
    GraphFile,
    graph_faults,
    graph_of,
    graph_path,
    graph_text,
    paths_overlap,
    read_graph,
    suggestion,
    value_text,
)
from planbook.settings import Settings, absolute_model
from planbook.wording import counted, escape_control

ENVIRONMENT = "world"
"""Path of the environment in the database of a graph that plays one."""
WRITABLE_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def graph() -> None:
    """Prompt graphs: files of questions to a model, each of which can use the answers to earlier ones."""


@graph.command()
@click.argument("file", type=WRITABLE_FILE)
def new(file: Path) -> int:
    """Write FILE, a small commented graph to edit; it runs as it is."""
    path = file if file.suffix in (".yaml", ".yml") else file.with_name(f"{file.name}.yaml")
    text = (resources.files(__package__) / "new_graph.yaml").read_text("utf-8").replace("FILE", str(path))
    try:
        with path.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise BadArgument(f"{path} already exists; edit it, or name another file") from None
    except OSError as error:
        raise BadArgument(f"{path} cannot be written: {error.strerror}; name another file") from error
    click.echo(f"{path}: edit it; its first lines say how to check, draw and run it")
    return errors.OK


@graph.command()
@click.argument("name", metavar="GRAPH")
@JSON
def check(name: str) -> CommandResult:
    """Check GRAPH without running it, and list every fault with its line."""
    path = graph_path(name)
    text = graph_text(path)
    faults = graph_faults(text, path)
    out = console()
    for fault in faults:
        out.print(f"{path}:{fault}")
    if faults:
        out.print(f"{path}: {counted(len(faults), 'fault')}")
    else:
        file = graph_of(text, path)
        out.print(f"{path}: no faults; {counted(len(file.all_nodes), 'node')}")
    result = {"graph": str(path), "faults": [fault._asdict() for fault in faults]}
    return errors.BAD_INPUT if faults else errors.OK, result


@graph.command()
@click.argument("name", metavar="GRAPH")
@click.option("--out", default=None, type=WRITABLE_FILE, help="The file to write; by default it is printed.")
def draw(name: str, out: Path | None) -> int:
    """Draw GRAPH, with every branch and loop: as SVG if the file ends in .svg, or else as Mermaid text."""
    form = "svg" if out and out.suffix == ".svg" else "mermaid"
    drawing = GRAPH_FORMATS[form](read_graph(graph_path(name)))
    if out is None:
        click.echo(drawing, nl=False)
        return errors.OK
    with open_output(out) as file:
        file.write(drawing.encode())
    click.echo(f"{out} ({form})")
    return errors.OK


@graph.command(cls=Command)
@click.argument("name", metavar="GRAPH")
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="PATH=VALUE",
    help="Put a value into the database; @FILE takes it from a file.",
)
@click.option("--passes", default=1, type=click.IntRange(min=1), help="Number of passes over the graph.")
@click.option(
    "--side-by-side",
    "max_concurrent",
    default=1,
    type=click.IntRange(min=1),
    help="Number of nodes asked at the same time.",
)
@options("Models", "Spending", "out")
@JSON
def run(name: str, values: tuple[str, ...], passes: int, max_concurrent: int, settings: Settings) -> CommandResult:
    """Run GRAPH: print each node with its answer, and the last answer at the end."""
    from planbook.commands.graph_runs import run_graph  # checking and drawing need no run
    from planbook.runs import GRAPH_PLANNER

    path = graph_path(name)
    text = graph_text(path)
    file = graph_of(text, path)
    database_values = read_values(file, values)
    refuse_environment(file, name, database_values)
    config = Config(
        planner=GRAPH_PLANNER,
        env=file.name,
        actions=0,
        models=_models(file, settings.models),
        sampling=settings.sampling_by_role(),
        planner_options={"graph": text, "given": with_inputs(file, database_values)},
    )
    code, result = run_graph(file, config, settings.execution(), settings.out, passes, max_concurrent)
    if not is_json_output() and not result["problem"]:
        answer = value_text(result["answer"])
        click.echo(escape_control(answer) if sys.stdout.isatty() else answer)
    return code, result


def _models(file: GraphFile, user_models: Mapping[str, str]) -> dict[str, str]:
    """Return a dict that maps roles to models.

    Raises BadArgument if a role of the graph has no model, or if the user named a model for a role that the graph does
    not have. Raises ModelError if a model cannot be used.
    """
    models = {role: absolute_model(model) for role, model in models_by_role(user_models).items()}
    known = {DEFAULT_ROLE, *file.roles}
    if unknown := sorted(set(models) - known):
        raise BadArgument(f"no node in {file.name} asks the role {unknown[0]}{suggestion(unknown[0], known)}")
    missing = [role for role in file.roles if not (models.get(role) or models.get(DEFAULT_ROLE))]
    if missing:
        raise BadArgument(
            f"{file.name} asks a model ({', '.join(missing)}): name one with --model, for example --model openai:NAME "
            "(with OPENAI_API_KEY, and OPENAI_BASE_URL for another server), or exchange:FOLDER to answer yourself"
        )
    from planbook.workers import open_model

    for model in dict.fromkeys(models.values()):
        open_model(model)
    return models


# Values in the database of a graph


def read_values(file: GraphFile, texts: tuple[str, ...]) -> dict[str, JsonValue]:
    """Return a dict that maps paths in the database to the values of ``--set``.

    Raises BadArgument if a file cannot be read, or if the graph does not use one of the paths. Raises GraphError if a
    value does not fit its path.
    """
    values = {path: _file_or_value(value) for path, value in parse_pairs(texts, "--set").items()}
    _database_with(file, values)
    if not file.hooks:  # a hook may use any value
        _refuse_unused(file, values)
    return values


def with_inputs(file: GraphFile, values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the values and those of missing inputs, which the user enters in the terminal.

    Raises BadArgument if an input is missing and standard input is not a terminal.
    """
    prompted: dict[str, JsonValue] = {}
    database = _database_with(file, values)
    for path, meaning in file.inputs.items():
        if not database.has(path):
            if not (sys.stdin and sys.stdin.isatty()):
                raise BadArgument(f"{file.name} needs {path} ({meaning}): give it with --set {path}=... (or =@FILE)")
            prompted[path] = click.prompt(f"{meaning} ({path})", err=True)
    return {**values, **prompted}


def refuse_environment(file: GraphFile, name: str, values: Mapping[str, JsonValue]) -> None:
    """Raise BadArgument if the graph plays an environment, since this command has none.

    Such a graph is accepted if a value, an input or an initial value takes the environment's place in the database.
    ``name`` is the name that the user gave.
    """
    uses_environment = any(paths_overlap(used, ENVIRONMENT) for used in file.looked_up_paths) or any(
        ":" not in hook for hook in file.hooks
    )
    is_given = any(paths_overlap(path, ENVIRONMENT) for path in (*values, *file.inputs, *file.initial_values))
    if file.code is not None and uses_environment and not is_given:
        command = f"planbook run --planner agentkit --env ENV --planner-option graph={name}"
        raise BadArgument(f"{name} plays an environment, one pass per step: use {command}")


def _database_with(file: GraphFile, values: Mapping[str, JsonValue]) -> GraphDatabase:
    database = file.new_database()
    for path, value in values.items():
        database.set(path, value)
    return database


def _refuse_unused(file: GraphFile, paths: Iterable[str]) -> None:
    known = file.known_paths
    for path in paths:
        # the path "" is the whole database; a prompt inserts it with {{ db }}
        if "" not in file.looked_up_paths and not any(paths_overlap(path, used) for used in known):
            accepted = f"It takes {', '.join(known)}" if known else "It takes no values"
            raise BadArgument(f"nothing in {file.name} uses {path}{suggestion(path, known)} {accepted}")


def _file_or_value(value: JsonValue) -> JsonValue:
    """Return the text of a file if the value has the form @FILE, or else the value."""
    if not isinstance(value, str) or not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"--set: {value[1:]} cannot be read: {error}") from error
