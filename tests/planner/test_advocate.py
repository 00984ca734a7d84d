"""Devil's Advocate: remedies, undone actions, new plans, the answer, and the end of an episode.

An idea is a piece of code for the next subtask, and a branch is an idea that was tried. Remedies are further ideas,
which are tried if the first one goes wrong.
"""

import pytest

from planbook.envs import Observation, Verdict, action
from planbook.planner import METHODS, FeedbackKind, Outcome
from planbook.sandbox import Sandbox
from tests.planner.advocate_kit import (
    NO,
    YES,
    AdvocateModels,
    AnsweringToy,
    aligned,
    branches,
    played,
    recorded,
    touch,
    valued,
)
from tests.planner.episode_kit import SOLVE, TouchToy, TrapToy, code, journal_of
from tests.spanning import spans_of


def evaluations(*verdicts: str) -> list[str]:
    return [aligned(f"Deed {number}.", verdict=verdict) for number, verdict in enumerate(verdicts, 1)]


def test_code_with_a_loop_does_a_whole_subtask(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=code(SOLVE))
    ending, playing = played(sandbox, models)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert models.questions == ["plan", "task_done", "subtask_done", "act", "remedy"]
    assert len(playing.cells) == 1
    assert len(playing.steps) > 2
    (branch,) = recorded(playing, "branch")
    assert (branch["fate"], branch["actions"], branch["cell"]) == ("over", len(playing.steps), 0)
    assert (branch["parent"], branch["idea"], branch["value"], branch["visits"]) == (None, 0, None, None)
    assert branch["why"] == "The environment's episode is over."
    (plan,) = recorded(playing, "plan")
    assert (plan["round"], plan["parts"], plan["revision"]) == (0, ["find the thing", "bring it"], False)
    assert plan["actions"] == len(playing.steps)


def test_a_wrong_action_is_undone_and_its_remedies_are_tried(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        act=[code("gone = agent.touch('wall')"), code("raise ValueError(seen)")],
        remedy=[code("seen = agent.touch('door')"), touch("floor"), "NONE"],
        align=evaluations("NO", "YES", "NO"),
    )
    ending, playing = played(sandbox, models, options={"rounds": 1})
    assert [(str(step.action), step.undone) for step in playing.steps] == [
        ("touch('wall')", True),
        ("touch('door')", True),
        ("touch('floor')", False),
    ]
    assert branches(playing) == [
        ("gone = agent.touch('wall')", "turned back"),
        ("seen = agent.touch('door')", "abandoned"),
        ("agent.touch('floor')", "turned back"),
        ("raise ValueError(seen)", "failed"),
    ]
    door, floor, error = recorded(playing, "branch")[1:]
    assert (door["history"], door["parent"], door["idea"]) == ("Deed 2.", None, 1)
    assert (error["parent"], error["idea"], error["cell"]) == (1, 0, 2)
    assert "ValueError: You touch door." in error["why"], "code can use the names of its branch"
    assert (floor["parent"], floor["idea"]) == (None, 2), "a deeper failure returns to the earlier remedies"
    names = "Names defined by earlier code: seen\n"
    assert [names in prompt for prompt in models.prompts("act")] == [False, True]
    assert models.questions.count("align") == 3, "an error is not evaluated"
    assert (ending.outcome, ending.actions) == (Outcome.FAILURE, 3)


def test_prompts_mark_actions_that_were_undone(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        act=[touch("wall"), code("oops"), touch("end")],
        remedy=[touch("door"), "NONE", touch("floor"), "NONE"],
        align=evaluations("NO", "YES", "YES", "NO"),
    )
    played(sandbox, models, options={"rounds": 2, "remedies": 1}, actions=9)
    first, second = models.prompts("act")[:2]
    assert "Nothing yet." in first
    assert "<- current" in first
    assert "- Deed 1. (undone later)\n- Deed 2.\n" in second
    new_plan = models.prompts("plan")[1]
    assert "- Deed 2." in new_plan
    (error,) = [line for line in new_plan.splitlines() if line.startswith("- oops -> line 1: ")]
    assert error.endswith(" (undone later)")
    assert "How it ended: No alternative is left to try." in new_plan


