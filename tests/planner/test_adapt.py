"""ADaPT's controller: subtasks, the reports that are handed from one to the next, and the end of the episode."""

from textwrap import indent

import pytest

from planbook.envs import Observation, Selection, action, load_environment
from planbook.planner import Episode, FeedbackKind, Outcome
from planbook.planner.strategies.adapt import MAX_NOTES
from planbook.sandbox import Sandbox
from tests.planner.advocate_kit import AnsweringToy
from tests.planner.episode_kit import (
    FAIL,
    GOAL,
    NOTE,
    SOLVE,
    NoteHandoffToy,
    StateHandoffToy,
    SubtaskModels,
    TouchToy,
    claim_rows,
    journal_of,
    plan_reply,
    played,
    recorded_subtasks,
    touch_claim,
    touch_report,
)

STATE = " You hold nothing. On the table: nothing."


def handed(playing: Episode) -> dict[str, str]:
    return {claim["text"]: claim["handed"] for claim in recorded_subtasks(playing) if claim["by"] == "executor"}


@pytest.mark.parametrize(
    ("environment", "reports"),
    [
        (TouchToy, ("", "", touch_report("a2"), touch_report("a2"), touch_report("c"), touch_report("a2") + STATE)),
        (StateHandoffToy, ("0 done.", "0 done.", "3 done.", "3 done.", "4 done.", "4 done.")),
        (
            NoteHandoffToy,
            (
                "0 done.",
                "0 done.",
                "3 done. note of a",
                "3 done. note of a",
                "4 done. note of a note of c",
                "4 done. note of a",
            ),
        ),
    ],
)
def test_executors_receive_the_report_of_their_environment(
    sandbox: Sandbox, environment: type[TouchToy], reports: tuple[str, ...]
) -> None:
    """Subtask b does nothing and leaves no note. (c AND d) fails, so the note and the action of c are dropped.

    The action of c was not undone, so that it has changed the state since the last action that is reported.
    """
    does = {
        "a": "agent.touch('a1')\nagent.touch('a2')\nagent.touch('no luck')\nfinish(True, 'note of a')",
        "b": "finish(True)",
        "c": "agent.touch('c')\nfinish(True, 'note of c')",
    }
    models = SubtaskModels(does, {GOAL: plan_reply("S1 AND S2 AND ((S3 AND S4) OR S5)", *"abcde")})
    _, playing = played(sandbox, models, options={"d_max": 2}, environment=environment())
    assert handed(playing) == dict(zip((GOAL, *"abcde"), reports, strict=True))


@pytest.mark.parametrize("restore", [False, True])
def test_the_actions_of_failed_executors_can_be_undone(sandbox: Sandbox, restore: bool) -> None:
    """Executors see the position that they are really in, and in both cases an undone action counts as an action."""
    opened = f"agent.open('box_{2 if 'box_1' in GOAL else 1}')"
    does = {GOAL: f"agent.touch('x')\n{FAIL}", "a": touch_claim("a"), "b": f"{opened}\n{FAIL}", "c": "finish(True)"}
    models = SubtaskModels(does, {GOAL: plan_reply("S1 AND (S2 OR S3)", *"abc")})
    ending, playing = played(sandbox, models, options={"restore_failed": restore, "d_max": 2})
    assert ending.actions == 3
    assert [step.undone for step in playing.steps] == [restore, False, restore]
    assert [str(action) for action, _ in playing.environment.history].count("touch('x')") == (not restore)
    assert handed(playing) == {
        GOAL: "",
        "a": "" if restore else STATE.strip(),
        "b": touch_report("a"),
        "c": touch_report("a") if restore else touch_report("a") + STATE,
    }


def test_executors_hand_on_the_notes_of_all_successful_subtasks_up_to_a_limit(sandbox: Sandbox) -> None:
    names = [f"part {number}" for number in range(MAX_NOTES + 2)]
    does = {name: f"finish(True, 'note of {name}.')" for name in names}
    plan = plan_reply(" AND ".join(f"S{number}" for number in range(1, len(names) + 1)), *names)
    _, playing = played(sandbox, SubtaskModels(does, {GOAL: plan}), environment=NoteHandoffToy())
    assert handed(playing)[names[2]] == "0 done. note of part 0. note of part 1."
    assert handed(playing)[names[-1]] == "0 done. " + " ".join(f"note of {name}." for name in names[1:-1])


