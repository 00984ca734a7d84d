"""Libraries of procedures: the one that ships, and folders of the user's own.

A library is a folder with one folder a world; in it ``procedures/`` holds a file for each task type, and ``helpers/``
the plan code that several of them use.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel

from planbook.envs import Environment, Task
from planbook.planner import Procedure, Recall, checked_procedure, read_procedure

SHIPPED = Path(__file__).parent


class ProcedureLibrary:
    """The procedures for one world. A file is read and checked when a task of its type first comes up."""

    def __init__(self, world: type[Environment], folder: Path = SHIPPED, options: BaseModel | None = None) -> None:
        self.world, self.folder, self.options = world, folder / world.name / "procedures", options
        self._recalls: dict[str, Recall] = {}

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """The procedure file of each task type that has one."""
        return {_type_of(path): path for path in sorted(self.folder.glob("*.py"))}

    def procedure(self, task_type: str) -> Procedure | None:
        """The procedure for a task type, or None. Raises BadProcedure if its file does not pass the check."""
        return self.checked(task_type) if task_type in self.files else None

    def checked(self, task_type: str) -> Procedure:
        """Read the procedure of a task type that has one. Raises BadProcedure if its file does not pass the check."""
        return checked_procedure(read_procedure(self.files[task_type]), self.world, self.options)

    def recall(self, task: Task) -> Recall:
        """The procedure for the task's type, if there is one."""
        if task.type not in self._recalls:
            self._recalls[task.type] = Recall(procedure=self.procedure(task.type))
        return self._recalls[task.type]


def _type_of(path: Path) -> str:
    return read_procedure(path).type
