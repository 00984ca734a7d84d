"""What a plan may name: the policy as tables, read by the compile-time check and by the worker's guards alike."""

import types

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

MAX_SOURCE = 100_000
"""Characters of one cell."""
MAX_NODES = 60_000
"""Nodes of one cell's syntax tree."""
MAX_DEPTH = 120
"""Levels of nesting of one cell's syntax tree."""
MAX_COPIES = 4 * MAX_NODES
"""Nodes of one cell as CPython compiles them, ``finally`` blocks several times over."""

_MATH = """acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2
expm1
fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10
log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau trunc ulp"""

MODULES: dict[str, frozenset[str]] = {
    name: frozenset(names.split())
    for name, names in {
        "abc": "ABC abstractmethod",
        "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
        "collections": "ChainMap Counter OrderedDict abc defaultdict deque namedtuple",
        "collections.abc": """Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView
            Mapping
            MappingView MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView""",
        "contextlib": "contextmanager nullcontext suppress",
        "copy": "Error copy deepcopy",
        "dataclasses": """FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple dataclass field fields is_dataclass
            replace""",
        "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
        "enum": "Enum Flag IntEnum IntFlag StrEnum auto unique",
        "functools": "cache cached_property cmp_to_key lru_cache partial reduce total_ordering wraps",
        "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
        "itertools": """accumulate chain combinations combinations_with_replacement compress count cycle dropwhile
            filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest""",
        "json": "JSONDecodeError JSONEncoder dumps loads",
        "math": _MATH,
        "operator": """abs add and_ attrgetter concat contains countOf eq floordiv ge getitem gt index indexOf inv
            invert
            is_ is_not itemgetter le lshift lt methodcaller mod mul ne neg not_ or_ pos pow rshift sub truediv truth
            xor""",
        "random": """Random betavariate choice choices expovariate gauss getrandbits getstate lognormvariate
            normalvariate
            paretovariate randbytes randint random randrange sample seed setstate shuffle triangular uniform
            vonmisesvariate weibullvariate""",
        "re": """A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern RegexFlag S U UNICODE VERBOSE X compile
            error
            escape findall finditer fullmatch match search split sub subn""",
        "statistics": """StatisticsError correlation covariance fmean geometric_mean harmonic_mean linear_regression
            mean
            median median_grouped median_high median_low mode multimode pstdev pvariance quantiles stdev variance""",
        "string": """Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits
            printable
            punctuation whitespace""",
        "textwrap": "dedent fill indent shorten wrap",
        "time": """asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns
            process_time
            sleep strftime strptime struct_time time time_ns""",
        "typing": """AbstractSet Annotated Any Callable ClassVar Collection Concatenate Container Counter DefaultDict
            Deque
            Dict Final FrozenSet Generator Generic Hashable Iterable Iterator List Literal Mapping MutableMapping
            MutableSequence MutableSet NamedTuple Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec
            Protocol Required Reversible Self Sequence Set Sized SupportsFloat SupportsInt Text Tuple Type TypeAlias
            TypeGuard TypeVar TypedDict Union cast final overload runtime_checkable TYPE_CHECKING""",
    }.items()
}
FUTURES = frozenset({"annotations", "division", "generator_stop", "print_function", "unicode_literals"})
"""Names that ``from __future__ import`` may list: all of them change nothing here."""

_ARITHMETIC = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor".split()
DEFINABLE = frozenset(
    f"__{name}__"
    for name in """init new post_init repr str format bytes hash bool len length_hint call copy deepcopy
    eq ne lt le gt ge iter next reversed getitem setitem delitem contains missing enter exit
    neg pos abs invert int float complex index round trunc floor ceil""".split()
    + [prefix + name for name in _ARITHMETIC for prefix in ("", "r", "i")]
)
"""Special methods that a plan's class may define, and that may be looked up as attributes."""
CLASS_NAMES = DEFINABLE | {"__slots__", "__doc__"}
"""Special names that a class body may assign."""
READABLE_NAMES = DEFINABLE | {"__name__", "__doc__", "__debug__", "__class__"}
"""``__class__`` in a method is its own class."""
TEXT_ATTRIBUTES = frozenset({"__name__", "__qualname__", "__doc__"})
"""Special attributes that are harmless on every object."""
READABLE_ATTRIBUTES = DEFINABLE | TEXT_ATTRIBUTES | {"__members__", "__setattr__"}
"""Special attributes that a plan may read, the others through the run-time guard; ``__setattr__`` of object only."""
SUNDERS = frozenset("_missing_ _generate_next_value_ _ignore_ _order_ _value_ _name_".split())
"""Names of the form ``_x_`` that enums use. All others are the sandbox's own, or a library's inside."""
RUNTIME_ATTRIBUTES = frozenset({"format", "format_map", "now", "today", "utcnow", "register", "obj"})
"""Harmless names that on one kind of object lead to harm (or to the real clock): they go through the run-time guard."""

