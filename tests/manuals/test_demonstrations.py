"""Demonstrations are read from the files of a library."""

from pathlib import Path

import pytest

from planbook.envs import Selection, Task
from planbook.envs.toy import Toy
from planbook.manuals import DemonstratingMemory
from planbook.manuals.errors import BadKnowledge
from planbook.manuals.procedures import SHIPPED
from planbook.planner import METHODS, NoMemory, Recall

TASK = Toy.tasks(Selection(ids=("fetch/0",)))[0].model_copy(update={"env": "nowhere"})
"""A task of an environment for which no demonstrations are shipped."""
OTHER = TASK.model_copy(update={"type": "fetch_two"})


def write(library: Path, name: str, text: str | bytes, env: str = "nowhere") -> None:
    file = library / env / "demonstrations" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def shown(library: Path, *names: str, task: Task = TASK) -> dict[str, str]:
    return dict(DemonstratingMemory(NoMemory(), names, library).recall(task).demonstrations)


def test_a_file_for_the_task_type_takes_precedence_over_the_general_one(tmp_path: Path) -> None:
    write(tmp_path, "task", "For all.\n")
    write(tmp_path, "task/fetch", "\nFor fetch.\n\n")
    write(tmp_path, "atomic", "Skills.")
    assert shown(tmp_path, "task", "atomic") == {"task": "For fetch.", "atomic": "Skills."}
    assert shown(tmp_path, "task", "atomic", task=OTHER) == {"task": "For all.", "atomic": "Skills."}


def test_only_requested_files_that_exist_are_shown(tmp_path: Path) -> None:
    write(tmp_path, "atomic", "Skills.")
    write(tmp_path, "common", " \n ")
    write(tmp_path, "task/fetch_two", "For two.")
    assert shown(tmp_path, "common", "task", "planning") == {}
    assert shown(tmp_path, "atomic", "planning") == {"atomic": "Skills."}
    assert shown(tmp_path) == {}
    assert shown(tmp_path / "no folder", "atomic") == {}
    assert shown(tmp_path, "atomic", task=TASK.model_copy(update={"env": "elsewhere"})) == {}


def test_a_users_own_library_takes_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped, own = tmp_path / "shipped", tmp_path / "own"
    write(shipped, "task/fetch", "Shipped, for fetch.")
    write(shipped, "atomic", "Shipped skills.")
    write(own, "task", "Our own, for all.")
    monkeypatch.setattr("planbook.manuals.procedures.SHIPPED", shipped)
    assert shown(own, "task", "atomic") == {"task": "Our own, for all.", "atomic": "Shipped skills."}
    assert shown(own, "task", "atomic", task=OTHER) == {"task": "Our own, for all.", "atomic": "Shipped skills."}
    write(own, "atomic", "")
    assert shown(own, "atomic") == {}, "an empty file in the user's library hides the shipped one"


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "atomic", b"Skills: \xe4")
    with pytest.raises(BadKnowledge, match=r"the demonstration .*atomic\.md cannot be read: 'utf-8' codec"):
        shown(tmp_path, "atomic")
    write(tmp_path, "atomic", "Mended.")
    assert shown(tmp_path, "atomic") == {"atomic": "Mended."}


class RicherMemory:
    """A memory that recalls more than demonstrations, namely text, helpers and rules."""

    def recall(self, task: Task) -> Recall:
        return Recall(text=f"about {task.type}", helpers="x = 1", rule_ids=("rule_1",), demonstrations={"old": "Old."})


def test_other_parts_of_a_recall_are_kept(tmp_path: Path) -> None:
    write(tmp_path, "atomic", "Skills.")
    recalled = DemonstratingMemory(RicherMemory(), ("atomic",), tmp_path).recall(TASK)
    assert (recalled.text, recalled.helpers, recalled.rule_ids) == ("about fetch", "x = 1", ("rule_1",))
    assert recalled.demonstrations == {"atomic": "Skills."}
    assert Recall.model_validate(recalled.model_dump(mode="json")) == recalled


def test_every_shipped_demonstration_is_used_by_a_method() -> None:
    names = {name for method in METHODS.values() for name in method.demonstrations}
    assert {"atomic", "common", "task", "planning", "planning_detailed"} <= names
    for file in SHIPPED.glob("*/demonstrations/**/*.md"):
        folder, *rest = file.relative_to(SHIPPED).parts[1:]
        assert folder == "demonstrations"
        assert rest[0].removesuffix(".md") in names, file
        assert file.read_text(encoding="utf-8").strip()
