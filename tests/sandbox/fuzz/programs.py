"""Programs made from bytes: each byte is one choice, so hypothesis shrinks them and a coverage-guided fuzzer grows them.

Where the bytes end, every choice is the first one: the rows below begin with what ends.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from sandbox.policy import tables
from tests.sandbox.plans import snippets

DEEPEST = 5
"""Levels of a generated program; deeper, every choice is the first one."""
NAMES = """x y z f g C D self cls agent host_act json re math collections dataclasses functools enum operator string copy
contextlib typing datetime random time abc itertools loot e _x __x T""".split()
BUILTINS = """len list dict set str int tuple sorted type getattr setattr delattr hasattr vars dir isinstance issubclass
super object print map filter zip enumerate range min max callable repr format property staticmethod classmethod slice
hash id reversed next bytes bytearray Exception ValueError BaseException ExceptionGroup NotImplemented""".split()
HOSTILE_NAMES = [
    *tables.NAME_HINTS,
    *tables.HOOKS.values(),
    *"""__builtins__ __import__ __build_class__ __name__ __class__ __debug__ __loader__ __spec__ __annotations__ __doc__
    __file__ __x__ _call_ _title_ _link_ ｅval ｏpen __ｃlass__ __ﬁle__ ªb µ ℘ _ __ ___""".split(),
]
ATTRIBUTES = """location go_to x y a append items keys get join split name value args format format_map now today obj
register __name__ __qualname__ __doc__ __init__ __new__ __call__ __setattr__ __members__ copy update field func
partial keywords maketrans mro_ index""".split()
HOSTILE_ATTRIBUTES = sorted(
    tables.HIDDEN_ATTRIBUTES
    | tables.ATTRIBUTE_HINTS.keys()
    | set("__closure__ __code__ __func__ __defaults__ __kwdefaults__ __builtins__ __slots__ __subclasshook__".split())
    | set(
        "_call_ _link_ _title_ _attr_ __weakref__ _fields_ __ｇlobals__ ｇi_frame __class_getitem__ __prepare__".split()
    )
)
MODULES = sorted(tables.MODULES)
MEMBERS = sorted({member for members in tables.MODULES.values() for member in members})
HOSTILE_MODULES = (
    "os sys builtins types gc inspect importlib _io ctypes typing.io json.decoder collections.abc os.path".split()
)

GRAMMAR: dict[str, Sequence[str]] = {
    "program": ["<line>", "<line>\n<program>", "<line>\n<line>\n<program>"],
    "line": ["loot = <expr>", "<name> = <expr>", "<statement>", "<expr>"],
    "statement": [
        "pass",
        "<target> = <expr>",
        "<target>, <target> = <expr>",
        "*<target>, y = <expr>",
        "<target> += <expr>",
        "<target>: <expr> = <expr>",
        "<name>: <expr>",
        "del <target>",
        "assert <expr>, <expr>",
        "import <module>",
        "import <module> as <name>",
        "from <module> import <member>",
        "from <module> import <member> as <name>",
        "from __future__ import annotations",
        "raise <expr>",
        "raise <expr> from <expr>",
        "if <expr>:<block>else:<block>",
        "for <target> in <expr>:<block>",
        "for <name> in <expr>:<block>else:<block>",
        "while <expr>:<block> break",
        "try:<block>except <expr> as <name>:<block>",
        "try:<block>except:<block>else:<block>finally:<block>",
        "with <expr> as <target>:<block>",
        "def <name>(<parameters>):<block>",
        "def <name>(<parameters>) -> <expr>:<block> yield <expr>",
        "@<expr>\ndef <name>(<parameters>):<block> return <expr>",
        "class <name>:<block>",
        "class <name>(<expr>):<block>",
        "@<expr>\nclass <name>(<expr>):<block>",
        "class <name>:\n def <attribute>(<parameters>):<block>\n <attribute> = <expr>",
        "class <name>:\n <name>: <expr> = <expr>\n __slots__ = <expr>",
        "match <expr>:\n case <pattern>:<block>\n case <pattern> if <expr>:<block>",
        "<rare_statement>",
    ],
    "rare_statement": [
        "global <name>",
        "nonlocal <name>",
        "return <expr>",
        "try:<block>except* <expr> as <name>:<block>",
        "@<expr>\nclass <name>(<expr>, <name>=<expr>):<block>",
        "async def <name>(<parameters>):<block> await <expr>",
        "async for <name> in <expr>:<block>",
        "async with <expr> as <target>:<block>",
    ],
    "block": [" pass\n", "\n <statement>\n", "\n <line>\n <line>\n"],
    "expr": [
        "x",
        "<name>",
        "<constant>",
        "<expr>.<attribute>",
        "<expr>.<attribute>(<expr>)",
        "<expr>(<arguments>)",
        "<expr>[<expr>]",
        "<expr>[<expr>:<expr>]",
        "(<expr> <operator> <expr>)",
        "(<name> := <expr>)",
        "[<expr>, *<expr>]",
        "(<expr>, <expr>)",
        "{<expr>: <expr>, **<expr>}",
        "{<expr>, <expr>}",
        "[<expr> for <target> in <expr> if <expr>]",
        "{<expr>: <expr> for <name>, <name> in <expr>}",
        "(<expr> for <name> in <expr> for <name> in <expr>)",
        "(lambda <parameters>: <expr>)",
        "(<expr> if <expr> else <expr>)",
        "(not <expr>)",
        "f'{<field>}'",
        "f'{<field>!r:{<field>}}'",
        "'<template>'.format(<arguments>)",
        "'<template>'.format_map(<expr>)",
        "str.format('<template>', <expr>)",
        "getattr(<expr>, '<attribute>')",
        "getattr(<expr>, '<attribute>', <expr>)",
        "getattr(<expr>, <expr>)",
        "setattr(<expr>, '<attribute>', <expr>)",
        "type(<expr>)",
        "vars(<expr>)",
        "super().<attribute>",
        "operator.attrgetter('<attribute>.<attribute>')(<expr>)",
        "operator.methodcaller('<attribute>', <expr>)(<expr>)",
        "functools.partial(<expr>, <expr>)",
        "functools.reduce(<expr>, <expr>, <expr>)",
        "collections.namedtuple('<attribute>', '<attribute> <attribute>')",
        "enum.Enum('<attribute>', '<attribute> x')",
        "list(map(<expr>, <expr>))",
        "<rare_expr>",
    ],
    "rare_expr": ["(yield <expr>)", "(yield from <expr>)", "(await <expr>)", "[x async for x in <expr>]", "x.<hostile_attribute>"],
    "field": ["x", "<name>.<attribute>", "<name>", "(<name>:=<name>)", "<name>(<name>)", "<name>[<name>.<attribute>]"],
    "target": ["x", "<name>", "<expr>.<attribute>", "<expr>[<expr>]", "(<target>, <target>)", "[<target>, *<target>]"],
    "arguments": ["", "<expr>", "<expr>, <expr>", "*<expr>", "**<expr>", "<name>=<expr>", "<attribute>=<expr>"],
    "parameters": ["", "x", "<name>, <name>=<expr>", "self, *<name>, **<name>", "x: <expr>, /, y, *, z=<expr>", "cls"],
    "pattern": [
        "_",
        "<name>",
        "<constant>",
        "<name>.<attribute>",
        "[<pattern>, *<name>]",
        "(<pattern> | <constant>)",
        "<pattern> as <name>",
        "{'k': <pattern>, **<name>}",
        "{<name>.<attribute>: <pattern>}",
        "<name>(<pattern>)",
        "<name>(<attribute>=<pattern>)",
        "<name>.<attribute>(<attribute>=<name>)",
    ],
    "operator": ["+", "-", "*", "/", "//", "%", "@", "&", "|", "^", "and", "or", "==", "!=", "<", ">=", "is", "in", "not in"],
    "constant": ["1", "0", "-1", "2.5", "''", "'a'", "b'a'", "None", "True", "...", "3j", "'<attribute>'", "'{0.<attribute>}'"],
    "template": ["{}", "{0.<attribute>}", "{0[<attribute>]}", "{0.<attribute>.<attribute>!r:{1}}", "{:{0.<attribute>}}", "{x.<attribute>}", "{{}"],
    "name": ["<plain_name>", "<plain_name>", "<plain_name>", "<builtin>", "<builtin>", "<plain_name>", "<builtin>", "<hostile_name>"],
    "attribute": ["<plain_attribute>", "<plain_attribute>", "<plain_attribute>", "<plain_attribute>", "<hostile_attribute>"],
    "module": ["<plain_module>", "<plain_module>", "<plain_module>", "<plain_module>", "<hostile_module>"],
    "plain_name": NAMES,
    "builtin": BUILTINS,
    "hostile_name": HOSTILE_NAMES,
    "plain_attribute": ATTRIBUTES,
    "hostile_attribute": HOSTILE_ATTRIBUTES,
    "plain_module": MODULES,
    "hostile_module": HOSTILE_MODULES,
    "member": MEMBERS,
}  # fmt: skip
"""Each kind of text to what it may be; ``<kind>`` is replaced, and what follows a line break keeps the indentation."""
PART = re.compile(r"<([a-z_]+)>")
WORD = re.compile(r"(?<![\w'\"])[^\W\d]\w*")
SWAPS = [*NAMES, *BUILTINS, *ATTRIBUTES, *HOSTILE_NAMES, *HOSTILE_ATTRIBUTES, *MEMBERS]


class Choices:
    """Hands out the bytes, one or two for a choice; zeros where they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data, self._next = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._next

    def below(self, most: int) -> int:
        width = 1 if most <= 256 else 2
        taken = self._data[self._next : self._next + width]
        self._next += width
        return int.from_bytes(taken, "little") % most

    def of(self, row: Sequence[str]) -> str:
        return row[self.below(len(row))]


