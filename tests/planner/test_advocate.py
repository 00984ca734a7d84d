"""Devil's Advocate on the loop: remedies, turning back, new plans, and when it is over."""

import pytest

from planbook.envs import Observation, Verdict, action
from planbook.planner import METHODS, FeedbackKind, MemoryJournal, Outcome
from planbook.sandbox import Sandbox
from tests.planner.counsellors import NO, YES, Answering, Counsellors, aligned, branches, played, recorded
from tests.planner.players import SOLVE, Traced, Trapped, code
from tests.spanning import spans_of


def touch(what: str) -> str:
    return code(f"agent.touch('{what}')")


def judged(*verdicts: str) -> list[str]:
    return [aligned(f"Deed {number}.", verdict=verdict) for number, verdict in enumerate(verdicts, 1)]


def test_a_subtask_with_a_loop_is_one_piece_of_code(sandbox: Sandbox) -> None:
    says, journal = Counsellors(act=code(SOLVE)), MemoryJournal()
    ending, playing = played(sandbox, says, journal=journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert says.questions == ["plan", "task_done", "subtask_done", "act", "remedy"]
    assert len(playing.cells) == 1
    assert len(playing.steps) > 2
    (branch,) = recorded(journal, "branch")
    assert (branch["fate"], branch["actions"], branch["cell"]) == ("over", len(playing.steps), 0)
    assert (branch["parent"], branch["idea"], branch["value"], branch["visits"]) == (None, 0, None, None)
    assert branch["why"] == "The world's episode is over."
    (plan,) = recorded(journal, "plan")
    assert (plan["round"], plan["parts"], plan["revision"]) == (0, ["find the thing", "bring it"], False)
    assert plan["actions"] == len(playing.steps)


def test_what_is_not_right_is_taken_back_and_the_remedy_tried(sandbox: Sandbox) -> None:
    says = Counsellors(
        act=[touch("wall"), code("raise ValueError(seen)")],
        remedy=[code("seen = agent.touch('door')"), touch("floor"), "NONE"],
        align=judged("NO", "YES", "NO"),
    )
    journal = MemoryJournal()
    ending, playing = played(sandbox, says, journal=journal, options={"rounds": 1})
    assert [(str(step.action), step.undone) for step in playing.steps] == [
        ("touch('wall')", True),
        ("touch('door')", True),
        ("touch('floor')", False),
    ]
    assert branches(journal) == [
        ("agent.touch('wall')", "turned back"),
        ("seen = agent.touch('door')", "abandoned"),
        ("agent.touch('floor')", "turned back"),
        ("raise ValueError(seen)", "failed"),
    ]
    of_door, of_floor, of_error = recorded(journal, "branch")[1:]
    assert (of_door["history"], of_door["parent"], of_door["idea"]) == ("Deed 2.", None, 1)
    assert (of_error["parent"], of_error["idea"], of_error["cell"]) == (1, 0, 2)
    assert "ValueError: You touch door." in of_error["why"], "the name of the moment was there"
    assert (of_floor["parent"], of_floor["idea"]) == (None, 2), "a deeper failure returns to the earlier remedies"
    assert says.questions.count("align") == 3, "nobody is asked about an error"
    assert (ending.outcome, ending.actions) == (Outcome.FAILURE, 3)


def test_what_was_done_and_taken_back_is_told(sandbox: Sandbox) -> None:
    says = Counsellors(
        act=[touch("wall"), code("oops"), touch("end")],
        remedy=[touch("door"), "NONE", touch("floor"), "NONE"],
        align=judged("NO", "YES", "YES", "NO"),
    )
    played(sandbox, says, options={"rounds": 2, "remedies": 1}, actions=9)
    told = says.prompts("act")
    assert "Nothing yet." in told[0]
    assert "- Deed 1. (taken back since)\n- Deed 2.\n" in told[1]
    assert "<- now" in told[0]
    look_back = says.prompts("plan")[1]
    assert "- Deed 2." in look_back
    (error,) = [line for line in look_back.splitlines() if line.startswith("- oops -> line 1: ")]
    assert error.endswith(" (taken back since)")
    assert "How it ended: Of all that was thought of, nothing is left to try." in look_back


def test_code_that_is_refused_leaves_nothing_to_take_back(sandbox: Sandbox) -> None:
    says = Counsellors(act=code("oops()"), remedy=[touch("door"), "NONE"])
    journal = MemoryJournal()
    played(sandbox, says, journal=journal, options={"rounds": 1})
    assert branches(journal)[:2] == [("oops()", "failed"), ("agent.touch('door')", "kept")]
    assert not recorded(journal, "rewind")


def test_names_that_stand_are_told(sandbox: Sandbox) -> None:
    says = Counsellors(
        act=[code("seen = agent.touch('wall')"), touch("end")],
        remedy=[code("felt = agent.touch('door')"), "NONE"],
        align=judged("NO", "YES", "NO"),
    )
    played(sandbox, says, options={"rounds": 1, "remedies": 1})
    assert [prompt.count("Names that earlier code has defined: felt\n") for prompt in says.prompts("act")] == [0, 1]


def test_the_same_idea_twice_is_one(sandbox: Sandbox) -> None:
    says = Counsellors(act=touch("wall"), remedy=touch("wall"), align=aligned(verdict="NO"))
    journal = MemoryJournal()
    played(sandbox, says, journal=journal, options={"rounds": 1, "remedies": 3})
    assert says.questions.count("remedy") == 3
    assert branches(journal) == [("agent.touch('wall')", "turned back")]


# Sub-tasks and the task.


def test_subtasks_that_run_out_lead_to_the_stack_and_then_to_a_new_plan_in_a_new_round(sandbox: Sandbox) -> None:
    says = Counsellors(
        plan=["1. look", "It was too early.\n\n1. look better\n2. bring it"],
        act=[touch("wall"), code(SOLVE)],
        remedy=[touch("door"), "NONE"],
        subtask_done=[NO, YES, YES, NO],
    )
    journal = MemoryJournal()
    ending, playing = played(sandbox, says, journal=journal, options={"remedies": 1})
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert branches(journal) == [("agent.touch('wall')", "abandoned"), ("agent.touch('door')", "kept")]
    assert [each["fate"] for each in recorded(journal, "branch")] == ["abandoned", "kept", "over"]
    assert recorded(journal, "plan")[1] == {
        "round": 1,
        "parts": ["look better", "bring it"],
        "revision": True,
        "why": "It was too early.",
        "actions": len([step for step in playing.steps if step.counted]),
        "lasting": 0,
        "lasting_gone_behind": 0,
    }
    scopes = [span.scope for name in ("branch", "plan") for span in spans_of(journal, name)]
    assert scopes == [f"task/0/round/{number}/act/0" for number in (0, 0, 1, 0, 1)]
    assert playing.steps[-1].action.name == "put"


def test_a_task_held_complete_ends_the_episode_whatever_the_environment_thinks(sandbox: Sandbox) -> None:
    says = Counsellors(act=touch("wall"), task_done=[NO, YES])
    journal = MemoryJournal()
    ending, _ = played(sandbox, says, journal=journal)
    assert (ending.outcome, ending.actions) == (Outcome.FAILURE, 1)
    assert says.questions.count("plan") == 1
    assert branches(journal) == [("agent.touch('wall')", "kept")]


def test_or_only_its_round_where_that_is_wanted(sandbox: Sandbox) -> None:
    says = Counsellors(act=[touch("wall"), code(SOLVE)], task_done=[NO, YES, NO])
    ending, _ = played(sandbox, says, options={"until_solved": True})
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert "How it ended: The task was held to be complete." in says.prompts("plan")[1]


def test_rounds_and_what_an_environment_ends_are_bounded(sandbox: Sandbox) -> None:
    says = Counsellors(act=[code("agent.touch('x')\nagent.touch('trap')"), touch("trap")])
    journal = MemoryJournal()
    ending, playing = played(sandbox, says, environment=Trapped(), journal=journal)
    assert (ending.outcome, ending.verdict) == (Outcome.FAILURE, Verdict(False, 0.2)), "the best round counts"
    assert says.questions.count("plan") == 7
    assert [each["fate"] for each in recorded(journal, "branch")] == ["over"] * 7
    assert ending.actions == 8
    assert "agent.touch('x') ... -> The world's episode is over." in says.prompts("plan")[1]
    assert len(playing.cells) == 7


def test_actions_that_run_out_end_it(sandbox: Sandbox) -> None:
    says, journal = Counsellors(act=touch("wall")), MemoryJournal()
    ending, _ = played(sandbox, says, actions=3, journal=journal)
    assert (ending.outcome, ending.actions) == (Outcome.OUT_OF_BUDGET, 3)
    assert branches(journal) == [("agent.touch('wall')", "kept")] * 3 + [("agent.touch('wall')", "over")]


def test_code_that_does_nothing_any_more_ends_its_round(sandbox: Sandbox) -> None:
    says, journal = Counsellors(act=code("print(agent.holding)")), MemoryJournal()
    ending, playing = played(sandbox, says, journal=journal, options={"rounds": 2})
    assert (ending.outcome, len(playing.cells)) == (Outcome.FAILURE, 60)
    assert "How it ended: 30 pieces of code of this round took no action." in says.prompts("plan")[1]
    assert branches(journal)[-1] == ("print(agent.holding)", "not tried")


def test_one_action_at_a_time_where_that_is_wanted(sandbox: Sandbox) -> None:
    for whole, steps in ((True, 3), (False, 1)):
        says = Counsellors(
            act=code("for n in range(3):\n    agent.touch(str(n))"), task_done=[NO, YES], align=aligned()
        )
        _, playing = played(sandbox, says, options={"whole_subtasks": whole})
        assert len(playing.steps) == steps
        assert ("write it as a loop" in says.prompts("act")[0]) is whole


# Replies that cannot be used.


def test_without_a_plan_nothing_is_done(sandbox: Sandbox) -> None:
    says, journal = Counsellors(plan="I would rather not."), MemoryJournal()
    ending, playing = played(sandbox, says, journal=journal, options={"rounds": 2})
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "no_plan", 0)
    assert says.questions == ["plan"] * 6, "three replies a round"
    assert not playing.cells
    assert not recorded(journal, "plan")


