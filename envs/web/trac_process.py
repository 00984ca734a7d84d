"""Create and serve a Trac environment, which is a folder with a project's database and settings.

The module ``sites`` runs this file as a separate process, ``trac_process.py FOLDER``. The file imports nothing from
planbook. The environment is in the subfolder ``site``. Its content comes from ``trac_project.sql``, and its settings
from ``trac_project.ini``. Everything else is Trac's default. All times are fictional and fixed. The file ``seeded.db``
is a copy of the original database.

The server works like ``tracd -s`` (Trac's own command), with four differences:

- Everyone is logged in as the same user.
- The clock is fictional.
- The line ``reset`` on standard input restores the seeded database without a restart.
- When the process that started the server ends, the server's standard input closes. The server then removes the
  folder, and exits.
"""

import itertools
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable
from configparser import ConfigParser
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# Trac fails if it can import these modules.
for _hidden_module in ("babel", "multipart") if sys.version_info < (3, 13) else ("babel",):
    sys.modules[_hidden_module] = None  # type: ignore[assignment]
USER = "robin"
NOW = datetime(2031, 3, 17, 9, 0, tzinfo=UTC)
"""The time at the start of an episode. Each call of ``now`` advances the time by one second."""
_seconds = itertools.count()


def now(zone: Any = None) -> datetime:
    """Return the fictional time. It advances with each call, so that two changes to a ticket have different times."""
    return (NOW + timedelta(seconds=next(_seconds))).astimezone(zone or UTC)


import trac.util.datefmt  # noqa: E402

trac.util.datefmt.datetime_now = now  # before the modules below import datetime_now
from trac.env import Environment  # noqa: E402
from trac.web.main import dispatch_request  # noqa: E402
from trac.web.standalone import TracHTTPServer  # noqa: E402

CONTENT_FILE, SETTINGS_FILE = (Path(__file__).with_name(f"trac_project.{ending}") for ending in ("sql", "ini"))


def create(folder: Path) -> None:
    """Create the Trac environment in a folder that does not exist yet."""
    settings = ConfigParser(delimiters="=", interpolation=None)
    settings.read_string(SETTINGS_FILE.read_text(encoding="utf-8"))
    options = [(section, *option) for section in settings.sections() for option in settings.items(section)]
    Environment(str(folder), create=True, options=options).shutdown()
    with sqlite3.connect(folder / "db" / "trac.db") as database:
        database.executescript(CONTENT_FILE.read_text(encoding="utf-8"))
    database.execute("VACUUM")
    database.close()


def reset(seeded: Path, database: Path) -> None:
    """Replace the content of the served database with the content of the seeded database.

    SQLite itself copies the content, so open connections see it immediately. Trac's caches notice the change, since the
    database contains the caches' generation numbers.
    """
    global _seconds
    with sqlite3.connect(seeded) as source, sqlite3.connect(database, timeout=10) as target:
        source.backup(target)
    source.close()
    target.close()
    _seconds = itertools.count()


def serve(folder: Path) -> None:
    """Create an environment, and serve it until standard input closes.

    Print the port when the server is ready, and a line after each reset.
    """
    site, seeded = folder / "site", folder / "seeded.db"
    create(site)
    database = site / "db" / "trac.db"
    shutil.copy(database, seeded)

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        return dispatch_request(environ | {"REMOTE_USER": USER, "trac.env_path": str(site)}, start_response)

    server = TracHTTPServer(("127.0.0.1", 0), application, None, None, use_http_11=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with suppress(BrokenPipeError):  # the process that started the server may have ended
        print(server.server_port, flush=True)
        for _ in sys.stdin:
            reset(seeded, database)
            print("done", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
