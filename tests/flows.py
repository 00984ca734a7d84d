"""Helpers for tests of the stages: commands in this process, the scripted model, and the contents of a run."""

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
    """What a command returned and printed, as for a process."""

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
    """Return the command that the first line of a shipped recording names."""
    words: str = json.loads((RECORDINGS / f"{recording}.jsonl").read_text().splitlines()[0])["command"]
    return words.split()


def invoke(*arguments: object) -> Finished:
    """Run one command in this process, which saves half a second. Unexpected exceptions are raised."""
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


def refusal(*arguments: object) -> str:
    """Run a command that has to be refused with exit code 2, and return what it printed."""
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
    """Return the recorded requests to models: of one role, or with templates whose names begin with ``template``."""
    bodies: list[Any] = [event.body for event in events(folder, "ask")]
    return [each for each in bodies if role in ("", each["role"]) and each["template"].startswith(template)]


def prompt(asked: Any) -> str:
    """Return all messages of a request as one text."""
    return "\n\n".join(message["content"] for message in asked["messages"])


def files(folder: Path) -> dict[str, str]:
    """Return the text of every file below a folder, by path."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def history(folder: Path) -> list[tuple[Any, ...]]:
    """Return a run's events without what differs when it is repeated: times, and the run's events about itself."""
    return sorted(
        (e.scope, e.kind, e.n, _timeless(e.body)) for e in events(folder) if e.scope != "run" or e.kind == "task"
    )


def table(summary: Any) -> dict[str, Any]:
    """Return a summary without its time and the folder of its run."""
    return {name: value for name, value in summary.items() if name not in ("seconds", "run")}


def _timeless(body: Any) -> str:
    def without(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key: value for key, value in pairs if key != "seconds"}

    return json.dumps(json.loads(json.dumps(body), object_pairs_hook=without), sort_keys=True)
