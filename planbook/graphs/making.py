"""`planbook graph new`: a graph made by answering questions, one node after the other.

Whatever cannot be used is said and asked again; the file is written after every node, so that one may stop at any time.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from planbook import errors
from planbook.errors import BadArgument
from planbook.graphs.sheet import Sheet
from planbook.planner.graph import Shape, shape_of
from planbook.planner.graph.checks import NAME, RESERVED
from planbook.planner.graph.lookups import DATABASE, PATH, look_ups, nearest
from planbook.planner.graph.shape import CHOICE, CODE, YES_NO

WELCOME = """\
A graph is a set of questions to a language model. Each is a node: it has a name and a prompt, and it may be told what
other nodes have answered. Type ? for help on a question; Ctrl-C stops, and what is written stays."""
HELP = {
    "name": "One word for what the node does, such as summary, plan or decide. Letters, digits, _ and -.",
    "prompt": "What the model is asked, in as many lines as you like. $db.question$ stands for what is kept in the\n"
    "database under that name: what you give the graph when you run it, or what another node has stored.",
    "after": "The answers of these nodes stand above the prompt. Write their names or numbers, with commas; none: -",
    "expect": "The model is told what is expected, and an answer that does not fit goes back to it.",
    "store": "A name to keep the answer under, in the database: other prompts find it as $db.NAME$, also later.",
    "only if": "The node is asked only if another node has answered so; else its last answer stands.",
}


def make_graph(path: Path) -> int:
    """Ask for the nodes of a graph until there are enough. Raises BadArgument, click.Abort."""
    if path.suffix not in (".yaml", ".yml"):
        path = path.with_name(f"{path.name}.yaml")
    sheet = Sheet(path)
    click.echo(WELCOME)
    if sheet.existed:
        click.echo(f"\n{path} has {', '.join(sheet.nodes)} already; the new nodes come after them.")
    else:
        if not path.parent.is_dir():
            raise BadArgument(f"there is no folder {path.parent}; make it first, or name another file")
        sheet.describe(_ask("\nWhat is the graph for, in a line?", "One line for whoever reads the file.", _text))
    while node := _node(sheet):
        name, content = node
        code = content.get("expect") == CODE and not sheet.has_code
        code = code and click.confirm("Is its code what an agent does in each step?", default=True)
        sheet.add_node(name, content, code=code)
        click.echo(f"\n{path} has {len(sheet.nodes)} {'nodes' if len(sheet.nodes) > 1 else 'node'} now.\n")
    if not sheet.nodes:
        click.echo("No node was made, so that no file was written.")
        return errors.OK
    click.echo(
        f"\n{sheet.text}\nCheck it, draw it, run it; `planbook graph format` tells all that such a file can say:"
    )
    drawn = path.with_suffix(".svg")
    click.echo(f"  planbook graph check {path}\n  planbook graph draw {path} --out {drawn}")
    given = "".join(f" --set {each}=..." for each in sheet.inputs)
    click.echo(f"  planbook graph run {path}{given} --model openai:NAME")
    return errors.OK


def _node(sheet: Sheet) -> tuple[str, dict[str, Any]] | None:
    """A node that fits into the graph, or None for no more."""
    known = list(sheet.nodes)
    more = " (nothing to end)" if known else ""
    name = _ask(f"Name of the next node{more}:", HELP["name"], lambda text: _name(text, known), empty=bool(known))
    while name:
        content = _content(sheet, known)
        if problems := sheet.problems(name, content):
            click.echo("That does not fit yet:")
            for problem in problems:
                click.echo(f"  - {problem}")
        elif click.confirm("Keep this node?", default=True):
            return name, content
        click.echo(f"Once more, {name}.")
    return None


def _content(sheet: Sheet, known: list[str]) -> dict[str, Any]:
    content: dict[str, Any] = {"prompt": _prompt(sheet)}
    if known:
        told = "\n".join(f"  {number}. {each}" for number, each in enumerate(known, 1))
        question = f"Which answers should it be told?\n{told}\nNames or numbers [{known[-1]}]:"
        if after := _ask(question, HELP["after"], lambda text: _after(text, known), otherwise=known[-1]):
            content["after"] = after
    shape = _expected()
    if shape != "text":
        content["expect"] = shape
    question = "Keep its answer in the database under a name? (nothing for no)"
    if path := _ask(question, HELP["store"], _path, empty=True):
        content["store"] = path
    return {**content, **_only_if(sheet)}


def _prompt(sheet: Sheet) -> str:
    """A prompt; what it looks up and nothing sets is made an input, if wanted."""
    click.echo("Its prompt, in one or more lines; an empty line ends it:")
    lines: list[str] = []
    while (line := click.prompt(">", default="", show_default=False, prompt_suffix=" ")) or not lines:
        if line.strip() == "?":
            click.echo(HELP["prompt"])
        elif line.strip():
            lines.append(line)
        else:
            click.echo("A prompt needs words.")
    text = "\n".join(lines)
    for path in dict.fromkeys(each.path for each in look_ups(text, [DATABASE]) if each.otherwise is None):
        problems = [each for each in sheet.problems("new", {"prompt": text}) if f"nothing sets {path}" in each]
        if problems:
            click.echo(problems[0].partition(" Store it")[0])
        if problems and click.confirm("Will you give it when you run the graph?", default=True):
            sheet.add_input(path, _ask(f"What is {path}, in a few words?", "It is asked for with these words.", _text))
    return text


SHAPES: Mapping[str, tuple[str, Callable[[], Any]]] = {
    "1": ("a text", lambda: "text"),
    "2": ("yes or no", lambda: "yes/no"),
    "3": ("a number", lambda: "number"),
    "4": ("one of some words", lambda: _ask("Which words, with commas?", "For example: wait, go on", _choices)),
    "5": ("a list of texts", lambda: ["text"]),
    "6": ("several fields", lambda: _ask("Names of the fields, with commas?", "For example: goal, reason", _fields)),
    "7": ("Python code, for a step of an agent", lambda: CODE),
}


def _expected() -> Any:
    told = "\n".join(f"  {number}. {what}" for number, (what, _) in SHAPES.items())
    chosen = _ask(f"What should the answer be?\n{told}\nNumber [1]:", HELP["expect"], _number, otherwise="1")
    return SHAPES[chosen][1]()


def _only_if(sheet: Sheet) -> dict[str, Any]:
    """A condition on a node whose answers can be counted up."""
    able = {name: shape for name, node in sheet.nodes.items() if (shape := _shape(node)).kind in (YES_NO, CHOICE)}
    if not able or not click.confirm("Ask it only if another node has answered something?", default=False):
        return {}
    names = list(able)
    question = f"Which node ({', '.join(names)}) [{names[-1]}]:"
    name = _ask(question, HELP["only if"], lambda text: _one_of(text, names), otherwise=names[-1])
    values = list(able[name].choices or ("yes", "no"))
    question = f"Which answer ({', '.join(values)}) [{values[0]}]:"
    return {"when": {name: _ask(question, HELP["only if"], lambda text: _one_of(text, values), otherwise=values[0])}}


def _shape(node: Mapping[str, Any]) -> Shape:
    return shape_of(node.get("expect", "text"))


def _ask(question: str, hint: str, read: Callable[[str], Any], *, otherwise: str = "", empty: bool = False) -> Any:
    """What was answered, read; ? gives the hint, and what cannot be read is told and asked again."""
    while True:
        text = click.prompt(question, default=otherwise, show_default=False, prompt_suffix=" ").strip()
        if text == "?":
            click.echo(hint)
        elif not text and empty:
            return ""
        else:
            try:
                return read(text)
            except ValueError as error:
                click.echo(f"{error}")
        question = question.splitlines()[-1]


def _text(text: str) -> str:
    if not text:
        raise ValueError("A few words, please.")
    return text


def _name(text: str, known: list[str]) -> str:
    name = re.sub(r"\s+", "-", text)
    if not NAME.fullmatch(name) or name in RESERVED:
        raise ValueError(f"{text!r} cannot be a name: write letters, digits, _ and -, a letter first.")
    if alike := [each for each in known if each.casefold() == name.casefold()]:
        raise ValueError(f"There is a node {alike[0]} already; write another name.")
    return name


def _after(text: str, known: list[str]) -> list[str]:
    if text in ("-", "none"):
        return []
    parts = filter(None, re.split(r"[,\s]+", text))
    return list(dict.fromkeys(_one_of(known[int(part) - 1] if _counts(part, known) else part, known) for part in parts))


def _counts(part: str, known: list[str]) -> bool:
    return part.isdecimal() and 1 <= int(part) <= len(known)


def _one_of(text: str, known: list[str]) -> str:
    for each in known:
        if each.casefold() == text.casefold():
            return each
    raise ValueError(f"There is no {text}{nearest(text, known)} There are {', '.join(known)}.")


def _number(text: str) -> str:
    if text not in SHAPES:
        raise ValueError(f"{text!r} is none of them; write a number from 1 to {len(SHAPES)}.")
    return text


def _choices(text: str) -> str:
    written = f"one of: {text}"
    shape_of(written)
    return written


def _fields(text: str) -> dict[str, str]:
    names = [each.strip() for each in text.split(",") if each.strip()]
    if not names or not all(NAME.fullmatch(name) for name in names) or len(set(names)) < len(names):
        raise ValueError("Different words with commas between them, please; letters, digits, _ and - in each.")
    return dict.fromkeys(names, "text")


def _path(text: str) -> str:
    if text.casefold() in ("n", "no", "-"):
        return ""
    if not PATH.fullmatch(text) or not text[0].isalpha():
        raise ValueError(f"{text!r} cannot be kept under: write a word, or words with dots between them.")
    return text
