"""Helpers for the tests of watching: a run in another process, and `planbook watch` in a third."""

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


def begin(*arguments: object) -> "subprocess.Popen[str]":
    """Start a command in a separate process, as a user does."""
    command = [sys.executable, "-m", "planbook", *map(str, arguments)]
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def count(folder: Path, kind: Any) -> int:
    """Return the number of a run's events of a kind; 0 before the run exists."""
    if not (folder / "run.json").exists():
        return 0
    with closing(Store(folder / "run.db", to_write=False)) as store:
        return sum(1 for _ in store.events(kind=kind))


@contextmanager
def played(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a run of the toy environment with a slow model and yield it once its first episode has begun."""
    chosen = ("--env", "toy", "--types", "fetch", "--seeds", "0-99")
    process = begin("run", "--planner", "automanual", *chosen, "--model", SCRIPT, "--jobs", 2, "--out", folder)
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
    """A client that knows the printed address."""

    def __init__(self, address: str) -> None:
        self.address, found = address, urlsplit(address)
        self.host, self.token = found.netloc, found.query.partition("=")[2]

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Send a request with the headers of our pages, unless others are given; empty ones are left out."""
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

    def ask(self, what: str) -> Answer:
        """Send the request of a button."""
        return self.get(f"/ask/{what.replace(' ', '%20')}", "POST", Origin=f"http://{self.host}")

    def news(self, since: int = 0) -> Any:
        """Return the first message of the event stream."""
        connection = http.client.HTTPConnection(self.host, timeout=20)
        with closing(connection):
            connection.request("GET", f"/news?since={since}&token={self.token}")
            answer = connection.getresponse()
            for line in answer:
                if line.startswith(b"data: "):
                    return json.loads(line.removeprefix(b"data: "))
        raise AssertionError("the stream ended without a message")

    def doing(self) -> str:
        """Return what the run is doing."""
        return str(self.news()["state"]["doing"])


@contextmanager
def watched(folder: Path) -> Iterator[Watcher]:
    """Run `planbook watch` on a run until the block ends, then end it with Ctrl-C."""
    process = begin("watch", folder, "--no-browser", "--port", 0)
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
