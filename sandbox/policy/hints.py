"""What to write instead of what is refused, as tables."""

_CLASSES = "use isinstance(x, Class) or issubclass(A, B)"
_FUNCTIONS = "keep what you want to know of a function beside it, as in a dict; its __name__ and __doc__ may be read"
_FRAMES = "return the values that you want to look at, or print them where they are"
_COPIES = "use copy.copy(x), copy.deepcopy(x) or list(x); a class of your own may define __copy__ and __deepcopy__"
_SUPER = "only super() leads to it, in a method of the same name"
_NOT_KEPT = "leave it out: annotations are not kept"
_LIST_NAMES = "annotations are not kept; list the names yourself"
_LET_END = "let the code end, or return from a function"
_NO_FILES = "plans have no files; keep data in variables and print what is to be seen"
_NO_INPUT = "plans can't ask; read what you need from the observations"
_NO_ARGUMENTS = "plans have no arguments: assign the values to variables"
_OWN_DICT = "use a dict of your own; instead of asking whether a variable exists, set it to None at the start"
_PAGE_IS_THERE = "the page is there already: act through the functions you are given"

ATTRIBUTE_HINTS = {
    "__dict__": "use vars(x) on an object of your own class, or name the attributes",
    "__class__": "type(x) and x.__class__ may be read, never assigned",
    "__subclasses__": "keep a list of the classes you define, or define __init_subclass__ in their base class",
    "__bases__": _CLASSES,
    "__base__": _CLASSES,
    "__mro__": _CLASSES,
    "mro": _CLASSES,
    "__instancecheck__": "isinstance asks for the class or its bases; derive from ABC or Protocol",
    "__subclasscheck__": "issubclass asks for the class or its bases; derive from ABC or Protocol",
    "__subclasshook__": "derive from Protocol, under @runtime_checkable",
    "__prepare__": "use a class decorator, or define __init_subclass__ in a base class",
    "__traceback__": "use str(error) or type(error).__name__; the report names the failing line by itself",
    "__context__": "it may be read only, of exceptions; `raise ... from error` sets __cause__",
    "__cause__": "it may be read only, of exceptions; `raise ... from error` sets it",
    "__suppress_context__": "it may be read only, of exceptions; `raise ... from None` sets it",
    "__annotations__": _LIST_NAMES,
    "__match_args__": 'assign it in the class, texts written out: __match_args__ = ("x", "y"); or match by keyword',
    "__slots__": 'assign it in the class, texts written out: __slots__ = ("x", "y")',
    "__wrapped__": "keep the undecorated function under a name of its own",
    "__self__": "keep the object in a variable of your own",
    "__func__": "write Class.method for the function without its object",
    "__code__": _FUNCTIONS,
    "__closure__": _FUNCTIONS,
    "__defaults__": _FUNCTIONS,
    "__kwdefaults__": _FUNCTIONS,
    "__globals__": "name the variables; `global x` in a function lets it set them",
    "__getattribute__": "use getattr(x, name); to answer for missing attributes, define __getattr__",
    "__setattr__": "use setattr(x, name, value); in a method __setattr__, super().__setattr__(name, value)",
    "__delattr__": "use delattr(x, name); in a method __delattr__, super().__delattr__(name)",
    "__getattr__": f"use getattr(x, name), and define __getattr__ in a class statement; {_SUPER}",
    "__init_subclass__": f"define it in a class statement; {_SUPER}",
    "__set_name__": f"define it in a class statement; {_SUPER}",
    "__class_getitem__": "define it in a class statement, and write Class[x]",
    "__get__": f"read the attribute, and define __get__ in a class statement; {_SUPER}",
    "__set__": f"assign the attribute, and define __set__ in a class statement; {_SUPER}",
    "__delete__": "delete the attribute, and define __delete__ in a class statement",
    "__del__": "use a with statement or try/finally",
    "__reduce__": _COPIES,
    "__reduce_ex__": _COPIES,
    "__getstate__": _COPIES,
    "__setstate__": _COPIES,
    "__getnewargs__": _COPIES,
    "__getnewargs_ex__": _COPIES,
    "__dir__": "define __iter__, or a method that lists the names",
    "__sizeof__": "define __len__",
    "__await__": "call the function directly, without async and await",
    "__aiter__": "define __iter__",
    "__anext__": "define __next__",
    "__aenter__": "define __enter__",
    "__aexit__": "define __exit__",
    "__module__": "leave it out",
    "__file__": "plans are not files; leave it out",
    "__path__": "plans are not files; leave it out",
    "__loader__": "use an import statement",
    "__spec__": "use an import statement",
    "__package__": "leave it out",
    "__import__": "use an import statement",
    "__builtins__": "use the builtin's name directly",
    "__build_class__": "write a class statement",
    "__version__": "leave it out; write what you need so that it works with every version",
}
"""Special names and hidden ones, as attributes and as variables."""
INSIDE_HINTS = {"f_": _FRAMES, "tb_": _FRAMES, "gi_": _FRAMES, "cr_": _FRAMES, "ag_": _FRAMES, "co_": _FUNCTIONS}
"""Beginnings of the names of what frames, tracebacks, generators and code consist of."""
ATTRIBUTE_HINT = "use the object's ordinary attributes and methods"
NAME_HINT = "choose a name that does not both begin and end with an underscore"

NAME_HINTS = {
    "exec": "write the code itself instead of a string of code",
    "eval": "write the expression itself; for data use json.loads",
    "compile": "write the code itself; for patterns use re.compile",
    "open": _NO_FILES,
    "input": _NO_INPUT,
    "globals": _OWN_DICT,
    "locals": _OWN_DICT,
    "breakpoint": "use print",
    "help": "use dir(x)",
    "exit": _LET_END,
    "quit": _LET_END,
    "memoryview": "use bytes or bytearray",
    "aiter": "use iter: plans run in one thread",
    "anext": "use next: plans run in one thread",
}
"""Builtins that plans do not have, unless they define something of that name."""

