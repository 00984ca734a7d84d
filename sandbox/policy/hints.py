"""What to write instead of what is refused, as tables."""

_FUNCTIONS = "keep what you want to know of a function beside it, as in a dict; its __name__ and __doc__ may be read"
_FRAMES = "return the values that you want to look at, or print them where they are"
_COPIES = "use copy.copy(x), copy.deepcopy(x) or list(x); a class of your own may define __copy__ and __deepcopy__"
_LET_END = "let the code end, or return from a function"
_NO_FILES = "plans have no files; keep data in variables and print what is to be seen"
_NO_INPUT = "plans can't ask; read what you need from the observations"
_NO_ARGUMENTS = "plans have no arguments: assign the values to variables"
_PAGE_IS_THERE = "the page is there already: act through the functions you are given"

ATTRIBUTE_HINTS = {
    "__subclasses__": "keep a list of the classes you define, or define __init_subclass__ in their base class",
    "__code__": _FUNCTIONS,
    "__closure__": _FUNCTIONS,
    "__globals__": "name the variables, or use globals(); `global x` in a function lets it set them",
    "__reduce__": _COPIES,
    "__reduce_ex__": _COPIES,
    "__loader__": "use an import statement",
    "__spec__": "use an import statement",
    "__import__": "use an import statement",
    "__builtins__": "use the builtin's name directly",
    "__build_class__": "write a class statement",
}
"""Attributes and variables."""
INSIDE_HINTS = {"f_": _FRAMES, "tb_": _FRAMES, "gi_": _FRAMES, "cr_": _FRAMES, "ag_": _FRAMES, "co_": _FUNCTIONS}
"""Beginnings of the names of what frames, tracebacks, generators and code consist of."""
ATTRIBUTE_HINT = "use the object's ordinary attributes and methods"

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
"""Builtins that plans do not have, unless they define something of that name."""

_NO_NETWORK = "plans have no network; act through the functions you are given"
_ONE_THREAD = "plans run in one thread; call the functions directly"
_NUMBERS = "use lists, math and statistics"
_COPY = "use json or copy.deepcopy"
MODULE_HINTS = {
    "os": "plans have no files, processes or environment; keep data in variables",
    "urllib": _NO_NETWORK,
    "subprocess": "plans have no processes; act through the functions you are given",
    "selenium": _PAGE_IS_THERE,
    "playwright": _PAGE_IS_THERE,
    "bs4": "use html.parser, or re on the text",
    "lxml": "use html.parser, or re on the text",
    "xml": "use html.parser, or re on the text",
    "scipy": _NUMBERS,
    "sklearn": _NUMBERS,
    "torch": _NUMBERS,
    "numpy": _NUMBERS,
    "pandas": "use lists of dicts",
    "matplotlib": "print the numbers",
    "networkx": "use a dict of lists; graphlib sorts one",
    "sortedcontainers": "use bisect.insort, or heapq",
    "inspect": "use dir(x), callable(x), x.__doc__ and x.__annotations__",
    "importlib": "use an import statement",
    "builtins": "use the builtin's name directly",
    "pickle": _COPY,
    "marshal": _COPY,
    "shelve": _COPY,
    "ctypes": "plans have no libraries of C; use struct on bytes",
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
"""Modules, dotted or their first part."""
MEMBER_HINTS = {
    "sys.exit": _LET_END,
    "sys.stdin": _NO_INPUT,
    "sys.argv": _NO_ARGUMENTS,
    "sys.modules": "use an import statement",
    "sys.path": "plans are not files; use an import statement",
    "io.open": _NO_FILES,
    "urllib.request": _NO_NETWORK,
}
"""Names of the modules that plans have, dotted; the others are told what the module has."""

_THREAD = "plans run in one thread: call the function directly, without async and await"
_IN_LOOPS = "break and continue work inside a for or while only"
SYNTAX_HINTS = (
    ("never closed", "close it, or check the brackets of the lines that follow"),
    ("unterminated triple-quoted", "close the string with the same three quotes"),
    ("unterminated", "close the string on its line; if the text holds the same quote, use the other kind around it"),
    ("expected an indented block", "indent the body by four spaces, or write pass"),
    ("unindent does not match", "indent every line of a block alike, by four spaces"),
    ("unexpected indent", "lines of one block start in the same column; begin the code in column 0"),
    ("inconsistent use of tabs", "indent with four spaces everywhere"),
    ("outside function", "a plan is no function: let it run to its end, or put the lines into a def and call it"),
    ("outside loop", _IN_LOOPS),
    ("not properly in loop", _IN_LOOPS),
    ("Maybe you meant '=='", "compare with ==, assign with ="),
    ("in one piece of code", "write it as shorter, simpler steps"),
    ("from __future__ imports", "move it above everything else, or leave it out"),
)
"""A part of Python's own message to the remedy; the first that fits."""

STATEMENT_HINTS = {
    "AsyncFunctionDef": ("`async def`", _THREAD),
    "AsyncFor": ("`async for`", _THREAD),
    "AsyncWith": ("`async with`", _THREAD),
    "Await": ("`await`", _THREAD),
}
"""What a refused kind of node is called, and what to write instead."""
