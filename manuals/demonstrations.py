"""Demonstrations: what a planning method shows its models of an environment, as files of a library.

``ENVIRONMENT/demonstrations/NAME.md`` is shown for every task, ``ENVIRONMENT/demonstrations/NAME/TYPE.md`` for tasks of
one type. Comments (``<!-- ... -->``) are not shown: they name the task that an example plays.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from planbook.envs import Task
from planbook.manuals.errors import BadKnowledge
from planbook.manuals.library import SHIPPED
from planbook.planner import Memory, Recall

DEMONSTRATIONS_FOLDER = "demonstrations"
"""The name of the folder of demonstrations in the folder of an environment."""
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def demonstrated(world: str, names: Sequence[str], library: Path = SHIPPED) -> tuple[str, ...]:
    """Return the names of demonstrations that exist for an environment, if only for some task types."""
    folders = [folder / world / DEMONSTRATIONS_FOLDER for folder in (library, SHIPPED)]
    return tuple(
        name
        for name in names
        if any((folder / f"{name}.md").is_file() or any((folder / name).glob("*.md")) for folder in folders)
    )


class Demonstrating:
    """A memory that also recalls demonstrations, a library's own before the shipped ones."""

    def __init__(self, memory: Memory, names: Sequence[str], library: Path = SHIPPED) -> None:
        self._memory, self._names, self._libraries = memory, tuple(names), (library, SHIPPED)

    def recall(self, task: Task) -> Recall:
        """Return the recall with demonstrations. Raises BadKnowledge for a file that is not text."""
        recalled = self._memory.recall(task)
        return recalled.model_copy(update={"demonstrations": self._shown(task), "procedure": None})

    def _shown(self, task: Task) -> Mapping[str, str]:
        found = {name: self._find(task, name) for name in self._names}
        return {name: text for name, text in found.items() if text}

    def _find(self, task: Task, name: str) -> str:
        for library in self._libraries:
            folder = library / task.env / DEMONSTRATIONS_FOLDER
            for path in (folder / name / f"{task.type}.md", folder / f"{name}.md"):
                if path.is_file():
                    return _read(path)
        return ""


@cache
def _read(path: Path) -> str:
    try:
        return _COMMENT.sub("", path.read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadKnowledge(f"the demonstration {path} cannot be read: {error}") from error