def test_the_first_plan_that_there_is_revises_none(sandbox: Sandbox) -> None:
    says, journal = Counsellors(plan=["no"] * 3 + ["1. look"], act=code(SOLVE)), MemoryJournal()
    ending, _ = played(sandbox, says, journal=journal)
    assert ending.outcome.solved
    assert [(each["round"], each["revision"]) for each in recorded(journal, "plan")] == [(1, False)]


def test_without_an_idea_the_rest_of_the_stack_is_tried(sandbox: Sandbox) -> None:
    says = Counsellors(act=[touch("wall"), "Hm.", "Hm.", "Hm."], remedy=[touch("door"), "Hm."])
    journal = MemoryJournal()
    ending, playing = played(sandbox, says, journal=journal, options={"rounds": 1})
    assert [step.action.args[0] for step in playing.steps] == ["wall", "door"]
    assert [cell.feedback.kind for cell in playing.cells][1] is FeedbackKind.PARSE
    assert ending.outcome is Outcome.FAILURE


def test_a_verdict_that_cannot_be_read_turns_back(sandbox: Sandbox) -> None:
    says = Counsellors(act=touch("wall"), align="Verdict: PERHAPS", task_done="Verdict: YES and NO", subtask_done="")
    journal = MemoryJournal()
    played(sandbox, says, journal=journal, options={"rounds": 1})
    assert branches(journal) == [("agent.touch('wall')", "turned back")]
    assert recorded(journal, "branch")[0]["why"] == "The evaluator gave no usable verdict."
    assert says.questions.count("align") == 3


