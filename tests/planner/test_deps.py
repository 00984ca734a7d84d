"""DEPS on a small environment in which order matters: whole episodes with scripted models."""

import pytest

from planbook.planner import MemoryJournal, Outcome
from planbook.sandbox import Sandbox
from tests.planner.camp import Camp, Voices, code, goal_events, played

LOGS = "agent.mine({'log': 3})  # step 1: mine 3 log"
PLANKS = "agent.craft({'planks': 12}, {'log': 3})  # step 2: craft 12 planks from 3 log"
STICKS = "agent.craft({'stick': 4}, {'planks': 2})  # step 3: craft 4 stick from 2 planks"
PICKAXE = "agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2})  # step 4: craft 1 pickaxe"
WHOLE = "\n".join((LOGS, PLANKS, STICKS, PICKAXE))
WITHOUT_STICKS = "\n".join((LOGS, PLANKS, PICKAXE))


def test_the_goals_of_a_plan_are_reached_one_by_one(sandbox: Sandbox) -> None:
    voices, journal = Voices(planner=[code(WHOLE)]), MemoryJournal()
    ending, playing = played(sandbox, voices, "dep", journal=journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [str(step.action) for step in playing.steps] == [
        "mine({'log': 3}, None)",
        "craft({'planks': 12}, {'log': 3})",
        "craft({'stick': 4}, {'planks': 2})",
        "craft({'pickaxe': 1}, {'planks': 3, 'stick': 2})",
    ]
    goals = [cell for cell in playing.cells if cell.source == "goal"]
    assert [cell.code for cell in goals] == [f"agent.{step.action}" for step in playing.steps]
    assert [(event["line"], event["done"]) for event in goal_events(journal)] == [
        (1, True),
        (2, True),
        (3, True),
        (4, True),
    ]


def test_the_first_goal_that_fails_stops_the_plan_and_is_described_and_explained(sandbox: Sandbox) -> None:
    voices = Voices(
        planner=[code(f"{LOGS}\n{PLANKS}\n{PICKAXE}\nagent.mine({{'sand': 1}})"), code(f"{STICKS}\n{PICKAXE}")],
        explainer=["A pickaxe takes 2 stick, and there is none: craft stick first."],
    )
    ending, playing = played(sandbox, voices, "dep")
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [step.observation.accepted for step in playing.steps] == [True, True, False, True, True]
    asked = voices.prompts()[1]
    assert "Done: agent.mine({'log': 3}, None)\nDone: agent.craft({'planks': 12}" in asked
    assert "Failed: agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2})\nIn the plan: agent.craft(" in asked
    assert "# step 4: craft 1 pickaxe" in asked
    assert "pickaxe takes 2 stick, which you do not have" in asked
    assert "Not tried: agent.mine({'sand': 1}, None)" in asked
    assert "There is now: You hold 12 planks." in asked
    assert "A pickaxe takes 2 stick, and there is none" in asked
    explained = voices.prompts("explainer")[0]
    assert WITHOUT_STICKS in explained
    assert "Failed: agent.craft({'pickaxe': 1}" in explained


def test_all_earlier_descriptions_and_explanations_stay_in_the_prompt(sandbox: Sandbox) -> None:
    plans = [code(PICKAXE), code(PLANKS), code(STICKS), code(WHOLE)]
    voices = Voices(planner=plans, explainer=["First reason.", "Second reason.", "Third reason."])
    ending, _ = played(sandbox, voices)
    assert ending.outcome.solved
    last = voices.whole(3)
    reasons = [last.index(f"{word} reason.") for word in ("First", "Second", "Third")]
    assert reasons == sorted(reasons)
    assert last.count("Failed: ") == 3


def test_goals_reached_without_the_task_being_done_are_described_too(sandbox: Sandbox) -> None:
    voices = Voices(planner=[code(LOGS), code(f"{PLANKS}\n{STICKS}\n{PICKAXE}")], explainer=["More is needed."])
    ending, _ = played(sandbox, voices)
    assert ending.outcome.solved
    assert "Every goal of the plan was reached, and yet the task is not done" in voices.prompts()[1]


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_it_is_planned_anew_as_often_as_the_option_says(sandbox: Sandbox, rounds: int) -> None:
    voices = Voices(planner=[code(PICKAXE)] * 9, explainer=["No planks."] * 9)
    ending, playing = played(sandbox, voices, rounds=rounds)
    assert ending.outcome is Outcome.FAILURE
    assert len(voices.prompts()) == len(playing.steps) == rounds + 1
    assert len(voices.prompts("explainer")) == rounds
    assert ("This is your last plan." in voices.prompts()[-1]) == bool(rounds)


def test_without_a_number_of_rounds_there_is_an_end_all_the_same(sandbox: Sandbox) -> None:
    voices = Voices(planner=[code("agent.mine({'gold': 1})")] * 30, explainer=["None."] * 30)
    played(sandbox, voices, actions=50)
    assert len(voices.prompts()) == 21


def test_the_actions_of_the_episode_end_it(sandbox: Sandbox) -> None:
    voices, journal = Voices(planner=[code(WHOLE)]), MemoryJournal()
    ending, _ = played(sandbox, voices, "dep", actions=2, journal=journal)
    assert ending.outcome is Outcome.OUT_OF_BUDGET
    last = goal_events(journal)[-1]
    assert (last["done"], last["actions"]) == (False, 0)
    assert "actions are used up" in last["reason"]


def test_lines_that_are_no_calls_are_taken_for_the_nearest_goals_and_said_so(sandbox: Sandbox) -> None:
    plan = f"agent.mine_log(1)\nagent.craft('planks', 4)\n{STICKS}\n{PICKAXE}"
    voices, journal = Voices(planner=[code(plan), code(WHOLE)], explainer=["Too few planks."]), MemoryJournal()
    ending, playing = played(sandbox, voices, "dep", journal=journal)
    assert ending.outcome.solved
    assert str(playing.steps[0].action) == "mine({'log': 1}, None)"
    assert str(playing.steps[1].action) == "craft({'planks': 4}, {'log': 1})"
    assert [event["said"] for event in goal_events(journal)][:2] == ["agent.mine_log(1)", "agent.craft('planks', 4)"]
    asked = voices.prompts()[1]
    assert '"agent.mine_log(1)" is no valid goal; it was taken for' in asked
    assert "like it: agent.mine({'log': 1}, None)" in asked


def test_an_explainer_without_an_answer_leaves_the_description(sandbox: Sandbox) -> None:
    voices = Voices(planner=[code(PICKAXE), code(WHOLE)], explainer=["", " ", ""])
    ending, _ = played(sandbox, voices)
    assert ending.outcome.solved
    assert "# Why" not in voices.prompts()[1]


def test_played_again_from_its_journal_no_model_is_asked(sandbox: Sandbox) -> None:
    voices, journal = (
        Voices(planner=["Well...", code(WITHOUT_STICKS), code(f"{STICKS}\n{PICKAXE}")], explainer=["No sticks."]),
        MemoryJournal(),
    )
    first, _ = played(sandbox, voices, journal=journal, selector="random")
    events = dict(journal.events)
    again, _ = played(sandbox, Voices(), journal=journal, selector="random")
    assert first.outcome.solved
    assert again == first
    assert journal.events == events


def test_what_is_told_of_the_environment_are_its_goals(sandbox: Sandbox) -> None:
    voices = Voices(planner=[code(WHOLE)])
    played(sandbox, voices)
    told = voices.asked["planner"][0][0].content
    assert Camp.about in told
    assert "`agent.craft(obj: dict[str, int], materials: dict[str, int]) -> str`" in told
    assert "make 1 pickaxe" not in told
    assert "make 1 pickaxe" in voices.prompts()[0]
