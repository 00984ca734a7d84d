"""What a plan may name: the policy as tables, read by the compile-time check and by the worker's guards alike."""

import types

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

MAX_SOURCE = 100_000
"""Characters of one cell."""
MAX_NODES = 60_000
"""Nodes of one cell's syntax tree."""
MAX_DEPTH = 120
"""Levels of nesting of one cell's syntax tree."""
MAX_KEYWORDS = 1_000
"""Keywords of one call, class or pattern."""
MAX_COPIES = 4 * MAX_NODES
"""Nodes of one cell as CPython compiles them, ``finally`` blocks several times over."""

_MATH = """acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2
expm1
fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10
log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau trunc ulp"""

MODULES: dict[str, frozenset[str]] = {
    name: frozenset(names.split())
    for name, names in {
        "abc": "ABC ABCMeta abstractmethod",
        "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
        "calendar": """FRIDAY MONDAY SATURDAY SUNDAY THURSDAY TUESDAY WEDNESDAY day_abbr day_name isleap leapdays month
            month_abbr month_name monthcalendar monthrange timegm weekday""",
        "collections": "ChainMap Counter OrderedDict UserDict UserList UserString abc defaultdict deque namedtuple",
        "collections.abc": """Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView
            Mapping
            MappingView MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView""",
        "contextlib": "ExitStack closing contextmanager nullcontext suppress",
        "copy": "Error copy deepcopy",
        "dataclasses": """FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple dataclass field fields is_dataclass
            replace""",
        "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
        "decimal": """Context Decimal DivisionByZero Inexact InvalidOperation Overflow ROUND_05UP ROUND_CEILING
            ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Underflow
            getcontext localcontext setcontext""",
        "difflib": "SequenceMatcher get_close_matches ndiff unified_diff",
        "enum": "Enum Flag IntEnum IntFlag StrEnum auto unique",
        "fractions": "Fraction",
        "functools": """cache cached_property cmp_to_key lru_cache partial partialmethod reduce singledispatch
            total_ordering wraps""",
        "graphlib": "CycleError TopologicalSorter",
        "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
        "html": "escape unescape",
        "itertools": """accumulate chain combinations combinations_with_replacement compress count cycle dropwhile
            filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest""",
        "json": "JSONDecodeError JSONDecoder JSONEncoder dumps loads",
        "math": _MATH,
        "numbers": "Complex Integral Number Rational Real",
        "operator": """abs add and_ attrgetter call concat contains countOf delitem eq floordiv ge getitem gt iadd iand
            iconcat ifloordiv ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub
            itemgetter itruediv ixor le length_hint lshift lt matmul methodcaller mod mul ne neg not_ or_ pos pow rshift
            setitem sub truediv truth xor""",
        "pprint": "pformat pp pprint",
        "queue": "Empty Full LifoQueue PriorityQueue Queue SimpleQueue",
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
        "sys": "byteorder float_info hexversion maxsize maxunicode version_info",
        "textwrap": "dedent fill indent shorten wrap",
        "time": """asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns
            process_time
            sleep strftime strptime struct_time time time_ns""",
        "types": "MappingProxyType NoneType SimpleNamespace",
        "typing": """AbstractSet Annotated Any AnyStr AsyncIterable AsyncIterator Awaitable Callable ChainMap ClassVar
            Collection Concatenate Container Coroutine Counter DefaultDict Deque Dict Final FrozenSet Generator Generic
            Hashable ItemsView Iterable Iterator KeysView List Literal LiteralString Mapping MappingView Match
            MutableMapping MutableSequence MutableSet NamedTuple Never NewType NoReturn NotRequired Optional OrderedDict
            ParamSpec Pattern Protocol Required Reversible Self Sequence Set Sized SupportsAbs SupportsFloat
            SupportsIndex SupportsInt SupportsRound Text Tuple Type TypeAlias TypeGuard TypeVar TypeVarTuple TypedDict
            Union Unpack ValuesView assert_never cast final overload runtime_checkable TYPE_CHECKING""",
        "unicodedata": """bidirectional category combining decimal decomposition digit east_asian_width is_normalized
            lookup mirrored name normalize numeric""",
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
INHERITED = frozenset("__getattr__ __setattr__ __delattr__ __init_subclass__ __set_name__ __get__ __set__".split())
"""Special methods that a class may define too, but read only from ``super()``, to go on to the inherited."""
ABOUT_THE_PLAN = frozenset(f"__{n}__" for n in "all author copyright credits date email license status version".split())
"""Names with which modules describe themselves: Python gives them no meaning."""
WRAPPED_NAMES = frozenset({"__getattr__", "__init_subclass__", "__set_name__"})
"""Special methods that a hook wraps; so plans bind them by ``def`` and by a plain assignment only."""
CLASS_NAMES = (DEFINABLE | INHERITED | ABOUT_THE_PLAN | {"__delete__", "__class_getitem__", "__doc__"}) - WRAPPED_NAMES
"""Special names that plans may bind in every way."""
LITERAL_NAMES = frozenset({"__slots__", "__match_args__"})
"""Special names whose value must be texts written out, so that each can be judged: they name attributes."""
READABLE_NAMES = DEFINABLE | ABOUT_THE_PLAN | {"__name__", "__doc__", "__debug__", "__class__"}
"""``__class__`` in a method is its own class."""
TEXT_ATTRIBUTES = frozenset({"__name__", "__qualname__", "__doc__", "__notes__"})
"""Special attributes that are harmless on every object."""
CHAIN = frozenset({"__cause__", "__context__", "__suppress_context__"})
"""What exceptions tell of the exceptions before them."""
READABLE_ATTRIBUTES = DEFINABLE | INHERITED | TEXT_ATTRIBUTES | CHAIN | {"__members__"}
"""Special attributes that a plan may read; all but the harmless ones through the run-time guard."""
SUNDERS = frozenset("_missing_ _generate_next_value_ _ignore_ _order_ _value_ _name_".split())
"""Names of the form ``_x_`` that enums use. All others are the sandbox's own, or a library's inside."""
RUNTIME_ATTRIBUTES = frozenset({"format", "format_map", "now", "today", "utcnow", "register", "obj", "groupindex"})
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
    "ABCMeta": "_ABC_",
    "__getattr__": "_missing_name_",
    "__init_subclass__": "_announced_",
    "__set_name__": "_announced_",
}
PLAIN_ANNOTATIONS = frozenset("int str float bool bytes complex list dict set frozenset tuple object".split())
"""Annotations that are kept in classes; all others are replaced by a value without meaning."""
HOOKS |= {name: f"_{name}_" for name in PLAIN_ANNOTATIONS}
"""What rewritten code calls, or annotates with. Plans can neither read nor bind these names, nor any other ``_x_``."""
MARKS = frozenset({"ClassVar", "InitVar", "KW_ONLY"})
"""Annotations that dataclasses act on."""
