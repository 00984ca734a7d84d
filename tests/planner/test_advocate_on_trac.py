"""Whole episodes of Devil's Advocate on a real site. The agent takes two wrong steps and returns to the beginning."""

import re
from typing import Any

import pytest

from planbook.envs import Selection, load_environment
from planbook.planner import Ending, Episode, Outcome
from planbook.sandbox import Sandbox
from tests.browser import need_browser
from tests.planner.advocate_kit import NO, YES, AdvocateModels, aligned, played, recorded
from tests.planner.episode_kit import code

pytestmark = [pytest.mark.browser, pytest.mark.deep]
LOOK = """
agent.goto('/wiki/Glossary')
"""
EDIT = """
agent.goto('/wiki/WikiStart?action=edit')
area = [box for box in agent.find(role='textbox') if box['value'].startswith('= Welcome')][0]
agent.type(area['id'], '= Tidemark =\\n * [wiki:HarbourList Harbours]', enter=False)
agent.click(agent.find(role='button', name='Submit changes')[0]['id'])
"""


def found(pattern: str, prompt: str) -> str:
    """Return the first group of the last match of a pattern in a prompt."""
    every: list[str] = re.findall(pattern, prompt)
    return every[-1]


class LostModels(AdvocateModels):
    """Models that open a wrong page and go wrong again there; then they read a table with a loop."""

    def __init__(self, wrong: str) -> None:
        self._wrong = wrong
        super().__init__(
            plan="1. Open the list of harbours\n2. Read the berths of Vellsand",
            align=[
                aligned("Opened the page on installing."),
                aligned("Went on from there.", verdict="NO"),
                aligned("Opened the list of harbours."),
                aligned("Noted the berths of Vellsand."),
            ],
            subtask_done=[NO, NO, YES],
            task_done=[NO, NO, NO, YES],
        )

    def say(self, name: str, prompt: str) -> str:
        count = len(self.prompts(name))
        if name == "act" and count == 1:
            return code(f"agent.click({found(LINK_OF.format('Installing Tidemark'), prompt)})")
        if name == "remedy" and count == 1:
            return code(f"agent.click({self.link})")
        if name == "act" and count == 2:
            return code(self._wrong)
        if name == "act":
            return code(
                "cells = [cell['name'] for cell in agent.find(role='cell')]",
                "for number, name in enumerate(cells):",
                "    if name == 'Vellsand':",
                "        agent.note_down(name + ' has ' + cells[number + 1] + ' berths')",
            )
        if name == "map":
            return code(f"agent.click({found(LINK_OF.format('Harbours'), prompt)})")
        if name == "answer":
            return f"Answer: {found(r'Vellsand has ([0-9]+) berths', prompt)}"
        return super().say(name, prompt)

    @property
    def link(self) -> str:
        """The original number of the link to the list of harbours on the front page."""
        return found(LINK_OF.format("Harbours that use Tidemark"), self.prompts("act")[0])


LINK_OF = r"\[(\d+)\] link '{}'"


def play_lost(sandbox: Sandbox, models: AdvocateModels) -> tuple[Ending, Episode, list[dict[str, Any]]]:
    """Play the episode. Return its ending, the episode and the recorded branches."""
    need_browser()
    web = load_environment("web")
    (task,) = web.select(Selection(ids=("table_cell/1",)))
    environment, options = web(), {"remedies": 1, "summarise_above": None}
    try:
        ending, playing = played(sandbox, models, environment=environment, task=task, options=options)
    finally:
        environment.close()
    found = recorded(playing, "branch")
    assert [each["fate"] for each in found] == ["abandoned", "kept", "turned back", "kept"], ending.message
    assert [each["parent"] for each in found] == [None, None, 0, 1]
    assert "- Opened the page on installing. (undone later)\n" in models.prompts("task_done")[-1]
    assert "# The agent's notes\n\n- Vellsand has 148 berths\n" in models.prompts("answer")[0]
    assert [str(step.action) for step in playing.steps][-2:] == ["note_down('Vellsand has 148 berths')", "stop('148')"]
    return ending, playing, found


def test_a_task_is_solved_after_two_wrong_steps_are_undone(sandbox: Sandbox) -> None:
    models = LostModels(LOOK)
    ending, playing, found = play_lost(sandbox, models)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [step.action.name for step in playing.steps if step.undone] == ["click", "goto"]
    assert "map" not in models.questions, "the page has not changed"
    assert not any(each["lasting"] for each in found)


def test_stored_changes_stay_and_code_is_adapted_to_them(sandbox: Sandbox) -> None:
    models = LostModels(EDIT)
    ending, playing, found = play_lost(sandbox, models)
    assert [step.action.name for step in playing.steps if step.undone] == ["click", "goto", "type", "click"]
    assert [step.observation.lasting for step in playing.steps] == [False, False, False, True, False, False, False]
    assert [each["lasting"] for each in found] == [False, False, True, False]
    undone = "- Went on from there. (undone later, except for what it stored permanently)\n"
    assert undone in models.prompts("task_done")[-1]
    assert found[1]["code"] == f"agent.click({models.link})"
    assert found[1]["mapped"].startswith("agent.click(")
    assert found[1]["mapped"] != found[1]["code"], "the link has another name and number now"
    assert ending.outcome is Outcome.FAILURE, "an unwanted change of the site is not a success"
