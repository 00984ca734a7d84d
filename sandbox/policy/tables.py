"""What a plan may name, as tables: read by the check before a plan runs, and by the worker while it does."""

import types

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

MAX_TEXTS = 500
"""Multiplications of texts in one cell, each of which Python may work out when it compiles."""

_INSIDES = (
    types.FrameType,
    types.CodeType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    types.TracebackType,
)
_PREFIXES = ("f_", "co_", "_co_", "gi_", "cr_", "ag_", "tb_")
REFUSED_ATTRIBUTES = frozenset(
    """__subclasses__ __globals__ __code__ __closure__ __builtins__ __reduce__ __reduce_ex__ __loader__ __spec__
    f_generator""".split()
) | {name for kind in _INSIDES for name in dir(kind) if name.startswith(_PREFIXES)}
"""Attributes that no plan may read, set or define: they lead to code that nobody checked."""
REFUSED_BUILTINS = frozenset(
    """eval exec compile open input breakpoint help exit quit aiter anext copyright credits license""".split()
)
"""Builtins that plans do not have, unless they define something of that name."""
REFUSED_NAMES = REFUSED_ATTRIBUTES | {"__import__", "__build_class__"}
"""Variables that no plan may read or set."""
FORMATS = frozenset({"format", "format_map"})
"""Methods that read attributes named in a text."""
GUARDED_ATTRIBUTES = FORMATS | {"__dict__"}
"""Attributes that plans may read of some objects only: a guard decides when the plan runs."""
GUARD = "<attribute>"
"""The variable that holds the guard: no source can spell it."""

PRELOADED = frozenset(
    """abc array ast base64 binascii bisect calendar cmath collections collections.abc contextlib contextvars copy csv
    dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq html html.parser io itertools
    json keyword logging math numbers operator pprint queue random re reprlib statistics string struct sys textwrap time
    traceback types typing unicodedata urllib urllib.parse uuid warnings weakref zlib zoneinfo""".split()
)
"""Modules that every worker has from its start."""
ON_DEMAND = frozenset(
    """codecs colorsys configparser copyreg fnmatch hmac html.entities ipaddress json.decoder json.encoder sched secrets
    shlex stringprep token tokenize tomllib""".split()
)
"""Modules whose source the host hands out when a plan imports them."""
MODULES = PRELOADED | ON_DEMAND
"""The modules that plans may import."""
PARTS = {
    "io": frozenset({"BytesIO", "StringIO"}),
    "sys": frozenset(
        """byteorder exc_info exception flags float_info float_repr_style getdefaultencoding getrecursionlimit getsizeof
        hash_info hexversion implementation int_info intern maxsize maxunicode platform setrecursionlimit stderr stdout
        version version_info""".split()
    ),
}
"""Modules of which plans have these names only."""
MISSING = {"hashlib": frozenset({"pbkdf2_hmac", "scrypt"})}
"""Names that modules lack in plans: OpenSSL has them, and no worker maps it."""
