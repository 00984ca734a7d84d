"""Serve one Trac environment on this machine.

This file runs as a process: ``trac_server.py ENVIRONMENT SEEDED_DATABASE``. The environment is a folder with a
project's database and settings. The server is that of ``tracd -s``, with four differences:

- Everyone is logged in as the same user.
- The clock is fictional.
- The line ``reset`` on standard input restores the seeded database without a restart.
- When standard input closes, because its owner has ended for any reason, the process ends. It then also removes the
  folder with all Trac environments of its owner.
"""

import itertools
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

for _other in ("babel", "multipart") if sys.version_info < (3, 13) else ("babel",):  # Trac fails if it can import these
    sys.modules[_other] = None  # type: ignore[assignment]
USER = "robin"
NOW = datetime(2031, 3, 17, 9, 0, tzinfo=UTC)
"""The time at the start of an episode. Each call of ``now`` returns a time that is one second later."""
_seconds = itertools.count()


def now(zone: Any = None) -> datetime:
    """Return the fictional time. It advances, so that two changes to one ticket have different times."""
    return (NOW + timedelta(seconds=next(_seconds))).astimezone(zone or UTC)


import trac.util.datefmt  # noqa: E402

trac.util.datefmt.datetime_now = now  # must happen before the modules below import the name
from trac.env import open_environment  # noqa: E402
from trac.web.main import dispatch_request  # noqa: E402
from trac.web.standalone import TracHTTPServer  # noqa: E402


def reset(seeded: Path, database: Path) -> None:
    """Replace the content of the served database with that of the seeded one.

    SQLite copies it, so that open connections see the new content. Trac's caches notice the change, since their
    generation numbers are in the database.
    """
    global _seconds
    with sqlite3.connect(seeded) as source, sqlite3.connect(database, timeout=10) as target:
        source.backup(target)
    source.close()
    target.close()
    _seconds = itertools.count()


def main(folder: Path, seeded: Path) -> None:
    """Serve until standard input ends. Print the port when ready, and one line after each reset."""
    open_environment(str(folder), use_cache=True)  # if it is damaged, fail now rather than on every page

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        return dispatch_request(environ | {"REMOTE_USER": USER, "trac.env_path": str(folder)}, start_response)

    server = TracHTTPServer(("127.0.0.1", 0), answer, None, None, use_http_11=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    for line in sys.stdin:
        if line.strip() == "reset":
            reset(seeded, folder / "db" / "trac.db")
            print("done", flush=True)
    shutil.rmtree(folder.parent, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
