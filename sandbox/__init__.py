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

if TYPE_CHECKING:  # `X as X` tells type checkers that X is public
    from planbook.sandbox.caching import cached_up_to as cached_up_to
    from planbook.sandbox.checks import check as check, check_part as check_part, check_procedure as check_procedure
    from planbook.sandbox.dry import UNKNOWN as UNKNOWN, DryRun as DryRun, Impossible as Impossible, dry_run as dry_run
    from planbook.sandbox.functions import fail_fast_validator as fail_fast_validator
    from planbook.sandbox.host import Mechanism as Mechanism, Sandbox as Sandbox
    from planbook.sandbox.policy.compiler import code_lines as code_lines, parse_source as parse_source
    from planbook.sandbox.policy.rules import (
        MAX_SOURCE as MAX_SOURCE,
        PRELOADED as PRELOADED,
        REFUSED_BUILTINS as REFUSED_BUILTINS,
    )
    from planbook.sandbox.reading.definitions import (
        bound_names as bound_names,
        defined_names as defined_names,
        extract as extract,
        extractable_names as extractable_names,
        possibly_bound_names as possibly_bound_names,
    )
    from planbook.sandbox.reading.growing import (
        GrowingReply as GrowingReply,
        Statement as Statement,
        chars_to_line as chars_to_line,
        only_defines as only_defines,
        statements_of as statements_of,
    )
    from planbook.sandbox.reading.reply import ReadReply as ReadReply, read_reply as read_reply
    from planbook.sandbox.reading.syntax import parse as parse
    from planbook.sandbox.session import GrowingCell as GrowingCell, Session as Session
    from planbook.sandbox.suggest import (
        closest as closest,
        did_you_mean as did_you_mean,
        nearest_names as nearest_names,
    )
    from planbook.sandbox.types import (
        BadAnswer as BadAnswer,
        BadFunction as BadFunction,
        CellResult as CellResult,
        Fault as Fault,
        FaultKind as FaultKind,
        Limits as Limits,
        MissingMechanism as MissingMechanism,
        RebuildDiverged as RebuildDiverged,
        SandboxClosed as SandboxClosed,
        SandboxError as SandboxError,
        SessionBusy as SessionBusy,
        WorkerFailed as WorkerFailed,
        WorkersKilled as WorkersKilled,
    )
else:
    __getattr__ = lazy_getattr(__name__)
