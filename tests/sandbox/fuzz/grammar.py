"""The parts of generated programs: mostly what plans contain, and some of what they may not."""

from collections.abc import Sequence

from planbook.sandbox.policy import rules

NAMES = """x y z f g C D self cls agent host_act json re math collections dataclasses functools enum operator string
copy contextlib typing datetime random time abc itertools loot e _x __x T""".split()
BUILTINS = """len list dict set str int tuple sorted type getattr setattr delattr hasattr vars dir isinstance issubclass
super object print map filter zip enumerate range min max callable repr format property staticmethod classmethod slice
hash id reversed next bytes bytearray Exception ValueError BaseException ExceptionGroup NotImplemented""".split()
HOSTILE_NAMES = [
    *rules.NAME_HINTS,
    *"""__builtins__ __import__ __build_class__ __name__ __class__ __debug__ __loader__ __spec__ __annotations__ __doc__
    __file__ __x__ _call_ _title_ _link_ ｅval ｏpen __ｃlass__ __ﬁle__ ªb µ ℘ _ __ ___""".split(),
]
ATTRIBUTES = """location go_to x y a append items keys get join split name value args format format_map now today obj
register __name__ __qualname__ __doc__ __init__ __new__ __call__ __setattr__ __members__ copy update field func
partial keywords maketrans mro_ index""".split()
HOSTILE_ATTRIBUTES = sorted(
    rules.REFUSED_ATTRIBUTES
    | rules.ATTRIBUTE_HINTS.keys()
    | set("__closure__ __code__ __func__ __defaults__ __kwdefaults__ __builtins__ __slots__ __subclasshook__".split())
    | set(
        "_call_ _link_ _title_ _attr_ __weakref__ _fields_ __ｇlobals__ ｇi_frame __class_getitem__ __prepare__".split()
    )
)
MODULES = sorted(rules.MODULES)
COMMON = ("collections", "dataclasses", "functools", "itertools", "math", "operator", "re", "typing")
MEMBERS = sorted({name for module in ("json", *COMMON) for name in rules.public(module)})
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
    "rare_expr": ["(yield <expr>)", "(yield from <expr>)", "(await <expr>)", "[x async for x in x]"],
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
    "operator": "+ - * / // % @ & | ^ and or == != < >= is in".split(),
    "constant": [*"1 0 -1 2.5 '' 'a' b'a' None True ... 3j".split(), "'<attribute>'", "'{0.<attribute>}'"],
    "template": "{} {0.<attribute>} {0[<attribute>]} {0.x.<attribute>!r:{1}} {:{0.y}} {x.<attribute>} {{}".split(),
    "name": [*["<plain_name>"] * 4, *["<builtin>"] * 3, "<hostile_name>"],
    "attribute": [*["<plain_attribute>"] * 4, "<hostile_attribute>"],
    "module": [*["<plain_module>"] * 4, "<hostile_module>"],
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
