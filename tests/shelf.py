"""An environment in a file of its own, which tests change between commands."""

from pathlib import Path

ENVIRONMENT = '''
from planbook.envs import Environment, Observation, Selection, Task, Verdict, action

class Shelf(Environment):
    name = "shelf"
    types = ("look",)
    splits = ("all",)

    @classmethod
    def tasks(cls, selection, options=None):
        return [Task(id=f"look/{n}", env="shelf", split="all", type="look", goal="look") for n in range(2)]

    def begin(self, task):
        self.looks = 0
        return Observation("A shelf.")

    @action()
    def look(self) -> Observation:
        """Look at the shelf."""
        self.looks += 1
        return Observation("On shelf_1 you see THINGS.", terminated=self.looks == LOOKS)

    def verdict(self):
        return Verdict(self.looks == LOOKS, 0.0)
'''


def write_shelf(folder: Path, things: str = "mug_1 and mug_2", looks: int = 1) -> None:
    """Write ``shelf.py``, an environment with these things on the shelf. An episode ends after ``looks`` looks."""
    environment = ENVIRONMENT.replace("THINGS", things).replace("LOOKS", str(looks))
    (folder / "shelf.py").write_text(environment)