@pytest.mark.parametrize("environment", [TouchToy, NoteHandoffToy])
def test_only_a_planner_whose_environment_takes_notes_sees_failed_subtasks(
    sandbox: Sandbox, environment: type[TouchToy]
) -> None:
    """A subtask is listed once its executor has failed, whether or not its parts succeed later."""
    plans = {GOAL: plan_reply("S1 AND S2", "a", "b"), "a": plan_reply("S1", "c"), "b": plan_reply("S1", "d")}
    models = SubtaskModels({"c": "finish(True)"}, plans)
    played(sandbox, models, environment=environment())
    failed = [prompt.partition("# Subtasks that failed earlier\n\n")[2] for prompt in models.prompts("planner")]
    listed = ["", f"- {GOAL}\n", f"- {GOAL}\n- a\n"] if environment is NoteHandoffToy else [""] * 3
    assert [text.partition("\n#")[0] for text in failed] == listed


@pytest.mark.parametrize("environment", [TouchToy, StateHandoffToy])
def test_the_note_of_a_failure_reaches_no_other_prompt(sandbox: Sandbox, environment: type[TouchToy]) -> None:
    """Subtasks fail at every depth, with and without actions, and one succeeds. No code has the whole note."""
    first, second = NOTE[:9], NOTE[9:]
    does = {
        GOAL: f"note = '{first}' + '{second}'\nagent.touch('x')\nfinish(False, note)",
        "l": touch_claim("l"),
        "m2": ["agent.touch('m2')", f"finish(False, '{first}' '{second}')"],
        "r": f"import math\nfinish(note='{first}' + '{second}', done=False)",
    }
    plans = {
        GOAL: plan_reply("(S1 AND S2) OR S3", "l", "m", "r"),
        "m": plan_reply("S1 OR S2", "m1", "m2"),
        "r": plan_reply("S1 AND S2", "l", "r2"),
    }
    models = SubtaskModels(does, plans)
    _, playing = played(sandbox, models, environment=environment())
    of_executors = [claim for claim in recorded_subtasks(playing) if claim["by"] == "executor"]
    assert [claim["note"] for claim in of_executors if not claim["done"]] == [NOTE] * 6
    for role, messages, _ in models.asked:
        assert not any(NOTE in message.content for message in messages if message.role != "assistant"), role
    assert NOTE not in models.all_text("planner")
    assert [role for role, _ in models.calls].count("executor") == len(of_executors)


def test_every_subtask_has_its_own_namespace(sandbox: Sandbox) -> None:
    does = {
        GOAL: f"secret = 1\nagent.touch('x')\n{FAIL}",
        "a": ["mine = 'a'\ndef tool():\n    return mine\ntool()", "agent.touch(tool())\nfinish(True)"],
        "b": ["print(secret)", "print(tool())", "achieve('a')", touch_claim("b")],
    }
    _, playing = played(sandbox, SubtaskModels(does, {GOAL: plan_reply("S1 AND S2", *"ab")}))
    kinds = [cell.feedback.kind for cell in playing.cells if cell.scope.endswith("execute/1")]
    assert kinds == [*[FeedbackKind.CHECK] * 3, FeedbackKind.UNFINISHED]
    assert [claim["done"] for claim in recorded_subtasks(playing) if claim["text"] == "a"] == [True]


def test_every_subtask_is_recorded_with_its_claim(sandbox: Sandbox) -> None:
    plans = {GOAL: plan_reply("S1 AND (S2 OR S3)", "a", "b", "c"), "b": "no plan", "c": plan_reply("S1", "d")}
    ending, playing = played(sandbox, SubtaskModels({"a": touch_claim("a"), "d": SOLVE}, plans))
    assert ending.outcome is Outcome.DIRECT_SUCCESS, "a subtask without a plan is not an error"
    assert claim_rows(playing) == [
        ("executor", GOAL, 1, False),
        ("executor", "a", 2, True),
        ("executor", "b", 2, False),
        ("planner", "b", 2, False),
        ("executor", "c", 2, False),
        ("executor", "d", 3, None),
        ("planner", "c", 2, None),
        ("planner", GOAL, 1, None),
    ]
    first, *_, last = recorded = recorded_subtasks(playing)
    common = {"by": "executor", "text": GOAL, "depth": 1, "handed": ""}
    assert first == {**common, "done": False, "note": NOTE, "replies": 1}
    assert recorded[3]["note"].startswith("the planner gave no usable reply to adapt/plan.j2: the plan has no")
    assert last["note"] == "The environment's episode is over."
    assert {cell.thought.text for cell in playing.cells if cell.source == "planner"} == {"# Think: so."}