@pytest.mark.parametrize("method", ["devils-advocate", "lats"])
def test_prompts_show_what_was_done_in_earlier_rounds(sandbox: Sandbox, method: str) -> None:
    models = AdvocateModels(act=touch("wall"), align=evaluations("NO", "YES"), value=valued(3, "Deed 1."))
    played(sandbox, models, method, options={"rounds": 2}, actions=2 if method == "devils-advocate" else 11)
    assert "Nothing yet." in models.prompts("act")[0]
    undone = " (undone later)" if method == "devils-advocate" else ""
    mark = f"# Done so far\n\n- In round 1, undone by the new start unless it was stored permanently: Deed 1.{undone}\n"
    for question in ("act", "subtask_done", "task_done", "align" if method == "devils-advocate" else "value"):
        assert mark in models.prompts(question)[-1], question


def test_code_that_is_refused_is_not_rewound(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=code("oops()"), remedy=[touch("door"), "NONE"])
    _, playing = played(sandbox, models, options={"rounds": 1})
    assert branches(playing)[:2] == [("oops()", "failed"), ("agent.touch('door')", "kept")]
    assert not recorded(playing, "rewind")


def test_a_repeated_idea_is_tried_once(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=touch("wall"), remedy=touch("wall"), align=aligned(verdict="NO"))
    _, playing = played(sandbox, models, options={"rounds": 1, "remedies": 3})
    assert models.questions.count("remedy") == 3
    assert branches(playing) == [("agent.touch('wall')", "turned back")]


# Subtasks, rounds and the task.


def test_a_new_round_with_a_new_plan_begins_when_no_subtask_is_open(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        plan=["1. look", "It was too early.\n\n1. look better\n2. bring it"],
        act=[touch("wall"), code(SOLVE)],
        remedy=[touch("door"), "NONE"],
        subtask_done=[NO, YES, YES, NO],
    )
    ending, playing = played(sandbox, models, options={"remedies": 1})
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert branches(playing) == [("agent.touch('wall')", "abandoned"), ("agent.touch('door')", "kept")]
    assert [each["fate"] for each in recorded(playing, "branch")] == ["abandoned", "kept", "over"]
    assert recorded(playing, "plan")[1] == {
        "round": 1,
        "parts": ["look better", "bring it"],
        "revision": True,
        "why": "It was too early.",
        "actions": len([step for step in playing.steps if step.counted]),
        "solved": True,
    }
    spans = [span for name in ("branch", "plan") for span in spans_of(journal_of(playing), name)]
    assert spans[0].title == "0: agent.touch('wall')"
    assert spans[-1].title == "round 2: look better; bring it"
    assert [span.scope for span in spans] == [f"task/0/round/{number}/act/0" for number in (0, 0, 1, 0, 1)]


def test_a_task_considered_complete_ends_the_episode(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=[touch("wall"), code(SOLVE)], task_done=[NO, YES, NO])
    ending, playing = played(sandbox, models)
    assert branches(playing) == [("agent.touch('wall')", "kept")]
    assert ending.outcome is Outcome.FAILURE
    assert models.questions.count("plan") == 1


class SilentToy(TouchToy):
    """An environment that does not end when its task is solved: when the last thing touched is the goal."""

    def verdict(self) -> Verdict:
        solved = bool(self.history) and self.history[-1][0].args == ("goal",)
        return Verdict(solved, float(solved))


def test_the_hidden_verdict_does_not_end_the_rounds(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        plan="1. look", act=[touch("wall"), touch("goal"), touch("door")], subtask_done=[NO, YES] * 3
    )
    ending, playing = played(sandbox, models, environment=SilentToy(), options={"rounds": 3})
    assert [plan["solved"] for plan in recorded(playing, "plan")] == [False, True, False]
    assert not ending.outcome.solved, "the last round counts, and its verdict was not known to the agent"