def grown(data: bytes) -> str:
    """A program of the grammar."""
    return _grown("program", Choices(data), 0, "")


def _grown(kind: str, choices: Choices, depth: int, indent: str) -> str:
    row = GRAMMAR[kind]
    deep = depth > DEEPEST and kind in ("expr", "statement", "pattern", "target", "block", "line")
    template = row[0] if deep or not choices.left else choices.of(row)
    text, end = [], 0
    for part in PART.finditer(template):
        before = template[end : part.start()]
        text.append(before.replace("\n", "\n" + indent))
        line = "".join(text).rpartition("\n")[2]
        inner = line[: len(line) - len(line.lstrip(" "))] if "\n" in "".join(text) else indent
        text.append(_grown(part[1], choices, depth + (kind != "program"), inner))
        end = part.end()
    text.append(template[end:].replace("\n", "\n" + indent))
    return "".join(text)


@lru_cache(1)
def corpus() -> list[str]:
    """The written attacks and compatibility programs."""
    return [str(case.values[0]) for folder in ("attacks", "compatibility") for case in snippets(folder)]


def mutated(data: bytes) -> str:
    """A written attack or program with some of its words replaced by others, or by another's lines."""
    choices = Choices(data)
    texts = corpus()
    source = texts[choices.below(len(texts))]
    for _ in range(choices.below(4)):
        words = list(WORD.finditer(source))
        if words and choices.below(4):
            word = words[choices.below(len(words))]
            source = source[: word.start()] + choices.of(SWAPS) + source[word.end() :]
        else:
            source = source.rstrip("\n") + "\n" + texts[choices.below(len(texts))]
    return source


def spelt(data: bytes) -> str:
    """The bytes themselves, as text; what is no UTF-8 becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


MAKERS = (grown, mutated, spelt)


def program(data: bytes) -> str:
    """One of the three: the first byte says which."""
    return MAKERS[data[0] % len(MAKERS)](data[1:]) if data else ""
