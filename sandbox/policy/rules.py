"""Tables of the names and modules that plans may and may not use, and hints that say what to write instead.

The host process checks the source of a plan against these tables. The worker, the process in which the plan runs,
checks what can be known only at run time. A *cell* is a piece of plan code that runs as a unit.
"""

import _string  # type: ignore[import-not-found]
import ast
import importlib
import types
from collections.abc import Iterator
from functools import lru_cache

# What is refused.

MAX_SOURCE = 100_000
"""Maximum number of characters of one cell."""
MAX_NODES = 60_000
"""Maximum number of nodes in the syntax tree of one cell."""
MAX_DEPTH = 120
"""Maximum depth of the syntax tree of one cell."""
MAX_KEYWORDS = 1_000
"""Maximum number of keyword arguments of one call or class statement, or of keyword patterns of one class pattern."""
MAX_PATTERN_NAMES = 200
"""Maximum number of names that the pattern of one ``case`` binds."""
MAX_COMPILED_NODES = 4 * MAX_NODES
"""Maximum number of nodes that CPython compiles for one cell. It compiles a ``finally`` block several times, and each
node in the block counts that many times.
"""
MAX_STRING_REPETITIONS = 500
"""Maximum number of string multiplications in one cell. CPython may compute each one while it compiles."""
MAX_STAR_IMPORTS = 50
"""Maximum number of ``import *`` statements in one cell. Each is compiled as an import of up to 500 names."""

_INTERNAL_TYPES = (
    types.FrameType,
    types.CodeType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    types.TracebackType,
)
_INTERNAL_PREFIXES = ("f_", "co_", "_co_", "gi_", "cr_", "ag_", "tb_")
REFUSED_ATTRIBUTES = frozenset(
    """__subclasses__ __globals__ __code__ __closure__ __builtins__ __reduce__ __reduce_ex__ __loader__ __spec__
    f_generator""".split()
) | {name for kind in _INTERNAL_TYPES for name in dir(kind) if name.startswith(_INTERNAL_PREFIXES)}
"""Attributes that no plan may read, set or define, since a plan could use them to run unchecked code."""
REFUSED_BUILTINS = frozenset(
    """eval exec compile open input breakpoint help exit quit aiter anext copyright credits license""".split()
)
"""Built-ins that are not available in plans. A plan may bind these names itself."""
REFUSED_NAMES = REFUSED_ATTRIBUTES | {"__import__", "__build_class__"}
"""Variables that no plan may read or set."""
FORMAT_METHODS = frozenset({"format", "format_map"})
"""String methods that read the attributes named in their template."""
GUARD = "<attribute>"
"""Name of the variable that holds the guard, the function that reads a ``format`` method and checks its template. The
name is not a valid identifier, so no plan can use it.
"""

PRELOADED = frozenset(
    """abc array ast base64 binascii bisect calendar cmath collections collections.abc contextlib contextvars copy csv
    dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq html html.parser io itertools
    json keyword logging math numbers operator pprint queue random re reprlib statistics string struct sys textwrap time
    traceback types typing unicodedata urllib urllib.parse uuid warnings weakref zlib zoneinfo""".split()
)
"""Modules that every worker has imported when it starts."""
ON_DEMAND = frozenset(
    """codecs colorsys configparser copyreg fnmatch hmac html.entities ipaddress json.decoder json.encoder sched secrets
    shlex stringprep token tokenize tomllib""".split()
)
"""Modules whose source the host sends to the worker when a plan imports them."""
MODULES = PRELOADED | ON_DEMAND
"""Modules of the standard library that plans may import."""
PARTIAL_MODULES = {
    "io": frozenset({"BytesIO", "StringIO"}),
    "sys": frozenset(
        """byteorder exc_info exception flags float_info float_repr_style getdefaultencoding getrecursionlimit getsizeof
        hash_info hexversion implementation int_info intern maxsize maxunicode platform setrecursionlimit stderr stdout
        version version_info""".split()
    ),
}
"""Maps a module to the only names of it that plans can use."""
MISSING_MEMBERS = {"hashlib": frozenset({"pbkdf2_hmac", "scrypt"})}
"""Maps a module to the names that it lacks in plans, since they need OpenSSL, which workers do not load."""


# Hints for alternatives.

_FUNCTIONS = "keep data about a function elsewhere, such as in a dict; its __name__ and __doc__ can be read"
_FRAMES = "return the values that you want to see, or print them where they are computed"
_COPIES = "use copy.copy(x), copy.deepcopy(x) or list(x); a class of your own may define __copy__ and __deepcopy__"
_LET_END = "let the code end, or return from a function"
_NO_FILES = "plans have no files; keep data in variables, and print what should be seen"
_NO_INPUT = "plans can't ask for input; read what you need from the observations"
_NO_ARGUMENTS = "plans have no command-line arguments: assign the values to variables"
_PAGE_IS_OPEN = "the page is already open: act through the functions you are given"

