"""Read, check and run plan code. This package does not depend on environments or planners.

From a model's reply to a result:

- ``reading`` finds the code in a reply. ``checks`` reports its faults, ``policy`` refuses what plans may not use, and
  ``dry`` finds actions that cannot succeed.
- ``host`` starts the sandbox and opens a ``session`` with the ``functions`` that plans may call. Each cell is one
  ``conversation`` with the worker, within the limits of ``types``; ``answers`` carries out the worker's requests.
- ``protocol`` defines the frames on the wire. ``process`` starts and ends the processes in which ``worker`` runs; these
  are the security boundary (``THREAT_MODEL.md``).
- ``caching`` bounds the memory of caches, ``suggest`` finds the name that was meant, ``errors`` lists the exceptions.

Other packages import only what this module exports.
"""

if __name__ == "sandbox":
    raise ImportError("sandbox is a package of planbook: import planbook.sandbox", name="sandbox")

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.sandbox.caching import cached_up_to
    from planbook.sandbox.checks import check, check_part, check_procedure
    from planbook.sandbox.dry import UNKNOWN, DryRun, Impossible, dry_run
    from planbook.sandbox.errors import (
        BadAnswer,
        BadFunction,
        MissingMechanism,
        RebuildDiverged,
        SandboxClosed,
        SandboxError,
        SessionBusy,
        WorkerFailed,
        WorkersKilled,
    )
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
    from planbook.sandbox.types import CellResult, Fault, FaultKind, Limits
else:
    __getattr__ = lazily(__name__)

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
    "nearest_names",
    "only_defines",
    "parse",
    "parse_source",
    "read_reply",
    "statements_of",
]
