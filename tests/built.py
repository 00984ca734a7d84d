"""A command in a process that is killed, life after life: used by tests of resuming.

python -m tests.built KILLS ARGUMENTS... forks one process after the other until one is not killed. KILLS is a list of
JSON pairs, one a life: [kind, number] kills it right after its number-th new event of that kind ("" is any, the run's
own left aside), number 0 lets it live; ["pid", FILE] writes its process id there, for somebody else to kill it.
"""

import json
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import planbook.planner.models.openai_api  # noqa: F401 - once for all lives, since it takes a second
from planbook.cli import main
from planbook.store import Store


def live(kind: str, number: Any, arguments: list[str]) -> None:
    """Run one command, and kill the process right after so many new events of a kind."""
    put, left = Store.put_all, number

    def counted(store: Store, rows: list[Any]) -> None:
        nonlocal left
        put(store, rows)
        left -= sum(row[0] != "run" and kind in ("", row[1]) for row in rows)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if kind == "pid":
        Path(number).write_text(str(os.getpid()))
    elif number:
        Store.put_all = counted  # type: ignore[method-assign, assignment]
    sys.argv = ["planbook", *arguments]
    main()


def lives(kills: list[Any], arguments: list[str]) -> list[int]:
    """The exit code of each life, in order."""
    codes: list[int] = []
    for kind, number in kills:
        child = os.fork()
        if child == 0:
            os.close(1)
            os.open(os.devnull, os.O_WRONLY)
            try:
                live(kind, number, arguments)
            except SystemExit as exit:
                sys.stderr.flush()
                os._exit(int(exit.code or 0))
            os._exit(99)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        if codes[-1] != -signal.SIGKILL:
            break
    return codes


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(lives(json.loads(sys.argv[1]), sys.argv[2:])))