def test_an_environment_that_ends_without_success_ends_only_its_round(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=[code("agent.touch('x')\nagent.touch('trap')"), touch("trap")])
    ending, playing = played(sandbox, models, environment=TrapToy())
    assert (ending.outcome, ending.verdict) == (Outcome.FAILURE, Verdict(False, 0.1)), "the last round counts"
    assert models.questions.count("plan") == len(playing.cells) == 7
    assert [each["fate"] for each in recorded(playing, "branch")] == ["over"] * 7
    assert ending.actions == 8
    assert "agent.touch('x') ... -> The environment's episode is over." in models.prompts("plan")[1]


def test_code_that_takes_no_actions_ends_its_round(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=code("print(agent.holding)"))
    ending, playing = played(sandbox, models, options={"rounds": 2})
    assert (ending.outcome, len(playing.cells)) == (Outcome.FAILURE, 60)
    assert "How it ended: 30 pieces of code in this round took no action." in models.prompts("plan")[1]
    assert branches(playing)[-1] == ("print(agent.holding)", "not tried")


@pytest.mark.parametrize(("whole", "steps"), [(True, 3), (False, 1)])
def test_code_may_take_one_action_or_do_a_whole_subtask(sandbox: Sandbox, whole: bool, steps: int) -> None:
    models = AdvocateModels(act=code("for n in range(3):\n    agent.touch(str(n))"), task_done=[NO, YES])
    _, playing = played(sandbox, models, options={"whole_subtasks": whole})
    assert len(playing.steps) == steps
    assert ("write a loop" in models.prompts("act")[0]) is whole
    assert ("touch('1') was not taken" in models.prompts("align")[0]) is not whole, "the evaluator is told"


# Unusable replies.


def test_an_episode_without_a_usable_plan_fails(sandbox: Sandbox) -> None:
    models = AdvocateModels(plan="I would rather not.")
    ending, playing = played(sandbox, models, options={"rounds": 2})
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "no_plan", 0)
    assert ending.message.startswith("the planner gave no usable reply to advocate/plan.j2: the plan is missing")
    assert models.questions == ["plan"] * 6, "three replies in each round"
    assert not playing.cells
    assert not recorded(playing, "plan")


def test_the_first_usable_plan_is_not_a_revision(sandbox: Sandbox) -> None:
    _, playing = played(sandbox, AdvocateModels(plan=["no"] * 3 + ["1. look"], act=code(SOLVE)))
    assert [(each["round"], each["revision"]) for each in recorded(playing, "plan")] == [(1, False)]


def test_a_state_without_an_idea_leads_back_to_earlier_remedies(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=[touch("wall"), "Hm.", "Hm.", "Hm."], remedy=[touch("door"), "Hm."])
    ending, playing = played(sandbox, models, options={"rounds": 1})
    assert [step.action.args[0] for step in playing.steps] == ["wall", "door"]
    assert [cell.feedback.kind for cell in playing.cells][1] is FeedbackKind.PARSE
    assert ending.outcome is Outcome.FAILURE


def test_an_unusable_verdict_turns_back(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        act=touch("wall"), align="Verdict: PERHAPS", task_done="Verdict: YES and NO", subtask_done=""
    )
    _, playing = played(sandbox, models, options={"rounds": 1})
    assert branches(playing) == [("agent.touch('wall')", "turned back")]
    assert recorded(playing, "branch")[0]["why"] == "The evaluator gave no usable verdict."
    assert models.questions.count("align") == 3


# Answers and notes.


def test_the_answer_is_delivered_as_plan_code(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        act=code("note_down('It is 42.')\nagent.touch('wall')"), task_done=[NO, YES], answer="Answer: 42"
    )
    ending, playing = played(sandbox, models, environment=AnsweringToy())
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert playing.cells[-1].code == "agent.stop('42')"
    assert [plan["actions"] for plan in recorded(playing, "plan")] == [1], "the answer is no action of the round"
    assert "- It is 42." in models.prompts("answer")[0]
    assert "give the answer" in models.prompts("task_done")[0]


