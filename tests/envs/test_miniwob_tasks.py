"""MiniWoB++ tasks, the parameters that prompts may show, keys, and requirements."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from planbook.envs import Selection, chromium, devtools
from planbook.envs.errors import MissingRequirement
from planbook.envs.miniwob import Miniwob
from planbook.envs.miniwob.environment import FEEDBACK_TYPES, NO_FEEDBACK_TYPES, PACKAGE, read_params
from planbook.envs.toy import Toy
from tests.browser import need_browser


def test_every_type_is_in_one_split_and_has_a_page() -> None:
    assert (len(FEEDBACK_TYPES), len(NO_FEEDBACK_TYPES)) == (9, 44)
    assert Miniwob.splits == ("all", "feedback", "no-feedback")
    assert sorted(Miniwob.types) == sorted(FEEDBACK_TYPES + NO_FEEDBACK_TYPES)
    pages = {PACKAGE.folder() / "html" / "miniwob" / f"{name}.html" for name in Miniwob.types}
    assert len(pages) == 53
    assert all(page.is_file() for page in pages)
    assert len(Miniwob.tasks(Selection())) == 53 * 5
    for split, types in (("feedback", FEEDBACK_TYPES), ("no-feedback", NO_FEEDBACK_TYPES)):
        tasks = Miniwob.tasks(Selection(split=split))
        assert {(task.type, task.split) for task in tasks} == {(name, split) for name in types}


@pytest.mark.parametrize(
    ("type_name", "goal", "fields", "params"),
    [
        ("click-button", 'Click on the "Ok" button.', None, {"target": "Ok"}),
        ("click-checkboxes", "Select a, b and click Submit.", None, {"targets": ["a", "b"], "button": "submit"}),
        (
            "social-media-some",
            'Click the "Like" button on 1 post by @a and then click Submit.',
            None,
            {"button": "Like", "amount": "1", "user": "@a", "submit": "Submit"},
        ),
        ("click-button", "Something else.", None, {}),
        ("email-inbox-nl-turk", "Reply.", {"task": "reply", "by": "Al"}, {"task": "reply", "by": "Al"}),
    ],
)
def test_params_are_read_from_the_fields_of_the_page_or_the_goal(
    type_name: str, goal: str, fields: dict[str, str] | None, params: dict[str, object]
) -> None:
    assert read_params(type_name, goal, fields) == params


def test_every_printable_character_has_a_key() -> None:
    printable = {chr(number) for number in range(32, 127)}
    assert printable <= set(devtools.CHARACTER_KEYS)
    pressed = {character: devtools.CHARACTER_KEYS[character][0][1] for character in printable}
    assert all(parameters["text"] == character for character, parameters in pressed.items())
    assert pressed["["]["windowsVirtualKeyCode"] == 219  # 91, its ordinal, would be the Windows key


def test_a_missing_browser_is_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in chromium.PATH_VARIABLES.values():
        monkeypatch.setenv(variable, str(tmp_path / "nothing"))
    found = {item.name: item.found for item in Miniwob.requirements()}
    assert {name for name, where in found.items() if where is None} == {"chromium", "chromedriver"}
    assert {"miniwob", "selenium", "websocket-client"} < found.keys()
    with pytest.raises(MissingRequirement, match=r"PLANBOOK_CHROMIUM names .*/nothing, which cannot be executed"):
        chromium.program_paths()
    for variable in chromium.PATH_VARIABLES.values():
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingRequirement, match=r"missing: chromium and chromedriver: install .* chromium-driver"):
        chromium.program_paths()


@pytest.mark.parametrize(("ci", "outcome"), [("1", pytest.fail), ("", pytest.skip)])
def test_browser_tests_skip_without_a_browser_but_fail_in_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: Callable[[str], NoReturn]
) -> None:
    with pytest.raises(BaseException) as expected:
        outcome("")
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PLANBOOK_CHROMEDRIVER", str(tmp_path / "nothing"))
    with pytest.raises(expected.type, match="no chromedriver: PLANBOOK_CHROMEDRIVER names"):
        need_browser()


def test_a_browser_is_found_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, variable in chromium.PATH_VARIABLES.items():
        monkeypatch.delenv(variable, raising=False)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chromium.program_paths() == (str(tmp_path / "chromium"), str(tmp_path / "chromedriver"))


def test_prompts_show_the_params_except_of_goals_in_free_wording() -> None:
    for task in Miniwob.select(Selection(seeds=(1,))):
        shown = Miniwob.public_params(task.model_copy(update={"params": {"to": "Ada"}}))
        is_free = task.type.startswith("email-inbox-") and task.type.endswith(("-nl", "-nl-turk"))
        assert shown == ({} if is_free else {"to": "Ada"}), task.type
    (fetch,) = Toy.select(Selection(ids=("fetch/0",)))
    assert Toy.public_params(fetch) == fetch.params != {}
