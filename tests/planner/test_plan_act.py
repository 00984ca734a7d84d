"""Plan+Act asks the same questions as Devil's Advocate, but has no remedies and undoes nothing."""

from planbook.planner import Outcome
from planbook.sandbox import Sandbox
from tests.planner.advocate_kit import NO, YES, AdvocateModels, aligned, branches, played, recorded
from tests.planner.episode_kit import SOLVE, code

WALL, DOOR = code("agent.touch('wall')"), code("agent.touch('door')")


def test_plan_act_checks_after_each_step_what_is_complete(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=[WALL, code(SOLVE)], subtask_done=[NO, YES])
    ending, playing = played(sandbox, models, "plan-act")
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert models.questions == [
        *["plan", "task_done", "subtask_done", "act", "align"],
        *["task_done", "subtask_done", "act"],
    ]
    assert [each["subtask"] for each in recorded(playing, "branch")] == ["find the thing", "bring it"]


def test_a_failed_alignment_ends_the_round_and_nothing_is_undone(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        plan=["1. look", "It was the wrong wall.\n1. look elsewhere"],
        act=[WALL, DOOR, code(SOLVE)],
        align=[aligned("Felt the wall."), aligned("Felt the door.", verdict="NO")],
    )
    ending, playing = played(sandbox, models, "plan-act")
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert not any(step.undone for step in playing.steps)
    assert not recorded(playing, "rewind")
    assert branches(playing) == [("agent.touch('wall')", "kept"), ("agent.touch('door')", "turned back")]
    assert [each["why"] for each in recorded(playing, "plan")] == ["", "It was the wrong wall."]
    assert "- Felt the wall.\n- Felt the door." in models.prompts("plan")[1]


def test_without_reflection_no_round_knows_the_others(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        act=[code("note_down('cold')\nagent.touch('wall')"), DOOR, code(SOLVE)], align=aligned(verdict="NO")
    )
    ending, playing = played(sandbox, models, "plan-act", options={"reflects": False})
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert len(set(models.prompts("plan"))) == len(set(models.prompts("act"))) == 1
    assert [sampling.sample for _, name, _, sampling in models.asked if name == "plan"] == [0, 1, 2]
    assert [each["revision"] for each in recorded(playing, "plan")] == [False, True, True]


def test_devils_advocate_without_remedies_asks_the_same(sandbox: Sandbox) -> None:
    requests = []
    for method, options in (("plan-act", {}), ("devils-advocate", {"remedies": 0})):
        models = AdvocateModels(act=[WALL, DOOR, code(SOLVE)], align=[aligned(), aligned(verdict="NO")])
        played(sandbox, models, method, options=options)
        requests.append(models.asked)
    assert requests[0] == requests[1]
