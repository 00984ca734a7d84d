"""The commands of `planbook graph`: they parse, call and print."""

import inspect
from pathlib import Path
from typing import Any

import click

from planbook import errors
from planbook.arguments import Asked, by_role, lasting_model, spending_of
from planbook.console import console
from planbook.episodes.role_models import opened
from planbook.errors import BadArgument
from planbook.graphs.giving import needs_no_world, values_of, with_inputs
from planbook.graphs.making import make_graph
from planbook.graphs.running import Given, run_graph
from planbook.options import ASKING, JSON, SPENDING, options
from planbook.planner import graph as written
from planbook.planner.graph import GraphFile, file_faults, graph_of, graph_path, read_graph
from planbook.planner.graph.drawing import FORMATS
from planbook.planner.graph.lookups import nearest, told
from planbook.planner.graph.picture import picture
from planbook.planner.roles import DEFAULT
from planbook.terminal.printing import answer
from planbook.wording import counted

NAMED = "a YAML file, or the name of a graph that ships"
ENDINGS = {"mermaid": (".mmd", ".mermaid", ".md", ".txt"), "svg": (".svg",)}
"""The endings of files that a drawing may be written to, by its format; the first is the usual one."""
OUT = click.Path(path_type=Path, dir_okay=False)


@click.group()
def graph() -> None:
    """Prompt graphs: files of questions to a model that build on each other; no coding."""


@graph.command(name="format")
def tell_format() -> int:
    """How a graph file is written: every key, shape and condition."""
    click.echo(inspect.getdoc(written))
    return errors.OK


@graph.command()
@click.argument("file", type=OUT)
def new(file: Path) -> int:
    """Make the graph FILE by answering questions; one that is there is added to."""
    return make_graph(file)


@graph.command()
@click.argument("name", metavar="GRAPH")
@JSON
def check(name: str, as_json: bool) -> int:
    """Check GRAPH without running it: every fault at once, with lines."""
    path = graph_path(name)
    text = _text(path)
    faults = file_faults(text, path)
    out = console(as_json)
    for fault in faults:
        out.print(f"{path}:{fault}", markup=False, soft_wrap=True)
    if faults:
        out.print(f"{path}: {counted(len(faults), 'fault')}", soft_wrap=True)
    else:
        file = graph_of(text, path)
        layers = _layers(file)
        out.print(f"{path}: no faults; {counted(len(file.every_node), 'node')} in {counted(len(layers), 'layer')}:")
        for number, layer in enumerate(layers, 1):
            out.print(f"  {number}. {', '.join(layer)}", markup=False, soft_wrap=True)
    answered = {"graph": str(path), "faults": [fault._asdict() for fault in faults]}
    return answer(errors.BAD_INPUT if faults else errors.OK, answered, as_json=as_json)


def _layers(file: GraphFile) -> list[list[str]]:
    """The nodes as they come if every branch is taken; of those that may be missing it is said what they hang on."""
    hangs: dict[str, str] = {}
    for node in file.every_node:
        hangs |= {inner.name: f" (if {node.name})" for branch in node.branches for inner in branch.nodes}
        if node.loop:
            hangs[node.loop.node.name] = f" (each of {node.name})"
    return [[f"{name}{hangs.get(name, '')}" for name in layer] for layer in picture(file).layers]


@graph.command()
@click.argument("name", metavar="GRAPH")
@click.option("--format", "form", default=None, type=click.Choice(sorted(FORMATS)), help="Else by the file's ending.")
@click.option("--out", default=None, type=OUT, help="The file to write; else it is printed.")
def draw(name: str, form: str | None, out: Path | None) -> int:
    """Sample GRAPH, with every branch and loop."""
    form = _form(form, out)
    drawn = FORMATS[form](read_graph(graph_path(name)))
    if out and out.suffix.lower() == ".md":
        drawn = f"```mermaid\n{drawn}```\n"
    if out is None:
        click.echo(drawn, nl=False)
        return errors.OK
    try:
        out.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise BadArgument(f"{out} cannot be written: {error.strerror}; name another file with --out") from error
    click.echo(f"{out} ({form})")
    return errors.OK


def _form(form: str | None, out: Path | None) -> str:
    """The format that was asked for, or that of the file's ending. Raises BadArgument where they do not fit."""
    if out is None or (form and not out.suffix):
        return form or "mermaid"
    fitting = [each for each, endings in ENDINGS.items() if out.suffix.lower() in endings]
    if not fitting or (form and form not in fitting):
        told = "; ".join(f"{each}: {', '.join(ENDINGS[each])}" for each in ([form] if form else ENDINGS))
        usual = out.with_suffix(ENDINGS[form or "svg"][0]).name
        raise BadArgument(f"{out}: its ending fits no drawing ({told}); name it {usual}, say")
    return fitting[0]


@graph.command()
@click.argument("name", metavar="GRAPH")
@click.option("--set", "values", multiple=True, metavar="PATH=VALUE", help="Put a value into the database.")
@click.option("--input", "files", multiple=True, metavar="PATH=@FILE", help="Put the text of a file into the database.")
@click.option("--passes", default=1, type=click.IntRange(min=1), help="So many passes on one database.")
@click.option("--side-by-side", default=1, type=click.IntRange(min=1), help="Nodes that are asked at the same time.")
@options(ASKING[:2], SPENDING)
@click.option("--out", default=None, type=click.Path(path_type=Path), help="The run's folder; a second time, go on.")
@JSON
def run(
    name: str, values: tuple[str, ...], files: tuple[str, ...], out: Path | None, as_json: bool, **asked: Any
) -> int:
    """Run GRAPH: its nodes are printed as they are answered, and the last answer at the end."""
    path = graph_path(name)
    text = _text(path)
    file = graph_of(text, path)
    put = values_of(file, values, files)
    needs_no_world(file, path, put)
    given = Given(
        models=_models(file, asked["models"]),
        sampling=Asked(env=None, sampling=asked["sampling"]).sampling_by_role({}),
        values=with_inputs(file, put),
        passes=asked["passes"],
        side_by_side=asked["side_by_side"],
        **spending_of(asked),
    )
    code, ran = run_graph(file, text, given, out)
    if not as_json and not ran.problem:
        click.echo(told(ran.answer))
    return answer(code, ran, as_json=as_json)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"{path} cannot be read as a graph: {error}") from error


def _models(file: GraphFile, texts: tuple[str, ...]) -> dict[str, str]:
    """A model for every role that the graph asks. Raises BadArgument, ModelError."""
    models = {role: lasting_model(model) for role, model in by_role(texts).items()}
    known = {DEFAULT, *file.roles}
    if unknown := sorted(set(models) - known):
        raise BadArgument(f"no node of {file.name} asks {unknown[0]}{nearest(unknown[0], known)}")
    silent = [role for role in file.roles if not (models.get(role) or models.get(DEFAULT))]
    if silent:
        raise BadArgument(
            f"{file.name} asks a model ({', '.join(silent)}): name one with --model, for example --model openai:NAME "
            "(with OPENAI_API_KEY, and OPENAI_BASE_URL for another server), or exchange:FOLDER to answer yourself"
        )
    for model in dict.fromkeys(models.values()):
        opened(model)
    return models
