"""Read, check and run plan code, which is Python code that a model wrote. Independent of environments and planners.

Plan code runs in a separate process, the worker. The process that opens sessions is the host. A cell is a piece of plan
code that runs as a unit. The modules, in order of use:

- ``reading`` finds the code in a model's reply. ``checks`` reports its faults, ``policy`` refuses what plans
  may not use, and ``dry`` finds actions that cannot succeed, without executing any.
- ``host`` starts the sandbox and opens a ``session``. ``functions`` describes the functions that plans may call.
- ``conversation`` exchanges the messages of one cell with the worker. ``answers`` carries out the calls, imports and
  sleeps that the worker requests. ``types`` defines limits, faults, results and exceptions.
- ``protocol`` defines the frames that carry the messages. ``process`` starts and ends the worker processes, and
  ``worker`` is the code that runs in them. The worker processes are the security boundary (``THREAT_MODEL.md``).
- ``caching`` is a cache with a size limit, and ``suggest`` finds the name that a misspelt name probably means.

Other packages import only what this module exports.
"""

if __name__ == "sandbox":
    raise ImportError("sandbox is a package of planbook: import planbook.sandbox", name="sandbox")

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.sandbox.caching import cached_up_to
    from planbook.sandbox.checks import check, check_part, check_procedure
    from planbook.sandbox.dry import UNKNOWN, DryRun, Impossible, dry_run
    from planbook.sandbox.functions import fail_fast_validator
    from planbook.sandbox.host import Mechanism, Sandbox
    from planbook.sandbox.policy.compiler import code_lines, parse_source
    from planbook.sandbox.policy.rules import MAX_SOURCE, PRELOADED, REFUSED_BUILTINS
    from planbook.sandbox.reading.definitions import (
        bound_by_part,
        bound_names,
        defined_names,
        extract,
        extractable_names,
    )
    from planbook.sandbox.reading.growing import (
        GrowingReply,
        Statement,
        chars_to_line,
        only_defines,
        statements_of,
    )
    from planbook.sandbox.reading.reply import ReadReply, read_reply
    from planbook.sandbox.reading.syntax import parse
    from planbook.sandbox.session import GrowingCell, Session
    from planbook.sandbox.suggest import closest, did_you_mean, nearest_names
    from planbook.sandbox.types import (
        BadAnswer,
        BadFunction,
        CellResult,
        Fault,
        FaultKind,
        Limits,
        MissingMechanism,
        RebuildDiverged,
        SandboxClosed,
        SandboxError,
        SessionBusy,
        WorkerFailed,
        WorkersKilled,
    )
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "MAX_SOURCE",
    "PRELOADED",
    "REFUSED_BUILTINS",
    "UNKNOWN",
    "BadAnswer",
    "BadFunction",
    "CellResult",
    "DryRun",
    "Fault",
    "FaultKind",
    "GrowingCell",
    "GrowingReply",
    "Impossible",
    "Limits",
    "Mechanism",
    "MissingMechanism",
    "ReadReply",
    "RebuildDiverged",
    "Sandbox",
    "SandboxClosed",
    "SandboxError",
    "Session",
    "SessionBusy",
    "Statement",
    "WorkerFailed",
    "WorkersKilled",
    "bound_by_part",
    "bound_names",
    "cached_up_to",
    "chars_to_line",
    "check",
    "check_part",
    "check_procedure",
    "closest",
    "code_lines",
    "defined_names",
    "did_you_mean",
    "dry_run",
    "extract",
    "extractable_names",
    "fail_fast_validator",
    "nearest_names",
    "only_defines",
    "parse",
    "parse_source",
    "read_reply",
    "statements_of",
]