# Answers and notes.


def test_the_answer_is_asked_for_and_delivered_as_plan_code(sandbox: Sandbox) -> None:
    says = Counsellors(
        act=code("note_down('It is 42.')\nagent.touch('wall')"), task_done=[NO, YES], answer="Answer: 42"
    )
    ending, playing = played(sandbox, says, environment=Answering())
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert playing.cells[-1].code == "agent.stop('42')"
    assert "- It is 42." in says.prompts("answer")[0]
    assert "give the answer" in says.prompts("task_done")[0]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_wrong_answer_is_the_last_one_unless_wanted_otherwise(sandbox: Sandbox, wanted: bool) -> None:
    stops = Counsellors(act=code("agent.stop('7')"))
    asked = Counsellors(task_done=YES, answer="Answer: 7")
    for says in (stops, asked):
        options = {"rounds": 3, "until_solved": wanted}
        ending, _ = played(sandbox, says, environment=Answering(), options=options)
        assert ending.outcome is Outcome.FAILURE
        assert says.questions.count("plan") == (3 if wanted else 1)


def test_an_answer_that_cannot_be_read_is_not_given(sandbox: Sandbox) -> None:
    says = Counsellors(task_done=YES, answer="It is 42.")
    ending, playing = played(sandbox, says, environment=Answering())
    assert (ending.outcome, playing.steps) == (Outcome.FAILURE, [])