ATTRIBUTE_HINTS = {
    "__subclasses__": "keep a list of the classes you define, or define __init_subclass__ in their base class",
    "__code__": _FUNCTIONS,
    "__closure__": _FUNCTIONS,
    "__globals__": "use the variables by name, or use globals(); a function with `global x` can set x",
    "__reduce__": _COPIES,
    "__reduce_ex__": _COPIES,
    "__loader__": "use an import statement",
    "__spec__": "use an import statement",
    "__import__": "use an import statement",
    "__builtins__": "use the builtin's name directly",
    "__build_class__": "write a class statement",
}
"""Maps the names of refused attributes and variables to hints."""
INTERNAL_HINTS = {"f_": _FRAMES, "tb_": _FRAMES, "gi_": _FRAMES, "cr_": _FRAMES, "ag_": _FRAMES, "co_": _FUNCTIONS}
"""Maps prefixes of the attributes of frames, tracebacks, generators and code objects to hints."""
ATTRIBUTE_HINT = "use the object's ordinary attributes and methods"
"""Hint for an attribute that is in neither of these two tables."""

NAME_HINTS = {
    "exec": "write the code itself instead of a string of code",
    "eval": "write the expression itself; for data use json.loads",
    "compile": "write the code itself; for patterns use re.compile",
    "open": _NO_FILES,
    "input": _NO_INPUT,
    "breakpoint": "use print",
    "help": "use dir(x)",
    "exit": _LET_END,
    "quit": _LET_END,
    "aiter": "use iter: plans run in one thread",
    "anext": "use next: plans run in one thread",
}
"""Maps built-ins that are not available in plans to hints."""

_NO_NETWORK = "plans have no network; act through the functions you are given"
_ONE_THREAD = "plans run in one thread; call the functions directly"
_NUMBERS = "use lists, math and statistics"
_NO_PICKLE = "use json or copy.deepcopy"
MODULE_HINTS = {
    "os": "plans have no files, processes or environment; keep data in variables",
    "urllib": _NO_NETWORK,
    "subprocess": "plans have no processes; act through the functions you are given",
    "selenium": _PAGE_IS_OPEN,
    "playwright": _PAGE_IS_OPEN,
    "bs4": "use html.parser, or re on the text",
    "lxml": "use html.parser, or re on the text",
    "xml": "use html.parser, or re on the text",
    "scipy": _NUMBERS,
    "sklearn": _NUMBERS,
    "torch": _NUMBERS,
    "numpy": _NUMBERS,
    "pandas": "use lists of dicts",
    "matplotlib": "print the numbers",
    "networkx": "use a dict of lists; graphlib can sort it topologically",
    "sortedcontainers": "use bisect.insort, or heapq",
    "inspect": "use dir(x), callable(x), x.__doc__ and x.__annotations__",
    "importlib": "use an import statement",
    "builtins": "use the builtin's name directly",
    "pickle": _NO_PICKLE,
    "marshal": _NO_PICKLE,
    "shelve": _NO_PICKLE,
    "ctypes": "plans have no C libraries; use struct on bytes",
    "tqdm": "use print",
    "argparse": _NO_ARGUMENTS,
    "optparse": _NO_ARGUMENTS,
    "getopt": _NO_ARGUMENTS,
    "timeit": "use time.perf_counter",
    "unittest": "use assert",
    "pytest": "use assert",
    "gc": "leave it out",
    "typing_extensions": "use typing",
    "attr": "use dataclasses",
    "pydantic": "use dataclasses",
    **dict.fromkeys(("pathlib", "shutil", "glob", "tempfile", "sqlite3", "zipfile", "gzip"), _NO_FILES),
    **dict.fromkeys(("socket", "requests", "httpx", "aiohttp", "http", "ssl", "smtplib"), _NO_NETWORK),
    **dict.fromkeys(("threading", "multiprocessing", "concurrent", "asyncio", "signal"), _ONE_THREAD),
}
"""Maps modules that plans may not import to hints. A module whose dotted name is not listed gets the hint for its first
part.
"""
MEMBER_HINTS = {
    "sys.exit": _LET_END,
    "sys.stdin": _NO_INPUT,
    "sys.argv": _NO_ARGUMENTS,
    "sys.modules": "use an import statement",
    "sys.path": "plans are not files; use an import statement",
    "io.open": _NO_FILES,
    "urllib.request": _NO_NETWORK,
}
"""Maps the dotted names of refused members of modules to hints. For any other member, the hint suggests names of its
module.
"""

