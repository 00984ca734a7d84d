"""A slow toy environment that can kill its host process, for tests of runs that survive this."""

import os
import signal
import time
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from planbook.envs import Observation, Task, action
from planbook.envs.toy import Toy


class Mortality(BaseModel):
    """Each episode appends its process id to a file in ``folder`` when it begins.

    ``deadly`` is the task whose episode kills its process. It does so the first ``deaths`` times, right before its
    third action. ``pause`` is the duration of an action in seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str
    pause: float = 0.0
    deadly: str = ""
    deaths: int = 0


class MortalToy(Toy):
    """The toy environment with these options."""

    Options = Mortality

    def begin(self, task: Task) -> Observation:
        assert isinstance(self.options, Mortality)
        begun = Path(self.options.folder, task.id.replace("/", "-"))
        with begun.open("a") as file:
            print(os.getpid(), file=file)
        lives = len(begun.read_text().split())
        self._left = 2
        self._dies = task.id == self.options.deadly and lives <= self.options.deaths
        return super().begin(task)

    @action("agent.open('box_2') -> 'You open box_2. In it, you see key.'")
    def open(self, box: str) -> Observation:
        """Open a box and see what is in it. An open box may be opened again."""
        assert isinstance(self.options, Mortality)
        time.sleep(self.options.pause)
        self._left -= 1
        if self._dies and self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().open(box)