def test_notes_stay_when_it_turns_back_and_in_later_rounds(sandbox: Sandbox) -> None:
    says = Counsellors(
        act=[code("print(note_down('The wall is cold.'))\nagent.touch('wall')"), code("print(note_down('  '))")],
        align=aligned(verdict="NO"),
        remedy="NONE",
    )
    _, playing = played(sandbox, says, options={"rounds": 3})
    assert playing.cells[0].feedback.output == "Noted.\n"
    assert playing.cells[1].feedback.output == "Not noted: a note has 1 to 1000 characters.\n"
    assert all(prompt.count("- The wall is cold.") == 1 for prompt in says.prompts("plan")[1:])


class Noting(Traced):
    """An environment that takes notes itself."""

    @action("agent.note_down('x') -> 'Noted.'")
    def note_down(self, text: str) -> Observation:
        """Note something."""
        return Observation("Noted.", accepted=text != "no")


def test_where_the_environment_notes_that_is_told(sandbox: Sandbox) -> None:
    says = Counsellors(act=[code("agent.note_down('no')\nagent.note_down('It is blue.')"), touch("wall")])
    played(sandbox, says, environment=Noting(), actions=4)
    assert "# Notes taken\n\n- It is blue.\n\n" in says.prompts("act")[1]


def test_notes_are_bounded(sandbox: Sandbox) -> None:
    says = Counsellors(
        act=code("for n in range(60):\n    said = note_down(str(n))\nprint(said)\nagent.touch('wall')"),
        task_done=[NO, YES],
    )
    _, playing = played(sandbox, says)
    assert playing.cells[0].feedback.output == "Not noted: there are 50 notes already.\n"


# The method's own figures.


def test_its_roles_figures_and_draws_are_those_of_the_paper(sandbox: Sandbox) -> None:
    method = METHODS["devils-advocate"]
    assert method.options.usual_actions == 30
    assert method.options.usual_sampling == {"temperature": 1.0, "max_tokens": 512}
    assert method.roles == ("planner", "evaluator", "summarizer")
    for given, asked in ((8_000, True), (None, False)):
        options = method.options.model_validate({"summarise_above": given})
        assert method.asks("summarizer", options, Traced()) is asked
    assert method.options().model_dump() == {
        "rounds": 7,
        "whole_subtasks": True,
        "summarise_above": 8_000,
        "until_solved": False,
        "remedies": 2,
    }


def test_each_round_is_drawn_anew(sandbox: Sandbox) -> None:
    says = Counsellors(act=touch("wall"), align=aligned(verdict="NO"))
    played(sandbox, says, options={"rounds": 3})
    assert {sampling.sample for _, _, _, sampling in says.asked} == {0, 1, 2}
    asked = [(role, name) for role, name, _, _ in says.asked]
    assert {role for role, name in asked if name in ("plan", "act", "remedy")} == {"planner"}
    assert {role for role, name in asked if name in ("align", "task_done", "subtask_done")} == {"evaluator"}


def test_the_advocate_argues_with_what_was_said_before(sandbox: Sandbox) -> None:
    says = Counsellors(act=touch("wall"), remedy=[touch("door"), touch("floor")], align=aligned(verdict="NO"))
    played(sandbox, says, options={"rounds": 1})
    longest = max(says.conversations, key=len)
    assert [message.role for message in longest] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [message.content for message in longest if message.role == "assistant"] == [touch("wall"), touch("door")]