_NO_NETWORK = "plans have no network; act through the functions you are given"
_ONE_THREAD = "plans run in one thread; call the functions directly"
_NUMBERS = "use lists, math and statistics"
MODULE_HINTS = {
    "os": "plans have no files, processes or environment; keep data in variables",
    "io": f"{_NO_FILES}; collect text in a list and join it",
    "csv": "use line.split(',') and ','.join(...)",
    "urllib.parse": "use str.split, str.replace and f-strings",
    "urllib": _NO_NETWORK,
    "subprocess": "plans have no processes; act through the functions you are given",
    "selenium": _PAGE_IS_THERE,
    "playwright": _PAGE_IS_THERE,
    "bs4": "use re on the text",
    "lxml": "use re on the text",
    "xml": "use re on the text",
    "scipy": _NUMBERS,
    "sklearn": _NUMBERS,
    "torch": _NUMBERS,
    "numpy": _NUMBERS,
    "cmath": "use complex numbers and math",
    "array": "use a list",
    "pandas": "use lists of dicts",
    "matplotlib": "print the numbers",
    "networkx": "use a dict of lists; graphlib sorts one",
    "sortedcontainers": "use bisect.insort, or heapq",
    "inspect": "use dir(x), callable(x) and x.__doc__",
    "ast": "for data use json.loads",
    "importlib": "use an import statement",
    "builtins": "use the builtin's name directly",
    "pickle": "use json or copy.deepcopy",
    "hashlib": "use hash(x), or the value itself as the key of a dict",
    "uuid": "use itertools.count for fresh names",
    "secrets": "use random",
    "base64": "act on the text itself",
    "struct": "use int.to_bytes and int.from_bytes",
    "traceback": "use str(error) and type(error).__name__",
    "logging": "use print",
    "warnings": "use print",
    "tqdm": "use print",
    "argparse": _NO_ARGUMENTS,
    "timeit": "use time.perf_counter",
    "gc": "leave it out",
    "weakref": "use ordinary references",
    "typing_extensions": "use typing",
    "attr": "use dataclasses",
    "pydantic": "use dataclasses",
    **dict.fromkeys(("pathlib", "shutil", "glob", "tempfile", "sqlite3", "zipfile"), _NO_FILES),
    **dict.fromkeys(("socket", "requests", "httpx", "aiohttp", "http", "ssl", "smtplib"), _NO_NETWORK),
    **dict.fromkeys(("threading", "multiprocessing", "concurrent", "asyncio", "signal", "sched"), _ONE_THREAD),
}
"""Modules, dotted or their first part."""
MEMBER_HINTS = {
    "sys.exit": _LET_END,
    "sys.stdout": "use print",
    "sys.stderr": "use print",
    "sys.stdin": _NO_INPUT,
    "sys.argv": _NO_ARGUMENTS,
    "sys.setrecursionlimit": "write the recursion as a loop with a list",
    "sys.getrecursionlimit": "write the recursion as a loop with a list",
    "sys.getsizeof": "use len",
    "sys.modules": "use an import statement",
    "sys.path": "plans are not files; use an import statement",
    "sys.exc_info": "write `except Exception as error`",
    "json.dump": "use json.dumps and keep or print the text",
    "json.load": "use json.loads on a text",
    "typing.get_type_hints": _LIST_NAMES,
    "dataclasses.make_dataclass": "write a class statement under @dataclass",
    "dataclasses.Field": "use field(...) and fields(...)",
    "functools.update_wrapper": "use @functools.wraps(function)",
    "functools.singledispatchmethod": "use isinstance, or functools.singledispatch on a function",
    "contextlib.redirect_stdout": "collect the text in a list instead of printing it",
    "contextlib.asynccontextmanager": "use contextmanager: plans run in one thread",
    "collections.abc.Awaitable": _NOT_KEPT,
    "collections.abc.Coroutine": _NOT_KEPT,
    "string.Formatter": "use str.format or an f-string",
    "types.FunctionType": "use callable(x)",
    "types.MethodType": "use functools.partial(function, x)",
    "types.ModuleType": "use types.SimpleNamespace",
    "types.GeneratorType": "use collections.abc.Generator",
    "types.TracebackType": _NOT_KEPT,
    "types.FrameType": _NOT_KEPT,
    "enum.EnumMeta": "give the enum's class a classmethod",
    "enum.EnumType": "give the enum's class a classmethod",
    "random.SystemRandom": "use random.Random",
    "calendar.Calendar": "use calendar.monthcalendar",
    "calendar.TextCalendar": "use calendar.month",
    "textwrap.TextWrapper": "use textwrap.wrap or textwrap.fill, which take the same options",
    "pprint.PrettyPrinter": "use pformat",
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
    ("from __future__ imports", "move it above everything else, or leave it out: it changes nothing in plans"),
)
"""A part of Python's own message to the remedy; the first that fits."""

STATEMENT_HINTS = {
    "AsyncFunctionDef": ("`async def`", _THREAD),
    "AsyncFor": ("`async for`", _THREAD),
    "AsyncWith": ("`async with`", _THREAD),
    "Await": ("`await`", _THREAD),
    "TryStar": ("`except*`", "use `except ExceptionGroup as group` and look at group.exceptions"),
    "TypeAlias": ("the `type` statement", _NOT_KEPT),
}
"""What a refused kind of node is called, and what to write instead."""