def test_a_round_without_an_action_does_not_replace_the_round_before_it(sandbox: Sandbox) -> None:
    """The evaluator is wrong about a round that did the task. Then no action is left, or the next plan is unusable."""
    plans, done = ["1. look\n2. wait", "???"], [NO, YES] * 3
    models = AdvocateModels(plan=plans[0], act=[touch("goal")], subtask_done=done, task_done=NO)
    used_up, playing = played(sandbox, models, environment=SilentToy(), options={"rounds": 3}, actions=1)
    assert used_up.verdict.solved
    assert len(recorded(playing, "plan")) == 1
    models = AdvocateModels(plan=plans, act=[touch("goal")], subtask_done=done, task_done=NO)
    no_plan, _ = played(sandbox, models, environment=SilentToy(), options={"rounds": 2}, actions=9)
    assert no_plan.verdict.solved


@pytest.mark.parametrize(
    ("replies", "outcome", "steps"),
    [
        ({"act": code("agent.stop('7')")}, Outcome.FAILURE, 1),
        ({"task_done": YES, "answer": "Answer: 7"}, Outcome.FAILURE, 1),
        ({"task_done": YES, "answer": "It is 42."}, Outcome.FAILURE, 0),
        ({"act": touch("wall"), "task_done": [NO, YES], "answer": "Answer: 42"}, Outcome.DIRECT_SUCCESS, 2),
    ],
    ids=["a wrong answer in code", "a wrong answer", "an unusable answer", "an answer after the last action"],
)
def test_an_answer_ends_the_episode_and_needs_no_action(
    sandbox: Sandbox, replies: dict[str, str], outcome: Outcome, steps: int
) -> None:
    models = AdvocateModels(**replies)
    ending, playing = played(sandbox, models, environment=AnsweringToy(), actions=1)
    assert (ending.outcome, ending.actions, len(playing.steps)) == (outcome, steps, steps)
    assert models.questions.count("plan") == 1


def test_notes_stay_after_a_rewind_and_in_later_rounds(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        act=[code("print(note_down('The wall is cold.'))\nagent.touch('wall')"), code("print(note_down('  '))")],
        align=aligned(verdict="NO"),
    )
    _, playing = played(sandbox, models, options={"rounds": 3})
    assert [cell.feedback.output for cell in playing.cells[:2]] == [
        "Noted.\n",
        "Not noted: a note must have 1 to 1000 characters.\n",
    ]
    assert all(prompt.count("- The wall is cold.") == 1 for prompt in models.prompts("plan")[1:])


def test_there_are_at_most_50_notes(sandbox: Sandbox) -> None:
    loop = "for n in range(60):\n    result = note_down(str(n))\nprint(result)\nagent.touch('wall')"
    _, playing = played(sandbox, AdvocateModels(act=code(loop), task_done=[NO, YES]))
    assert playing.cells[0].feedback.output == "Not noted: there are 50 notes already.\n"


class NotingToy(TouchToy):
    """An environment with its own action for notes."""

    @action("agent.note_down('x') -> 'Noted.'")
    def note_down(self, text: str) -> Observation:
        """Note something."""
        return Observation("Noted.", accepted=text != "no")


def test_notes_of_the_environment_are_in_the_prompts(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=[code("agent.note_down('no')\nagent.note_down('It is blue.')"), touch("wall")])
    played(sandbox, models, environment=NotingToy(), actions=4)
    assert "# The agent's notes\n\n- It is blue.\n\n" in models.prompts("act")[1]


# Settings.


def test_roles_and_options_are_those_of_the_paper() -> None:
    method = METHODS["devils-advocate"]
    assert method.options.default_actions == 30
    assert method.options.default_sampling == {"temperature": 1.0, "max_tokens": 512}
    assert method.roles == ("planner", "evaluator", "summarizer")
    for limit in (8_000, None):
        options = method.options.model_validate({"summarise_above": limit})
        assert method.asks("summarizer", options, TouchToy()) is (limit is not None)
    assert method.options().model_dump() == {
        "rounds": 7,
        "whole_subtasks": True,
        "summarise_above": 8_000,
        "remedies": 2,
    }
