"""Helpers for tests of `planbook watch`: a run in one process, the command in another, and a client."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from planbook.store import Store
from tests.command import ROOT
from tests.executing import wait_until

SCRIPT = "scripted:tests/slow_script.py:slowly"


def start_command(*arguments: object) -> "subprocess.Popen[str]":
    """Start a command in a separate process, as users do."""
    command = [sys.executable, "-m", "planbook", *map(str, arguments)]
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def count(folder: Path, kind: Any) -> int:
    """Return the number of events of one kind in a run, or 0 if the run does not exist yet."""
    if not (folder / "run.json").exists():
        return 0
    with closing(Store(folder / "run.db", to_write=False)) as store:
        return sum(1 for _ in store.events(kind=kind))


@contextmanager
def playing_run(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a run of the toy environment with a slow model. Yield its process once the first reply is recorded."""
    chosen = ("--env", "toy", "--types", "fetch", "--seeds", "0-99")
    process = start_command("run", "--planner", "automanual", *chosen, "--model", SCRIPT, "--jobs", 2, "--out", folder)
    try:
        wait_until(lambda: count(folder, "ask"), what="the run")
        yield process
    finally:
        process.kill()
        process.communicate()


class Answer(NamedTuple):
    """An answer of the server."""

    status: int
    text: str
    headers: dict[str, str]


class Watcher:
    """A client that knows the address that the command has printed, and the token in it."""

    def __init__(self, address: str) -> None:
        self.address, found = address, urlsplit(address)
        self.host, self.token = found.netloc, found.query.partition("=")[2]

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Send a request with the headers that our pages send. ``headers`` replace them; an empty one is not sent."""
        default = {"Host": self.host, "Cookie": f"planbook-{urlsplit(self.address).port}={self.token}"}
        sent = {name: value for name, value in (default | headers).items() if value}
        connection = http.client.HTTPConnection(self.host, timeout=20)
        with closing(connection):
            connection.putrequest(method, path, skip_host=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            received = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, answer.read().decode(), received)

    def ask(self, command: str) -> Answer:
        """Send the request that a button sends."""
        return self.get(f"/ask/{command.replace(' ', '%20')}", "POST", Origin=f"http://{self.host}")

    def news(self, since: int = 0) -> Any:
        """Return an update of the page."""
        return json.loads(self.get(f"/news?since={since}").text)

    def doing(self) -> str:
        """Return what the run is doing."""
        return str(self.news()["state"]["doing"])


@contextmanager
def watch_run(folder: Path) -> Iterator[Watcher]:
    """Run `planbook watch` on a run, and end it with Ctrl-C when the block ends."""
    process = start_command("watch", folder, "--no-browser", "--port", 0)
    try:
        assert process.stdout
        yield Watcher(process.stdout.readline().strip())
        process.send_signal(signal.SIGINT)
        printed = process.communicate(timeout=20)[1]
        assert process.returncode == 0, printed
        assert "Traceback" not in printed, printed
    finally:
        process.kill()
        process.communicate()
