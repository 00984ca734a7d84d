"""MiniWoB++'s tasks, and what prompts may say of them."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from planbook.envs import Selection
from planbook.envs.browser import chromium, devtools
from planbook.envs.errors import BadSelection, MissingRequirement
from planbook.envs.miniwob import Miniwob, task_types
from planbook.envs.miniwob.environment import MiniwobOptions
from planbook.envs.toy import Toy
from tests.browser import need_browser


def ids(selection: Selection) -> list[str]:
    return [task.id for task in Miniwob.tasks(selection)]


def test_the_53_types_have_a_page_each() -> None:
    pages = [task_types.PACKAGE.folder() / "html" / "miniwob" / f"{name}.html" for name in Miniwob.types]
    assert len(set(pages)) == 53
    assert all(page.is_file() for page in pages)


def test_the_splits_part_the_types() -> None:
    assert len(task_types.FEEDBACK) == 9
    assert len(task_types.NO_FEEDBACK) == 44
    assert Miniwob.splits == ("all", "feedback", "no-feedback")
    assert sorted(Miniwob.types) == sorted(task_types.FEEDBACK + task_types.NO_FEEDBACK)


def test_a_selection_takes_each_type_in_turn() -> None:
    assert len(ids(Selection())) == 53 * 5
    assert len({name.split("/")[0] for name in ids(Selection(limit=53))}) == 53
    assert ids(Selection(types=("click-test", "click-link"), seeds=(7, 8))) == [
        "click-link/7",
        "click-test/7",
        "click-link/8",
        "click-test/8",
    ]
    assert len(ids(Selection(split="feedback", seeds=(1,)))) == 9


def test_ids_override_all_else_and_carry_the_seed() -> None:
    (task,) = Miniwob.tasks(Selection(ids=("click-button/17",), split="feedback", seeds=(3,)))
    assert (task.type, task.seed, task.split, task.goal) == ("click-button", 17, "no-feedback", "")


@pytest.mark.parametrize(
    "selection",
    [
        Selection(split="hard"),
        Selection(types=("click-nothing",)),
        Selection(split="feedback", types=("click-test",)),
        Selection(ids=("click-button",)),
        Selection(ids=("click-button/x",)),
        Selection(ids=("click-nothing/1",)),
    ],
)
def test_what_does_not_exist_is_refused(selection: Selection) -> None:
    with pytest.raises(BadSelection):
        Miniwob.tasks(selection)


def test_the_papers_actions_are_five_and_come_without_queries() -> None:
    assert set(Miniwob(MiniwobOptions(paper_actions=True)).offer.actions) == set(Miniwob.paper_actions)
    assert not Miniwob(MiniwobOptions(paper_actions=True)).offer.queries
    assert set(Miniwob().offer.actions) > set(Miniwob.paper_actions)
    assert set(Miniwob.queries) == {"find"}


@pytest.mark.parametrize(
    ("type_name", "goal", "expected"),
    [
        ("click-button", 'Click on the "Ok" button.', {"target": "Ok"}),
        ("click-checkboxes", "Select a, b and click Submit.", {"targets": ["a", "b"], "button": "submit"}),
        ("social-media-some", 'Click the "Like" button on 1 post by @a and then click Submit.', None),
        ("click-button", "Something else.", {}),
    ],
)
def test_the_goal_is_read(type_name: str, goal: str, expected: dict[str, object] | None) -> None:
    params = task_types.params(type_name, goal, None)
    assert params == (
        expected if expected is not None else {"button": "Like", "amount": "1", "user": "@a", "submit": "Submit"}
    )


def test_fields_of_the_page_come_before_the_goal() -> None:
    assert task_types.params("email-inbox-nl-turk", "Reply.", {"task": "reply", "by": "Al"}) == {
        "task": "reply",
        "by": "Al",
    }


@pytest.mark.parametrize("name", ["arrow_down", "ArrowDown", "down", "Arrow-Down", "ARROW_DOWN"])
def test_a_key_may_be_spelled_as_people_do(name: str) -> None:
    assert devtools.find_key(name) is devtools.KEYS["arrow_down"]


def test_every_printable_character_has_its_key() -> None:
    printable = {chr(number) for number in range(32, 127)}
    assert printable <= set(devtools.CHARACTER_KEYS)
    assert all(devtools.CHARACTER_KEYS[character].text == character for character in printable)
    assert devtools.CHARACTER_KEYS["["].number == 219  # 91, its ordinal, would be the Windows key
    assert devtools.find_key("hyper") is None


def test_without_a_browser_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variables in chromium.VARIABLES.values():
        monkeypatch.setenv(variables[0], str(tmp_path / "nothing"))
    found = {item.name: item.found for item in Miniwob.requirements()}
    assert {name for name, where in found.items() if where is None} == {"chromium", "chromedriver"}
    assert {"miniwob", "selenium", "websocket-client"} < found.keys()
    with pytest.raises(MissingRequirement, match="chromium-driver"):
        chromium.require()


@pytest.mark.parametrize(("ci", "outcome"), [("1", pytest.fail), ("true", pytest.fail), ("", pytest.skip)])
def test_browser_tests_skip_without_a_browser_but_fail_in_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: Callable[[str], NoReturn]
) -> None:
    with pytest.raises(BaseException) as expected:
        outcome("")
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("MINIWOB_CHROMEDRIVER", str(tmp_path / "nothing"))
    with pytest.raises(expected.type, match="no chromedriver: install"):
        need_browser()


def test_a_browser_is_found_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, variables in chromium.VARIABLES.items():
        for variable in variables:
            monkeypatch.delenv(variable, raising=False)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chromium.require() == (str(tmp_path / "chromium"), str(tmp_path / "chromedriver"))


def test_an_environment_tells_its_params() -> None:
    task = Toy.select(Selection(ids=("fetch/0",)))[0]
    assert Toy.told_params(task) == task.params != {}


@pytest.mark.parametrize("kind", Miniwob.types)
def test_the_fields_that_a_page_publishes_for_a_goal_in_free_wording_are_not_told(kind: str) -> None:
    task = Miniwob.select(Selection(ids=(f"{kind}/1",)))[0].model_copy(update={"params": {"to": "Ada"}})
    free = kind.startswith("email-inbox-") and kind.endswith(("-nl", "-nl-turk"))
    assert Miniwob.told_params(task) == ({} if free else {"to": "Ada"})
