"""The grammar of generated programs: mostly what plans contain, and some of what they may not contain."""

from collections.abc import Sequence

from planbook.sandbox.policy import rules
from tests.sandbox.plans import HERE, sections

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
MORE_ATTRIBUTES = """__closure__ __code__ __func__ __defaults__ __kwdefaults__ __builtins__ __slots__
__subclasshook__ __class_getitem__ __prepare__ __weakref__ _call_ _link_ _title_ _attr_ _fields_ __ｇlobals__
ｇi_frame"""
HOSTILE_ATTRIBUTES = sorted({*rules.REFUSED_ATTRIBUTES, *rules.ATTRIBUTE_HINTS, *MORE_ATTRIBUTES.split()})
MODULES = sorted(rules.MODULES)
COMMON = ("collections", "dataclasses", "functools", "itertools", "math", "operator", "re", "typing")
MEMBERS = sorted({name for module in ("json", *COMMON) for name in rules.public_names(module)})
HOSTILE_MODULES = (
    "os sys builtins types gc inspect importlib _io ctypes typing.io json.decoder collections.abc os.path".split()
)


def _table() -> dict[str, Sequence[str]]:
    """Read the grammar: one form in each line, in which ``\\n`` stands for a line break."""
    rows = {kind: body.split("\n")[:-1] for kind, body in sections(HERE / "grammar" / "hostile.txt")}
    return {kind: [form.replace("\\n", "\n") for form in forms] for kind, forms in rows.items()}


GRAMMAR: dict[str, Sequence[str]] = _table() | {
    "plain_name": NAMES,
    "builtin": BUILTINS,
    "hostile_name": HOSTILE_NAMES,
    "plain_attribute": ATTRIBUTES,
    "hostile_attribute": HOSTILE_ATTRIBUTES,
    "plain_module": MODULES,
    "hostile_module": HOSTILE_MODULES,
    "member": MEMBERS,
}
"""Maps each kind of text to its forms. ``<kind>`` is replaced by a form of that kind with the same indentation."""
