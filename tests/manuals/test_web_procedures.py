"""The shipped procedures solve every task on Trac, through the page as an agent sees it."""

from pathlib import Path

import pytest

from planbook.envs import Selection
from planbook.envs.web.tasks import load_tasks, types
from planbook.manuals.library import SHIPPED
from tests.browser import need_browser
from tests.manuals.test_procedures import unsolved
from tests.trac import need_trac

FIRST = tuple(f"{kind}/1" for kind in types())
"""One task of each type."""
OTHERS = tuple(task.id for task in load_tasks() if task.id not in FIRST)


def test_no_procedure_knows_an_answer() -> None:
    """An answer that stood in a procedure would make its success worth nothing."""
    told = "".join(path.read_text(encoding="utf-8") for path in (SHIPPED / "web").rglob("*.py"))
    answers = [check.values for task in load_tasks() for check in task.checks if check.kind == "answer"]
    words = {value for values in answers for value in values if not value.isdecimal() or len(value) > 2}
    assert [word for word in sorted(words) if word in told] == []


@pytest.mark.browser
@pytest.mark.deep
@pytest.mark.parametrize("ids", [FIRST, OTHERS], ids=["first", "others"])
def test_the_tasks_are_solved(ids: tuple[str, ...], tmp_path: Path) -> None:
    need_browser()
    need_trac()
    assert unsolved("web", Selection(ids=ids), tmp_path) == []