@pytest.mark.parametrize(
    ("code", "outcome", "kind"),
    [
        (
            f"try:\n{indent(SOLVE, '    ')}\nfinally:\n    agent.touch('more')",
            Outcome.DIRECT_SUCCESS,
            FeedbackKind.DONE,
        ),
        (
            "try:\n    while True:\n        agent.touch('x')\nexcept BaseException:\n    finish(True)",
            Outcome.OUT_OF_BUDGET,
            FeedbackKind.LIMIT,
        ),
    ],
)
def test_an_episode_that_ends_during_a_subtask_ends_at_every_level(
    sandbox: Sandbox, code: str, outcome: Outcome, kind: FeedbackKind
) -> None:
    plans = {
        GOAL: plan_reply("S1 OR S2", "one", "x"),
        "one": plan_reply("S1 AND S2", "two", "y"),
        "two": plan_reply("S1 OR S2", "z", "three"),
    }
    models = SubtaskModels({"three": code}, plans)
    ending, playing = played(sandbox, models, options={"d_max": 4}, actions=15)
    assert (ending.outcome, ending.cause) == (outcome, "" if ending.outcome.solved else "out_of_budget")
    assert models.calls[-1] == ("executor", "three")
    assert str(playing.steps[-1].action).startswith("put(" if ending.outcome.solved else "touch('x'")
    assert [done for *_, done in claim_rows(playing)[-4:]] == [None] * 4
    assert [cell.feedback.kind for cell in playing.cells[-4:]] == [kind] * 4
    last_events = [body.get("at", kind) for (_, kind, _), body in journal_of(playing).events.items()][-10:]
    assert last_events == ["cell", "end"] * 4 + ["moment", "outcome"], "the moment event is the claim of the task"


def test_an_action_without_a_docstring_is_listed_by_name(sandbox: Sandbox) -> None:
    class Undocumented(TouchToy):
        @action()
        def knock(self) -> Observation:
            return Observation("Knock, knock.")

    models = SubtaskModels()
    played(sandbox, models, environment=Undocumented())
    assert "- `knock`: \n" in models.all_text("planner")


@pytest.mark.parametrize("informed", [False, True])
def test_only_an_informed_planner_sees_why_the_executor_gave_up(sandbox: Sandbox, informed: bool) -> None:
    models = SubtaskModels(planner={GOAL: plan_reply("S1", "one")})
    played(sandbox, models, options={"d_max": 2, "iterations": 1, "informed_planner": informed})
    [prompt] = models.prompts("planner")
    for detail in (NOTE, "it has 1 reply, each", "cannot be divided any further"):
        assert (detail in prompt) == informed
    assert NOTE not in models.all_text("executor")


def test_an_answer_is_a_claim_of_success_on_every_level(sandbox: Sandbox) -> None:
    """The answer is wrong, which the executor does not know."""
    does = {"a": "finish(True)", "b": "agent.stop('7')\nfinish(True)"}
    ending, playing = played(
        sandbox, SubtaskModels(does, {GOAL: plan_reply("S1 AND S2", "a", "b")}), environment=AnsweringToy()
    )
    assert ending.verdict.solved is False
    assert claim_rows(playing) == [
        ("executor", GOAL, 1, False),
        ("executor", "a", 2, True),
        ("executor", "b", 2, True),
        ("planner", GOAL, 1, True),
    ]


def test_if_neither_the_executor_nor_the_planner_is_usable_the_message_names_both(sandbox: Sandbox) -> None:
    ending, _ = played(sandbox, SubtaskModels({GOAL: "no code here"}), "adapt")
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, "no_plan")
    executor, _, planner = ending.message.partition("; the planner ")
    assert executor.startswith("the executor gave no usable reply to executor/task.j2: ")
    assert planner.startswith("gave no usable reply to adapt/plan.j2: ")


def test_the_naive_buyer_takes_the_first_result_without_a_model(sandbox: Sandbox) -> None:
    shopping = load_environment("shopping")
    [task] = shopping.select(Selection(ids=("example/541",)))
    ending, playing = played(sandbox, None, "naive", environment=shopping(), task=task)
    assert ending.actions == 3
    assert 0.0 < ending.verdict.score < 1.0
    assert str(playing.environment.history[0][0]) == f"search({task.goal!r})"


def test_the_naive_buyer_gives_up_in_an_environment_without_a_naive_plan(sandbox: Sandbox) -> None:
    ending, _ = played(sandbox, None, "naive")
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "no_plan", 0)
