"""The `planbook` command from the outside: arguments go in; an exit code, two streams and files come out.

This suite checks what a user of the command line relies on, so that everything behind it can be rewritten. It knows
only README.md, `--help` and the output of commands, and imports nothing from planbook. A command runs in this process
through the function that the installed script calls or, where a real process matters, as that script.

`cases/*.toml` holds the command lines. `[runs]` names runs that cases begin from. Each is made once, and each case
gets a copy. A `[[case]]` has

    name    unique
    line    the command line without `planbook`; {tmp} is a fresh folder, which is also the current one,
            {files} the folder `files`, {NAME} the run of that name
    code    the exit code, 0 by default
    out     words on standard output
    err     words on standard error
    result  values in the object that --json prints, by path: "by_type.fetch" = [1, 1]
    keys    the file in `keys` that lists the object's keys and their types
    before  command lines to run first, all of which must succeed
    stdin   the text that is typed
    needs   browser, graphviz or postgres, if the case needs one
    deep    true if `make test-deep` runs the case, but `make test` does not

{plans}, {chats}, {packs} and {answer} are scripted models. `advice` lists short cases: line, code, words on standard
error. Line breaks are ignored when words are compared. After a change that is meant to affect the files in `keys` or
`recordings`, write them anew, in a commit that contains only that change:

    python -m tests.blackbox.write
"""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple, cast

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEYS = HERE / "keys"
RECORDINGS = HERE / "recordings"
SHIPPED = ROOT / "manuals" / "recordings"
SCRIPT = Path(sys.executable).with_name("planbook")
WIDTH = "200"

Shape = dict[str, set[str]]
"""Maps each path in an object to the types of the values at that path."""


class Finished(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def printed(self) -> str:
        """Return both streams as one line, since the width of the terminal may break lines anywhere."""
        return " ".join((self.out + "\n" + self.err).split())

    @property
    def result(self) -> Any:
        """Return the only object on standard output."""
        (line,) = self.out.removesuffix("\n").split("\n")
        found = json.loads(line)
        assert isinstance(found, dict), line
        return found


@cache
def _entry_point() -> Callable[[], object]:
    (script,) = entry_points(group="console_scripts", name="planbook")
    return cast(Callable[[], object], script.load())


def planbook(*arguments: object, cwd: Path, stdin: str = "") -> Finished:
    """Run a command in this process, in a folder. Errors that planbook does not report are raised."""
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    argv, typed, sys.argv, sys.stdin = sys.argv, sys.stdin, ["planbook", *map(str, arguments)], StringIO(stdin)
    code: object = 0
    try:
        with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
            _entry_point()()
    except SystemExit as exit:
        code = exit.code
    finally:
        sys.argv, sys.stdin = argv, typed
    assert isinstance(code, int), code
    return Finished(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def run_installed(*arguments: object, cwd: Path, **variables: str) -> Finished:
    """Run a command as the installed script, in its own process."""
    command = [str(SCRIPT), *map(str, arguments)]
    env = environment() | variables
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=180, env=env)
    return Finished(done.returncode, done.stdout, done.stderr)


def environment() -> dict[str, str]:
    """Return the environment of a process: no keys, no servers, and wide lines."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")} | {"COLUMNS": WIDTH}


@dataclass(frozen=True)
class Case:
    """One command line and its expected results."""

    name: str
    line: str
    code: int = 0
    out: Sequence[str] = ()
    err: Sequence[str] = ()
    result: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keys: str = ""
    before: Sequence[str] = ()
    stdin: str = ""
    needs: str = ""
    deep: bool = False

    @property
    def lines(self) -> Iterator[str]:
        """Yield every command line of the case."""
        yield from (*self.before, self.line)


@cache
def _tables() -> tuple[Mapping[str, str], tuple[Case, ...]]:
    runs: dict[str, str] = {}
    cases: list[Case] = []
    for file in sorted((HERE / "cases").glob("*.toml")):
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        runs |= table.get("runs", {})
        cases += [Case(**case) for case in table.get("case", ())]
        cases += [Case(f"{line} ({code})", line, code, err=err) for line, code, *err in table.get("advice", ())]
    return runs, tuple(cases)


def named_runs() -> Mapping[str, str]:
    """Map each named run to the command line that makes it."""
    return _tables()[0]


def cases() -> tuple[Case, ...]:
    """Return all cases."""
    return _tables()[1]


def split_line(line: str, placeholders: Mapping[str, object]) -> list[str]:
    """Fill in the placeholders of a command line, and split it."""
    for name, value in placeholders.items():
        line = line.replace(f"{{{name}}}", str(value))
    return shlex.split(line)


def shape(value: Any, path: str = "") -> Shape:
    """Map each path in an object to the types of its values. All items of a list share the path `name[]`."""
    found = {path: {_type(value)}}
    if isinstance(value, dict):
        inner = [(f"{path}.{name}" if path else name, item) for name, item in value.items()]
    else:
        inner = [(f"{path}[]", item) for item in value] if isinstance(value, list) else []
    for name, item in inner:
        for below, types in shape(item, name).items():
            found.setdefault(below, set()).update(types)
    return found


def _type(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names = {dict: "object", list: "list", str: "text", int: "number", float: "number"}
    return names[type(value)]


def written_shape(shapes: Sequence[Shape]) -> str:
    """Return the text of a file in `keys`: the paths that all objects have, and the types that any of them has."""
    paths = sorted(set[str].intersection(*map(set, shapes)) - {""})
    lines = [f"{path}: {' or '.join(sorted(set[str]().union(*(each[path] for each in shapes))))}" for path in paths]
    return "\n".join([*lines, ""])


def listed_shape(name: str) -> Shape:
    """Read a file in `keys`."""
    lines = (KEYS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return {path: set(types.split(" or ")) for path, types in (line.rsplit(": ", 1) for line in lines)}


def value_at(result: Any, path: str) -> Any:
    """Return the value at a path of an object, such as `rows.0.solved`."""
    for name in path.split("."):
        result = result[int(name)] if isinstance(result, list) else result[name]
    return result
