"""Whole episodes of Devil's Advocate on a real site: a wrong way deeper and deeper, and all the way back."""

import re
from typing import Any

import pytest

from planbook.envs import Selection, load_environment
from planbook.planner import Ending, Episode, MemoryJournal, Outcome
from planbook.sandbox import Sandbox
from tests.browser import need_browser
from tests.planner.counsellors import NO, YES, Counsellors, aligned, played, recorded
from tests.planner.players import code

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
    """The last that a prompt holds of a pattern with a group."""
    every: list[str] = re.findall(pattern, prompt)
    return every[-1]


class Lost(Counsellors):
    """Opens the wrong page first, and goes wrong again there; then reads a table cell by cell, with a loop."""

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
        """The number of the list's link on the front page as it was first."""
        return found(LINK_OF.format("Harbours that use Tidemark"), self.prompts("act")[0])


LINK_OF = r"\[(\d+)\] link '{}'"


def lost(sandbox: Sandbox, says: Counsellors) -> tuple[Ending, Episode, list[dict[str, Any]]]:
    """The episode, and what was recorded of its branches."""
    need_browser()
    web = load_environment("web")
    (task,) = web.select(Selection(ids=("table_cell/1",)))
    environment, journal, options = web(), MemoryJournal(), {"remedies": 1, "summarise_above": None}
    try:
        ending, playing = played(sandbox, says, environment=environment, task=task, journal=journal, options=options)
    finally:
        environment.close()
    found = recorded(journal, "branch")
    assert [each["fate"] for each in found] == ["abandoned", "kept", "turned back", "kept"], ending.message
    assert [each["parent"] for each in found] == [None, None, 0, 1]
    assert "- Opened the page on installing. (taken back since)\n" in says.prompts("task_done")[-1]
    assert "# Notes taken\n\n- Vellsand has 148 berths\n" in says.prompts("answer")[0]
    assert [str(step.action) for step in playing.steps][-2:] == ["note_down('Vellsand has 148 berths')", "stop('148')"]
    return ending, playing, found


def test_a_wrong_way_is_left_and_the_task_solved_from_where_it_began(sandbox: Sandbox) -> None:
    says = Lost(LOOK)
    ending, playing, found = lost(sandbox, says)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [step.action.name for step in playing.steps if step.undone] == ["click", "goto"]
    assert "map" not in says.questions, "the page is as it was"
    assert not any(each["lasting"] for each in found)


def test_what_was_stored_stays_and_elements_are_found_again(sandbox: Sandbox) -> None:
    says = Lost(EDIT)
    ending, playing, found = lost(sandbox, says)
    assert [step.action.name for step in playing.steps if step.undone] == ["click", "goto", "type", "click"]
    assert [step.observation.lasting for step in playing.steps] == [False, False, False, True, False, False, False]
    assert [each["lasting"] for each in found] == [False, False, True, False]
    told = "- Went on from there. (taken back since, but for what it stored for good)\n"
    assert told in says.prompts("task_done")[-1]
    assert found[1]["code"] == f"agent.click({says.link})"
    assert found[1]["mapped"].startswith("agent.click(")
    assert found[1]["mapped"] != found[1]["code"], "the link has another name and number now"
    assert ending.outcome is Outcome.FAILURE, "a site that was changed without being asked to is no success"
