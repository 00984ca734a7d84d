"""A procedure is rewritten if later rules or failures show that it can be better."""

from pathlib import Path
from typing import Any

from tests.flows import asks, events, invoke, prompt, scripted


def build_procedure(folder: Path, model: str, *options: object, tasks: int = 3) -> str:
    """Build on tasks of one type; return the code of the type's procedure."""
    command = ("--types", "fetch", "--tasks-per-type", tasks, "--model", scripted(model), "--out", folder)
    finished = invoke("build", "--env", "toy", *command, *options)
    assert finished.returncode == 0, finished.printed
    state: Any = events(folder, "learned", f"learn/{tasks - 1}")[-1].body
    code: str = state["knowledge"]["procedures"]["fetch"]["code"]
    return code


def test_a_new_rule_renews_the_procedure(tmp_path: Path) -> None:
    code = build_procedure(tmp_path / "run", "of_boxes")
    *_, asked = asks(tmp_path / "run", template="generalise")
    assert "one box has each" in prompt(asked)
    assert "# The procedure for tasks of this type" in prompt(asked)
    assert "A thing is in one box alone." in code
    tried = [event.scope for event in events(tmp_path / "run", "outcome") if "/renewal/" in event.scope]
    assert len(tried) == 3 + 3, "the old one and the new one, on every task of the type"


def test_a_renewed_procedure_that_takes_more_actions_is_not_used(tmp_path: Path) -> None:
    assert "Slow" not in build_procedure(tmp_path / "run", "of_slow_boxes")


def test_a_failure_that_the_procedure_does_not_avoid_renews_it(tmp_path: Path) -> None:
    code = build_procedure(tmp_path / "run", "idle_later", "--seeds", "0,5", tasks=2)
    *_, asked = asks(tmp_path / "run", template="generalise.j2")
    assert "## A task on which it failed" in prompt(asked)
    assert "[:6]" not in code
