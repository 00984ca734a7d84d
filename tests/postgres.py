"""A real PostgreSQL server for tests, on loopback, in a temporary folder.

On Debian, apt-get install postgresql installs it. PostgreSQL does not run as root. If the tests run as root, they start
it as the user that the package creates.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Composed, Identifier

USER = "postgres"
QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
"""Settings that make the server faster, because no data has to survive a crash of the machine."""
SETTINGS = ("listen_addresses=127.0.0.1", "max_connections=60", "shared_buffers=32MB", *QUICK)
INITDB = ("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
STARTING_SECONDS = 60
AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups") if os.geteuid() == 0 else ("setpriv",)
WITH_PARENT = "--pdeathsig=QUIT"
"""Ends the server as soon as the test process ends, however it ends."""


def need_postgres() -> Path:
    """Return the folder of the server's programs. If there is no such folder, skip the test; in CI, fail it."""
    there = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]
    found = next((folder for folder in there if (folder / "initdb").exists() and (folder / "postgres").exists()), None)
    if found is not None:
        return found
    reason = "there is no PostgreSQL server: apt-get install postgresql"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"CI runs the tests of PostgreSQL, but {reason}")
    pytest.skip(reason)


class Server:
    """A PostgreSQL server, which tests access as its superuser."""

    def __init__(self, programs: Path, folder: Path, password: str) -> None:
        self.port, self.password = _free_port(), password
        self._programs, self._data = programs, folder / "data"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of the database "postgres", with the password."""
        return self.url_of("postgres")

    def url_of(self, database: str, user: str = USER, password: str | None = None) -> str:
        """Return the URL of a database. The password is the superuser's by default; "" omits it."""
        secret = self.password if password is None else password
        return f"postgresql://{user}{secret and ':' + secret}@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """Create an empty database and return its URL."""
        name = f"tests_{secrets.token_hex(4)}"
        self.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        return self.url_of(name)

    def execute(self, query: SQL | Composed | bytes) -> None:
        """Execute a query as the superuser."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(query)

    def start(self) -> None:
        """Start the server, or start it again, and wait until it can be reached."""
        program = self._programs / "postgres"
        settings = [part for setting in (*SETTINGS, f"port={self.port}") for part in ("-c", setting)]
        command: list[str | Path] = [program, "-D", self._data, "-k", self._data.parent, *settings]
        with (self._data.parent / "server.log").open("ab") as log:
            self.process = subprocess.Popen([*AS_USER, WITH_PARENT, *command], stdout=log, stderr=log, cwd="/")
        deadline = time.monotonic() + STARTING_SECONDS
        while True:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """Stop the server immediately. All connections are lost."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
            self.process = None


@contextmanager
def running(programs: Path) -> Iterator[Server]:
    """Run a new server until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="planbook-postgres-"))
    password = secrets.token_hex(8)
    try:
        (folder / "password").write_text(password)
        if os.geteuid() == 0:
            shutil.chown(folder, USER, USER)
            shutil.chown(folder / "password", USER, USER)
        initdb: list[str | Path] = [programs / "initdb", "-D", folder / "data"]
        options: list[str | Path] = ["-U", USER, "--pwfile", folder / "password", *INITDB]
        made = subprocess.run([*AS_USER, *initdb, *options], capture_output=True, text=True, cwd="/")
        assert made.returncode == 0, made.stderr
        server = Server(programs, folder, password)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
