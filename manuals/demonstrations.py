"""Read the demonstrations of a library: examples that a planning method shows to its models.

A demonstration with the name NAME is the file ``ENVIRONMENT/demonstrations/NAME/TYPE.md`` for tasks of one type, or
``ENVIRONMENT/demonstrations/NAME.md`` for all other tasks. Comments (``<!-- ... -->``), which name the task that the
example solves, are not shown.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from planbook.envs import Task
from planbook.manuals.errors import BadKnowledge
from planbook.manuals.procedures import SHIPPED
from planbook.planner import Memory, Recall

DEMONSTRATIONS_FOLDER = "demonstrations"
"""Name of the folder of demonstrations, in the folder of an environment."""
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def existing_demonstrations(environment: str, names: Sequence[str], library: Path = SHIPPED) -> tuple[str, ...]:
    """Return those of the ``names`` for which an environment has a demonstration, at least for one task type."""
    folders = [folder / environment / DEMONSTRATIONS_FOLDER for folder in (library, SHIPPED)]
    return tuple(
        name
        for name in names
        if any((folder / f"{name}.md").is_file() or any((folder / name).glob("*.md")) for folder in folders)
    )


class DemonstratingMemory:
    """A memory that adds demonstrations to what another memory recalls.

    A demonstration in ``library`` replaces the shipped one with the same name.
    """

    def __init__(self, memory: Memory, names: Sequence[str], library: Path = SHIPPED) -> None:
        self._memory, self._names, self._libraries = memory, tuple(names), (library, SHIPPED)

    def recall(self, task: Task) -> Recall:
        """Return what the other memory recalls, with demonstrations, but without a procedure.

        Raises BadKnowledge if the file of a demonstration cannot be read.
        """
        texts = {name: self._find(task, name) for name in self._names}
        demonstrations = {name: text for name, text in texts.items() if text}
        return self._memory.recall(task).model_copy(update={"demonstrations": demonstrations, "procedure": None})

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