_INSIDES = (
    types.FrameType,
    types.CodeType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    types.TracebackType,
)
_PREFIXES = ("f_", "co_", "_co_", "gi_", "cr_", "ag_", "tb_")
HIDDEN_ATTRIBUTES: frozenset[str] = (
    frozenset(INSPECT_ATTRIBUTES)
    | {name for kind in _INSIDES for name in dir(kind) if name.startswith(_PREFIXES)}
    | {"gi_state", "cr_state", "ag_state", "f_generator", "mro", "_evaluate", "_dump_registry", "_varname_from_oparg"}
    | {"_abc_impl", "_abc_caches_clear", "_abc_registry_clear"}
)
"""Names without two underscores that are refused all the same: frames, code, class order, registries."""

HOOKS = {
    "attribute": "_attr_",
    "write": "_write_",
    "__class__": "_type_",
    "__dict__": "_dict_",
    "ClassVar": "_ClassVar_",
    "InitVar": "_InitVar_",
    "KW_ONLY": "_KW_ONLY_",
}
"""What rewritten code calls. Plans can neither read nor bind these names, nor any other ``_x_``."""
MARKS = frozenset({"ClassVar", "InitVar", "KW_ONLY"})
"""Annotations that dataclasses act on."""
PLAIN_ANNOTATIONS = frozenset("int str float bool bytes complex list dict set frozenset tuple object".split())
"""Annotations that are kept as they are in classes; all others are replaced by a value without meaning."""

ATTRIBUTE_HINTS = {
    "__dict__": "use vars(x) on an object of your own class, or name the attributes",
    "__class__": "type(x) and x.__class__ may be read, never assigned",
    "__subclasses__": "keep a list of the classes you define",
    "__bases__": "use isinstance(x, Class) or issubclass(A, B)",
    "__base__": "use isinstance(x, Class) or issubclass(A, B)",
    "__mro__": "use isinstance(x, Class) or issubclass(A, B)",
    "mro": "use isinstance(x, Class) or issubclass(A, B)",
    "__traceback__": "use str(error) or type(error).__name__; the report names the failing line by itself",
    "__context__": "keep the first exception in a variable of your own",
    "__cause__": "keep the first exception in a variable of your own",
    "__annotations__": "annotations are not kept; list the names yourself",
    "__match_args__": "match by keyword: case Point(x=0, y=y)",
    "__wrapped__": "keep the undecorated function under a name of its own",
    "__self__": "keep the object in a variable of your own",
    "__getattribute__": "use getattr(x, name)",
    "__setattr__": "use setattr(x, name, value), or a property with a setter",
    "__delattr__": "use delattr(x, name)",
    "__getattr__": "define the attributes, or a method get(name)",
    "__init_subclass__": "call a function on each class after defining it",
    "__set_name__": "pass the name to the constructor",
    "__class_getitem__": "use an ordinary class method",
    "__get__": "use property",
    "__set__": "use property with a setter",
    "__del__": "use a with statement or try/finally",
    "__reduce__": "define __copy__ or __deepcopy__",
    "__reduce_ex__": "define __copy__ or __deepcopy__",
    "__getstate__": "define __copy__ or __deepcopy__",
    "__setstate__": "define __copy__ or __deepcopy__",
    "__module__": "leave it out",
    "__file__": "plans are not files; leave it out",
    "__import__": "use an import statement",
    "__builtins__": "use the builtin's name directly",
}
ATTRIBUTE_HINT = "use the object's ordinary attributes and methods"

NAME_HINTS = {
    "exec": "write the code itself instead of a string of code",
    "eval": "write the expression itself; for data use json.loads",
    "compile": "write the code itself; for patterns use re.compile",
    "open": "plans have no files; keep data in variables and print what is to be seen",
    "input": "plans can't ask; read what you need from the observations",
    "globals": "use a dict of your own",
    "locals": "use a dict of your own",
    "breakpoint": "use print",
    "help": "use dir(x)",
    "exit": "let the code end, or return from a function",
    "quit": "let the code end, or return from a function",
    "memoryview": "use bytes or bytearray",
}
"""Builtins that plans do not have, unless they define something of that name."""

MODULE_HINTS = {
    "os": "plans have no files, processes or environment",
    "sys": "plans have no interpreter to look into; to stop, let the code end",
    "subprocess": "plans have no processes",
    "pathlib": "plans have no files",
    "io": "plans have no files",
    "socket": "plans have no network",
    "requests": "plans have no network",
    "urllib": "plans have no network",
    "threading": "plans run in one thread",
    "asyncio": "plans run in one thread; call the functions directly",
    "numpy": "use lists, math and statistics",
    "pandas": "use lists of dicts",
    "inspect": "use dir(x)",
    "importlib": "use an import statement",
    "pickle": "use json or copy.deepcopy",
    "traceback": "use str(error)",
    "logging": "use print",
    "types": "use a small class of your own",
}

_THREAD = "plans run in one thread: call the function directly, without async and await"
STATEMENT_HINTS = {
    "AsyncFunctionDef": ("`async def`", _THREAD),
    "AsyncFor": ("`async for`", _THREAD),
    "AsyncWith": ("`async with`", _THREAD),
    "Await": ("`await`", _THREAD),
    "TryStar": ("`except*`", "use except"),
    "TypeAlias": ("the `type` statement", "leave it out: annotations are not kept"),
}
"""What a refused kind of node is called, and what to write instead."""
