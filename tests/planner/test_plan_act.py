"""Plan+Act: the same questions as Devil's Advocate, without remedies and without turning back."""

from planbook.planner import METHODS, MemoryJournal, Outcome
from planbook.sandbox import Sandbox
from tests.planner.counsellors import NO, YES, Counsellors, aligned, branches, played, recorded
from tests.planner.players import SOLVE, code


def touch(what: str) -> str:
    return code(f"agent.touch('{what}')")


def test_it_acts_step_by_step_and_checks_what_is_complete(sandbox: Sandbox) -> None:
    says = Counsellors(act=[touch("wall"), code(SOLVE)], subtask_done=[NO, YES])
    journal = MemoryJournal()
    ending, _ = played(sandbox, says, "plan-act", journal=journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert says.questions == [
        *["plan", "task_done", "subtask_done", "act", "align"],
        *["task_done", "subtask_done", "act"],
    ]
    assert [each["subtask"] for each in recorded(journal, "branch")] == ["find the thing", "bring it"]


def test_what_does_not_fit_ends_the_round_and_nothing_is_taken_back(sandbox: Sandbox) -> None:
    says = Counsellors(
        plan=["1. look", "It was the wrong wall.\n1. look elsewhere"],
        act=[touch("wall"), touch("door"), code(SOLVE)],
        align=[aligned("Felt the wall."), aligned("Felt the door.", verdict="NO")],
    )
    journal = MemoryJournal()
    ending, playing = played(sandbox, says, "plan-act", journal=journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert not any(step.undone for step in playing.steps)
    assert not recorded(journal, "rewind")
    assert branches(journal) == [("agent.touch('wall')", "kept"), ("agent.touch('door')", "turned back")]
    assert [each["why"] for each in recorded(journal, "plan")] == ["", "It was the wrong wall."]
    assert "- Felt the wall.\n- Felt the door." in says.prompts("plan")[1]


def test_without_reflection_each_round_knows_nothing_of_the_others(sandbox: Sandbox) -> None:
    says = Counsellors(
        act=[code("note_down('cold')\nagent.touch('wall')"), touch("door"), code(SOLVE)], align=aligned(verdict="NO")
    )
    journal = MemoryJournal()
    ending, _ = played(sandbox, says, "plan-act", options={"reflects": False}, journal=journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert len(set(says.prompts("plan"))) == len(set(says.prompts("act"))) == 1
    assert [sampling.sample for _, name, _, sampling in says.asked if name == "plan"] == [0, 1, 2]
    assert [each["revision"] for each in recorded(journal, "plan")] == [False, True, True]


def test_its_code_may_end_in_an_error(sandbox: Sandbox) -> None:
    says, journal = Counsellors(act=[code("oops()"), code(SOLVE)]), MemoryJournal()
    ending, _ = played(sandbox, says, "plan-act", journal=journal)
    assert ending.outcome is Outcome.INDIRECT_SUCCESS
    assert branches(journal) == [("oops()", "failed")]
    assert "oops() -> " in says.prompts("plan")[1]


def test_its_options_are_those_of_devils_advocate_without_remedies(sandbox: Sandbox) -> None:
    advocate, plain = METHODS["devils-advocate"], METHODS["plan-act"]
    assert set(advocate.options.model_fields) - set(plain.options.model_fields) == {"remedies"}
    assert set(plain.options.model_fields) - set(advocate.options.model_fields) == {"reflects"}
    assert (plain.roles, plain.options.usual_sampling) == (advocate.roles, advocate.options.usual_sampling)


def test_devils_advocate_without_remedies_asks_the_same(sandbox: Sandbox) -> None:
    asked = []
    for method, options in (("plan-act", {}), ("devils-advocate", {"remedies": 0})):
        says = Counsellors(act=[touch("wall"), touch("door"), code(SOLVE)], align=[aligned(), aligned(verdict="NO")])
        played(sandbox, says, method, options=options)
        asked.append(says.asked)
    assert asked[0] == asked[1]
