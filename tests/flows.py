"""Helpers for tests of commands: run them in this process, with a scripted model, and read the runs that they write."""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from planbook.cli import main
from planbook.config import RECORDINGS
from planbook.runs import Run
from planbook.store import Event
from tests.command import ROOT

SCRIPT = ROOT / "tests" / "toy_script.py"


def scripted(name: str = "answer") -> str:
    """Return the scripted model with this name, for ``--model`` in any folder."""
    return f"scripted:{SCRIPT}:{name}"


def write_scripted_model(folder: Path, reply: str) -> str:
    """Write a scripted model that always gives this reply, and return its name for `--model`."""
    (folder / "model.py").write_text(f"def answer(messages, sampling):\n    return {reply!r}\n")
    return f"scripted:{folder / 'model.py'}:answer"


BUILD = ("build", "--env", "toy", "--model", scripted())


class Finished(NamedTuple):
    """The exit code and the output of a command, like those of a process."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def result(self) -> Any:
        """The JSON object on the last line of standard output."""
        return json.loads(self.stdout.splitlines()[-1])

    @property
    def printed(self) -> str:
        """Everything that was printed, on one line, since line breaks depend on the terminal's width."""
        return " ".join((self.stdout + self.stderr).split())


def command_of(recording: str) -> list[str]:
    """Return the arguments of the command that a shipped recording was made with."""
    words: str = json.loads((RECORDINGS / f"{recording}.jsonl").read_text().splitlines()[0])["command"]
    return words.split()


def invoke(*arguments: object) -> Finished:
    """Run one command in this process, which saves half a second. Unexpected exceptions propagate."""
    stdout, stderr = StringIO(), StringIO()
    with (
        patch.object(sys, "argv", ["planbook", *map(str, arguments)]),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            main()
        except SystemExit as exit:
            code = exit.code
    assert isinstance(code, int)
    return Finished(code, stdout.getvalue(), stderr.getvalue())


def succeed(*arguments: object) -> Finished:
    """Run a command that must succeed. Return its output."""
    finished = invoke(*arguments)
    assert finished.returncode == 0, finished.printed
    return finished


def refusal(*arguments: object) -> str:
    """Run a command that must be refused with exit code 2. Return its output."""
    refused = invoke(*arguments)
    assert refused.returncode == 2, refused.printed
    return refused.printed


def events(folder: Path, kind: Any = None, scope: str | None = None) -> list[Event]:
    """Return the events of a run."""
    run = Run.open(folder)
    found = list(run.store.events(scope, kind))
    run.close()
    return found


def asks(folder: Path, role: str = "", template: str = "") -> list[Any]:
    """Return the bodies of the recorded requests to models.

    ``role`` selects the requests of one role, ``template`` those whose template's name begins with this text.
    """
    bodies: list[Any] = [event.body for event in events(folder, "ask")]
    return [body for body in bodies if role in ("", body["role"]) and body["template"].startswith(template)]


def prompt(asked: Any) -> str:
    """Return all messages of a request as one text."""
    return "\n\n".join(message["content"] for message in asked["messages"])


def files(folder: Path) -> dict[str, str]:
    """Return a dict that maps the path of every file below a folder to its text."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def history(folder: Path) -> list[tuple[Any, ...]]:
    """Return a run's events as they are when it is repeated: without times, and without events about the run itself."""
    return sorted(
        (e.scope, e.kind, e.n, _timeless(e.body)) for e in events(folder) if e.scope != "run" or e.kind == "task"
    )


def without_times(summary: Any) -> dict[str, Any]:
    """Return a summary without its time and without the folder of its run."""
    return {name: value for name, value in summary.items() if name not in ("seconds", "run")}


def _timeless(body: Any) -> str:
    def without(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key: value for key, value in pairs if key != "seconds"}

    return json.dumps(json.loads(json.dumps(body), object_pairs_hook=without), sort_keys=True)
