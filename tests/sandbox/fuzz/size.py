"""Long texts: everything on the host that reads a text of a plan or a model must take little time and memory."""

import re
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

from planbook.sandbox import (
    GrowingReply,
    checks,
    defined_names,
    extract,
    parse_source,
    possibly_bound_names,
    read_reply,
    statements_of,
)
from planbook.sandbox.policy.compiler import compile_for_worker
from planbook.sandbox.reading.definitions import step_numbers
from planbook.sandbox.reading.scopes import scopes_of
from tests.sandbox.fuzz.programs import Choices, part
from tests.sandbox.host_functions import ATTRIBUTES, FUNCTIONS

LONGEST = 100_000
"""Maximum characters of a text."""
SECONDS, MEGABYTES = 1.0, 100
SIZES = (1_000, 10_000, 40_000, LONGEST)
KINDS = ("line", "statement", "expr", "block", "target", "pattern", "member", "name")
TOKENS = """( [ { ) ] } , . : = == += * ** @ -> ; # \\ ` ~ ' " ''' \"\"\" f' f" {x} {x!r:{y}} lambda: not x. x( x[ x,
x=1,
await yield 1 1. 1j 0x1 1if 'a' b'a' import from def class if elif else: for while try: except finally: return break
global x nonlocal x match case _ with async del assert pass [Step 1] python ``` ~~~ > é ﷺ 😀""".split()
BLANKS = (" ", "\t", "\n", "\r", "\\\n", "\f", "\n\n", "\n ", "    ")
FRAMES = "(|) ; [|] ; {|} ; f(|) ; x[|] ; lambda:| ; (|,) ; not | ; -| ; f'{|}' ; x if | else y ; [|for x in y]".split(
    " ; "
)
BLOCKS = ("def f():", "class A:", "if x:", "for x in y:", "while x:", "with x:", "try:", "match x:", "case x:")
FENCES = ("{}", "```python\n{}\n```\n", "```\n{}\n```\n", "Prose.\n\n{}\n\nMore prose.\n", "x = '''\n{}\n")
NAMES = re.compile(r"\b[xyzfg]\b")


def test_one(data: bytes) -> None:
    """Check that every reader keeps within the bounds for one text."""
    long = text(Choices(data))
    for name, reader in READERS.items():
        assert keeps_to_bounds(reader, long), (name, long[:200], len(long))


def text(choices: Choices) -> str:
    """Return two stretches of text that repeat or nest something, with or without a fence."""
    size = choices.pick(SIZES) // 2
    stretches = [choices.pick(STRETCHES)(choices, size) for _ in range(2)]
    return choices.pick(FENCES).replace("{}", choices.pick(("\n", "")).join(stretches))[:LONGEST]


def _piece(choices: Choices) -> str:
    kind = choices.below(4)
    if kind == 0:
        return choices.pick(TOKENS)
    if kind == 1:
        return choices.pick(TOKENS) + choices.pick((*TOKENS, *BLANKS))
    return part(choices.pick(KINDS), choices) + choices.pick(("\n", "", ",", ";"))


def _repeated(choices: Choices, size: int) -> str:
    piece = _piece(choices)
    return piece * (size // len(piece))


def _numbered(choices: Choices, size: int) -> str:
    """Repeat a piece with new names each time."""
    piece = _piece(choices)
    numbered = (NAMES.sub(rf"\g<0>{number:x}", piece) for number in range(size // (len(piece) + 4)))
    return "".join(numbered)[:size]


def _nested(choices: Choices, size: int) -> str:
    before, _, after = choices.pick(FRAMES).partition("|")
    depth = choices.pick((20, 60, 95, size // (len(before) + len(after))))
    return before * depth + _piece(choices) * choices.pick((1, 1_000)) + after * depth


def _indented(choices: Choices, size: int) -> str:
    """Return nested blocks with many lines in the innermost."""
    opening, depth = choices.pick(BLOCKS), choices.pick((5, 30, 90))
    lines = _piece(choices).split("\n")
    inner = [" " * depth + line for line in lines] * (size // (depth * len(lines) + sum(map(len, lines)) + 1))
    return "\n".join([*(" " * level + opening for level in range(depth)), *inner])


STRETCHES = (_repeated, _numbered, _nested, _indented)


def keeps_to_bounds(reader: Callable[[str], object], long: str) -> bool:
    """Return whether a reader stays within the bounds. A slow one is measured again with another text."""
    if (seconds := _seconds(reader, long)) > SECONDS:
        seconds = min(_seconds(reader, f"{long}#{number}") for number in range(2))
    return seconds < SECONDS and (seconds < SECONDS / 10 or megabytes_of(lambda: reader(f"{long}#")) < MEGABYTES)


def _seconds(reader: Callable[[str], object], long: str) -> float:
    return seconds_of(lambda: reader(long))


def seconds_of(operation: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    operation()
    return time.process_time() - started


def megabytes_of(operation: Callable[[], object]) -> float:
    """Return the peak memory of a call."""
    tracemalloc.start()
    operation()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / (1 << 20)


def checked(code: str) -> str:
    """Check the code, and format the faults."""
    return "\n".join(map(str, checks.check(code, FUNCTIONS, attributes=ATTRIBUTES)))


def checked_part(code: str) -> object:
    """Check the code as a part of a plan."""
    return checks.check_part(code, FUNCTIONS, attributes=ATTRIBUTES)


def checked_procedure(code: str) -> object:
    """Check the code as a procedure."""
    return checks.check_procedure(code, FUNCTIONS, attributes=ATTRIBUTES)


def streamed(code: str) -> None:
    """Read the code as a reply that comes seven characters at a time."""
    growing, whole = GrowingReply(), f"```python\n{code}\n```\n"
    for start in range(0, len(whole), 7):
        list(growing.add(whole[start : start + 7]))


def carried(code: str) -> str:
    """Carry what the plan calls x, if it has one."""
    with suppress(LookupError):
        return extract(code, ["x"])
    return ""


def scopes(code: str) -> object:
    """Find the names that the code binds and reads, if it is code."""
    try:
        return scopes_of(parse_source(code)).free_names()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


READERS: dict[str, Callable[[str], object]] = {
    "check": checked,
    "part": checked_part,
    "procedure": checked_procedure,
    "compile": lambda code: compile_for_worker(code, "plan", language_layer=True),
    "reply": read_reply,
    "fenced reply": lambda code: read_reply(f"```python\n{code}\n```\n"),
    "streamed": streamed,
    "streamed reply": lambda reply: list(GrowingReply().add(reply)),
    "statements": lambda code: statements_of(code.split("\n")),
    "steps": step_numbers,
    "definitions": defined_names,
    "carried": carried,
    "bound names": possibly_bound_names,
    "scopes": scopes,
}
"""Everything on the host that reads a text of a plan or a model."""
