"""Run the code blocks of a documentation page in their order, and compare their output with what the page shows.

The language and the first line of a block determine what happens to it:

- A block that begins with a comment with a file name, such as ``# plan.py``, is written to that file.
- Any other ``python`` block is run as a script. A ``text`` block after it shows its output.
- A ``console`` block has commands after ``$``, each followed by its output. ``...`` stands for omitted lines.
- A ``sh`` block cannot be run in tests, for instance because it installs something. Only the first words of its
  commands are checked (see ``KNOWN``).
- Any other ``text`` block is ignored.

Commands run in a folder that contains only the repository's ``examples``. The function ``answer`` replies for models
whose names begin with ``openai:``.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.command import FORK_SERVER
from tests.openai_server import Messages

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "examples" / "README.md"]
BLOCK = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"(?:#|//) (?P<name>[\w./-]+\.\w+)\n")
KNOWN = re.compile(r"(make|pip|python|git clone|cd|export|planbook|(tools|examples)/\S+) ?")
FETCH = """\
for thing in {}:
    for number in range(1, 9):
        if f" {{thing}}" in agent.open(f"box_{{number}}"):
            agent.take(thing, f"box_{{number}}")
            agent.put(thing)
            break
"""
EXIT_CODES = (0, 1, 2)
"""Exit codes that a command whose output is shown may have. A page may show a check that finds faults."""


@dataclass(frozen=True)
class Block:
    """One block of code, without its indentation."""

    language: str
    code: str

    @property
    def file(self) -> str:
        """The name of the file that the block is written to, or "" if it is not a file."""
        named = NAMED.match(self.code)
        return named["name"] if named and self.language not in ("console", "sh", "text") else ""


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in their order."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Block(language, re.sub(f"^{indent}", "", code, flags=re.MULTILINE)) for indent, language, code in found]


def commands(console: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a console block with the lines shown after it."""
    for part in re.split(r"^\$ ", console.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown.splitlines()


def command_env(url: str) -> dict[str, str]:
    """Return the environment variables for commands. ``url`` is the URL of the model server."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": str(ROOT), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}


def script(folder: Path, url: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python with these arguments."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=command_env(url), capture_output=True, text=True, timeout=240)


def printed_by(done: "subprocess.CompletedProcess[str]", codes: tuple[int, ...]) -> list[str]:
    """Return the lines that a command printed; fail unless its exit code is one of ``codes``."""
    message = f"{shlex.join(done.args)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, message
    assert done.returncode in codes, message
    return [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]


def compare(shown: list[str], printed: list[str]) -> None:
    """Check that all shown lines were printed, in this order."""
    rest = iter(printed)
    for line in shown:
        if line.strip() not in ("...", ""):
            assert line.rstrip() in rest, "\n".join([f"not printed as shown: {line}", *printed])


def play(page: Path, folder: Path, url: str, skip: str = "") -> None:
    """Run the blocks of a page in an empty folder, except those that contain ``skip``.

    ``url`` is the URL of the model server.
    """
    (folder / "examples").symlink_to(ROOT / "examples")
    printed: list[str] | None = None
    shown_blocks = [block for block in blocks(page) if not (skip and skip in block.code)]
    for number, block in enumerate(shown_blocks):
        before, printed = printed, None
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.code)
        elif block.language == "python":
            name = f"block_{number}.py"
            (folder / name).write_text(block.code)
            printed = printed_by(script(folder, url, name), (0,))
        elif block.language == "console":
            for command, shown in commands(block.code):
                first, *words = shlex.split(command, comments=True)
                if first == "planbook":
                    done = FORK_SERVER.run(*words, cwd=folder, env=command_env(url))
                else:
                    done = script(folder, url, *words)
                compare(shown, printed_by(done, EXIT_CODES if shown else (0,)))
        elif block.language == "text" and before is not None:
            compare(block.code.splitlines(), before)
        elif block.language == "sh":
            assert all(KNOWN.match(line) for line in block.code.splitlines() if line and line[0] not in "# "), block
        else:
            assert block.language in ("text", "yaml", "toml", "json", "ini"), block


def answer(messages: Messages) -> str:
    """Reply as a model that can only do the tasks on the pages."""
    prompt = str(messages)
    if "agent.press" in prompt:
        return "```python\nfor lamp in (1, 2, 3):\n    agent.press(lamp)\n```"
    if "stock(kind" in prompt:
        return "```python\nanswer(', '.join(stock('fruit')))\n```"
    if goals := re.findall(r"[Pp]ut the (\w+)(?: and the (\w+))? on the table", prompt):
        return f"```python\n{FETCH.format([thing for thing in goals[-1] if thing])}```"
    return "```python\nprint(task.goal)\n```"
