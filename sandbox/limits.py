"""The limits of a cell, as the plan's reader is told of them."""

from planbook.sandbox.types import Fault, FaultKind, Limits

MAX_ASKED = 16 << 20
"""Bytes of all the requests of one cell, which the host keeps, parses and checks on its own time."""
MAX_KEPT = 64 << 20
"""Bytes of memory of what a session keeps to run its cells again: what they asked, were answered, printed, came to."""
MESSAGES = {
    "wall": "the cell ran for more than {wall_seconds:g} s of wall clock",
    "cpu": "the cell used more than {cpu_seconds:g} s of processor time",
    "memory": "the plan needed more than {memory_mb} MB of memory",
    "output": "the cell printed more than {output_chars} characters",
    "host_calls": "the cell made more than {host_calls} calls",
    "arguments": f"the arguments of the cell's calls took more than {MAX_ASKED >> 20} MB",
    "kept": f"the session's cells asked, were answered and printed more than {MAX_KEPT >> 20} MB in all",
    "source": "the cell's source has more than {source_chars} characters",
    "sleep": "the cell slept for more than {wall_seconds:g} s in all",
    "crashed": "the worker ended by itself: the plan exhausted the stack or crashed the interpreter",
    "protocol": "the worker was ended because it broke the protocol",
}
"""Name of the limit, the fault's ``type``, to its message."""
_ENDLESS = "look for a loop that never ends, or work that is too much for the time"
HINTS = {
    "wall": _ENDLESS,
    "cpu": _ENDLESS,
    "memory": "keep less at a time: take values one by one instead of building a large list or text",
    "output": "print less, or print only what is needed",
    "host_calls": "look for a loop that calls without end",
    "arguments": "give the calls shorter arguments, or make fewer calls",
    "kept": "ask for less at a time, and give calls shorter arguments",
    "source": "write a shorter plan, as several steps",
    "sleep": "leave the sleeping out, or sleep for less in all",
}


class LimitReached(Exception):
    """A cell must end now. ``name`` is a key of MESSAGES, ``detail`` what else is known."""

    def __init__(self, name: str, detail: str = "") -> None:
        self.name, self.detail = name, detail
        super().__init__(name)


MAX_DETAIL = 300
"""Characters of what a worker said that a fault repeats: they stand in prompts and logs."""


def limit_fault(name: str, limits: Limits, detail: str = "") -> Fault:
    """The fault that tells of a limit and its value."""
    message = MESSAGES[name].format_map(limits.model_dump())
    told = f"{message} ({detail[:MAX_DETAIL]})" if detail else message
    return Fault(FaultKind.LIMIT, name, told, hint=HINTS.get(name, ""))