_NO_ASYNC = "plans run in one thread: call the function directly, without async and await"
_IN_LOOPS = "break and continue work only inside a for or while loop"
SYNTAX_HINTS = (
    ("never closed", "close it, or check the brackets in the lines that follow"),
    ("unterminated triple-quoted", "close the string with the same three quotes"),
    ("unterminated", "close the string on the same line; if it contains this quote, use the other kind around it"),
    ("expected an indented block", "indent the body by four spaces, or write pass"),
    ("unindent does not match", "indent all lines of a block equally, by four spaces"),
    ("unexpected indent", "lines of one block start in the same column; begin the code in column 0"),
    ("inconsistent use of tabs", "indent with four spaces everywhere"),
    ("outside function", "a plan is not a function: let it run to its end, or put the lines into a def and call it"),
    ("outside loop", _IN_LOOPS),
    ("not properly in loop", _IN_LOOPS),
    ("Maybe you meant '=='", "compare with ==, assign with ="),
    ("in one piece of code", "split it into shorter, simpler steps"),
    ("from __future__ imports", "move it above everything else, or leave it out"),
)
"""Pairs of a phrase and a hint. A message from CPython gets the hint of the first pair whose phrase occurs in it."""

STATEMENT_HINTS = {
    "AsyncFunctionDef": ("`async def`", _NO_ASYNC),
    "AsyncFor": ("`async for`", _NO_ASYNC),
    "AsyncWith": ("`async with`", _NO_ASYNC),
    "Await": ("`await`", _NO_ASYNC),
}
"""Maps the class name of a refused syntax tree node to the words that messages use for it, and to a hint."""


# Fault types, and rules for names.

SYNTAX = "syntax"
"""Fault type of code that CPython's parser or compiler refuses."""
TOO_LARGE = "too-large"
FORBIDDEN_NAME = "forbidden-name"
FORBIDDEN_ATTRIBUTE = "forbidden-attribute"
FORBIDDEN_IMPORT = "forbidden-import"
FORBIDDEN_STATEMENT = "forbidden-statement"


def unqualified_name(node: ast.expr | None) -> str | None:
    """Return the last part of a dotted name, or the whole of a plain one. Return None for any other expression."""
    return getattr(node, "attr", getattr(node, "id", None))


IMPORT_CATCHERS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
"""Exceptions that an ``except`` clause can name to catch a failing import."""


def catches_import(caught: ast.expr | None) -> bool:
    """Return whether an ``except`` with this expression, or a bare ``except`` (None), catches a failing import."""
    exceptions = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return caught is None or any(unqualified_name(exception) in IMPORT_CATCHERS for exception in exceptions)


def attribute_hint(name: str) -> str:
    """Return a hint that names an alternative to a refused attribute."""
    by_prefix = next((hint for start, hint in INTERNAL_HINTS.items() if name.startswith(start)), ATTRIBUTE_HINT)
    return ATTRIBUTE_HINTS.get(name, by_prefix)


def syntax_hint(message: str) -> str:
    """Return a hint for a message from Python's parser or compiler, or "" if there is none."""
    return next((hint for part, hint in SYNTAX_HINTS if part in message), "")


@lru_cache(256)
def members(module: str) -> frozenset[str]:
    """Return the names that plans may read from a module.

    Submodules of the standard library are left out: MODULES lists those that plans may import.
    """
    if module in PARTIAL_MODULES:
        return PARTIAL_MODULES[module] & set(dir(importlib.import_module(module)))
    real = importlib.import_module(module)
    if module not in MODULES:  # ``__all__`` adds names that the package imports only when they are read
        return frozenset((*dir(real), *getattr(real, "__all__", ())))
    named = frozenset(name for name, value in vars(real).items() if not isinstance(value, types.ModuleType))
    return named - MISSING_MEMBERS.get(module, frozenset())


@lru_cache(256)
def public_names(module: str) -> tuple[str, ...]:
    """Return the names that ``from module import *`` binds in a plan, sorted."""
    exported = getattr(importlib.import_module(module), "__all__", None)
    names = members(module)
    return tuple(sorted(names & set(exported) if exported else (name for name in names if not name.startswith("_"))))


def refused_in_template(template: str) -> str | None:
    """Return the first refused attribute that ``template.format(...)`` would read, or None if it reads none.

    For example, ``"{0.__globals__}"`` reads ``__globals__``. A malformed template reads nothing: ``format`` reports it.
    """
    try:
        names = _template_attributes(template) if "." in template else ()
        return next((name for name in names if name in REFUSED_ATTRIBUTES), None)
    except ValueError:
        return None


def _template_attributes(template: str) -> Iterator[str]:
    """Yield the attributes that a template reads, including those in nested fields such as ``{x:{y.width}}``."""
    for _, field, spec, _ in _string.formatter_parser(template):
        if field is not None:
            parts = _string.formatter_field_name_split(field)[1]
            yield from (str(part) for is_attribute, part in parts if is_attribute)
        if spec:
            yield from _template_attributes(spec)


def is_harmless_format(node: ast.Attribute) -> bool:
    """Return whether an attribute needs no guard: ``.format`` of a literal string that reads no refused attribute."""
    template = node.value.value if isinstance(node.value, ast.Constant) else None
    return node.attr in FORMAT_METHODS and isinstance(template, str) and refused_in_template(template) is None
