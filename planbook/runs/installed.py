"""The versions of Python, packages and planbook's own code, and changes in a run's versions and inputs."""

import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planbook import PACKAGES, __version__
from planbook.envs import folder_digest, package_version, texts_digest
from planbook.options import differing_parts
from planbook.runs.folder import RunInputs

RECORDED_PACKAGES = ("RestrictedPython", "openai", "pydantic", "tree-sitter")
"""Packages whose versions each run records. Environments report those of their own packages (``versions()``)."""
CODE = "planbook code"
"""Key of planbook's code among the versions. In a checkout, the code may change while planbook's version does not."""
PACKAGE = Path(__file__).resolve().parents[1]
CHECKOUT = PACKAGE.parent
"""The folder of the checkout, if planbook runs from one."""
CODE_FILES = ("*.py", "*.j2", "*.yaml", "*.js")
DIGITS = 12
"""Number of recorded digits of a commit or digest."""
GIT_SECONDS = 5.0
"""Time limit for a git command. If a command takes longer, a digest of the files identifies the code."""


@cache
def versions() -> Mapping[str, str]:
    """Return a dict that maps the names of software to the installed versions.

    The versions are read only once, because this takes half a second if many packages are installed.
    """
    packages = {name: package_version(name) for name in RECORDED_PACKAGES}
    system = {"python": platform.python_version(), "platform": platform.platform()}
    return {**system, **packages, "planbook": __version__, CODE: code_version()}


def code_version() -> str:
    """Return the commit of planbook's code, with a digest of the files if they have changed.

    If the code is not in a checkout, return only a digest.
    """
    commit = _git("rev-parse", "HEAD") if _git("rev-parse", "--show-toplevel") == str(CHECKOUT) else None
    if commit and _git("status", "--porcelain", "--untracked-files=no") == "":
        return f"commit {commit[:DIGITS]}"
    folders = (PACKAGE, *(PACKAGE / name for name in PACKAGES))  # in a checkout, these are links, which are followed
    digest = texts_digest(folder_digest(folder, CODE_FILES) for folder in folders)[:DIGITS]
    return f"commit {commit[:DIGITS]}, changed ({digest})" if commit else f"files {digest}"


def _git(*arguments: str) -> str | None:
    """Return the output of a git command in CHECKOUT, or None if it fails or git is not installed."""
    command = ["git", "-C", str(CHECKOUT), *arguments]
    try:
        process = subprocess.run(command, check=False, capture_output=True, text=True, timeout=GIT_SECONDS)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return process.stdout.strip() if process.returncode == 0 else None


VERSIONS = "versions"
INPUTS = {
    "data": "data {}",
    "prompts": "prompt {}",
    "knowledge": "knowledge {}",
    "models": "model {}",
    "prices": "the {}",
}
"""Maps each field of ``RunInputs``, except seeds, to a phrase for an input in it. The input's name replaces {}.

For example, a changed prompt called ``act`` is "prompt act". The only input in ``prices`` is called "price table"."""
DECISIVE = ("data", "prompts", "knowledge")
"""Fields of ``RunInputs``. If an input in one of them changes, new episodes cannot be compared with earlier ones."""


class InputChange(NamedTuple):
    """A version or input that has changed: its recorded and its current version or digest.

    ``then`` is None for a new input, and ``now`` for one that is gone. ``part`` is VERSIONS or a key of INPUTS.
    """

    part: str
    name: str
    then: str | None
    now: str | None

    def __str__(self) -> str:
        if self.part == VERSIONS:
            return f"{self.name} {self.then}, now {self.now}"
        change = "gone" if self.now is None else "new" if self.then is None else "changed"
        return f"{self.input}: {change}"

    @property
    def input(self) -> str:
        """A phrase for the input, such as "prompt act"."""
        return self.name if self.name.startswith("the ") else INPUTS[self.part].format(self.name)


def changed_versions(then: Mapping[str, str], now: Mapping[str, str]) -> list[InputChange]:
    """Return the changed versions of software that is in both dicts. (Older releases recorded other software.)"""
    return [InputChange(VERSIONS, *change) for change in differing_parts(then, now) if None not in change]


def changed_inputs(then: RunInputs | None, now: RunInputs) -> list[InputChange]:
    """Return the changed inputs. If an older planbook did not record the inputs (``then`` is None), return []."""
    return [
        InputChange(part, *change)
        for part in (INPUTS if then else ())
        for change in differing_parts(getattr(then, part), getattr(now, part))
    ]
