"""AutoManual's planner on the toy environment: replans, prompts and knowledge."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import JsonValue

from planbook.envs import Task
from planbook.envs.toy import Toy
from planbook.planner import Ending, Episode, FeedbackKind, Memory, MemoryJournal, Outcome
from planbook.planner.strategies.automanual import AutoManualOptions
from planbook.sandbox import Sandbox
from tests.planner import episode_kit
from tests.planner.episode_kit import TASK, FixedMemory, kinds
from tests.planner.streaming_kit import PieceModel

LOOK = "seen = [agent.open(f'box_{n}') for n in (1, 2)]"
RAISES = "agent.open('box_1')\nassert False, '[Step 1] no key'"
REFUSED = "agent.opne('box_1')"
SOLVE = """
def fetch(agent, task):
    for number in range(1, 9):
        if task.params["things"][0] in agent.open(f"box_{number}").partition("you see ")[2]:
            agent.take(task.params["things"][0], f"box_{number}")
            agent.put(task.params["things"][0])
"""
DONE = f"{SOLVE}fetch(agent, task)"


class PausingToy(Toy):
    """An environment in which plans pause to look at the result."""

    pauses = True


class SubmittingToy(Toy):
    """An environment that cannot tell whether its task is done, so that a plan must say it."""

    submits, answer_action = True, "put"


class SecretiveToy(Toy):
    """An environment whose tasks have parameters that models must not see."""

    @classmethod
    def public_params(cls, task: Task) -> Mapping[str, JsonValue]:
        return {"color": "red"}


def planning(*codes: str) -> PieceModel:
    """Return a model that replies with these plans."""
    return PieceModel([f"### Understanding\nSo.\n### Code\n```python\n{code}\n```" for code in codes])


def played(sandbox: Sandbox, model: PieceModel, *, actions: int = 30, **arguments: Any) -> tuple[Ending, Episode]:
    """Play the toy task. Arguments other than those of an episode are options of the method."""
    settings = {name: arguments.pop(name) for name in ("environment", "memory", "journal") if name in arguments}
    return episode_kit.played(sandbox, model, "automanual", options=arguments, actions=actions, **settings)


def test_a_plan_that_is_mended_is_an_indirect_success(sandbox: Sandbox) -> None:
    model = planning(REFUSED, RAISES, DONE)
    ending, playing = played(sandbox, model)
    assert (ending.outcome, ending.error_steps) == (Outcome.INDIRECT_SUCCESS, 2)
    assert kinds(playing) == ["check", "raised", "done"]
    assert "no action or attribute opne" in model.prompts[1]
    assert "[Step 1] no key" in model.prompts[2]
    assert "Current state: You hold nothing." in model.prompts[2]


@pytest.mark.parametrize(
    ("environment", "outcome", "errors", "told"),
    [
        (PausingToy, Outcome.DIRECT_SUCCESS, 0, "; the task is not done yet."),
        (SubmittingToy, Outcome.DIRECT_SUCCESS, 0, ". Call agent.put(value) when the task is done."),
        (Toy, Outcome.INDIRECT_SUCCESS, 1, "; the task is not done yet."),
    ],
)
def test_a_plan_that_stops_early_is_an_error_unless_plans_pause_or_end_the_task(
    sandbox: Sandbox, environment: type[Toy], outcome: Outcome, errors: int, told: str
) -> None:
    model = planning(f"{LOOK}\n# Pause here: look", f"assert len(seen) == 2\n{DONE}")
    ending, playing = played(sandbox, model, environment=environment())
    assert (ending.outcome, ending.error_steps) == (outcome, errors)
    assert f"The code ran to its end{told}\n" in model.prompts[1]
    assert kinds(playing) == ["unfinished", "done"]


@pytest.mark.parametrize(
    ("environment", "options", "replies"),
    [(Toy, {}, 4), (PausingToy, {}, 7), (Toy, {"replans": 0}, 1), (PausingToy, {"replans": 1}, 2)],
)
def test_the_number_of_replans_is_limited(
    sandbox: Sandbox, environment: type[Toy], options: dict[str, Any], replies: int
) -> None:
    model = planning(RAISES)
    ending, playing = played(sandbox, model, environment=environment(), **options)
    assert len(model.asked) == len(playing.feedbacks) == replies
    assert (ending.outcome, ending.cause, ending.error_steps) == (Outcome.FAILURE, "raised", replies)
    left = [
        "last reply" if "This is your last reply" in prompt else prompt.split("You have ")[1].split(" replies")[0]
        for prompt in model.prompts[1:]
    ]
    assert left == [*map(str, range(replies - 1, 1, -1)), *["last reply"] * (replies > 1)]


def test_replies_that_stay_unusable_are_a_failure_of_kind_parse(sandbox: Sandbox) -> None:
    journal, model = MemoryJournal(), PieceModel(["I would look into the boxes."])
    ending, playing = played(sandbox, model, journal=journal)
    assert len(model.asked) == 3, "one reply and two repairs"
    assert (ending.outcome, ending.cause, ending.error_steps) == (Outcome.FAILURE, "parse", 1)
    (feedback,) = playing.feedbacks
    assert feedback.kind is FeedbackKind.PARSE
    assert "no Python code" in feedback.text
    assert played(sandbox, PieceModel([]), journal=journal)[0] == ending, "resuming asks nothing"


def test_a_reply_that_only_defines_functions_is_asked_again_and_costs_no_replan(sandbox: Sandbox) -> None:
    model = planning(SOLVE, DONE)
    ending, playing = played(sandbox, model, replans=0)
    assert (ending.outcome, kinds(playing)) == (Outcome.DIRECT_SUCCESS, ["done"])
    assert "only defines functions" in model.prompts[1]


def test_an_unusable_reply_after_a_plan_fails_the_episode(sandbox: Sandbox) -> None:
    ending, playing = played(sandbox, PieceModel([f"```python\n{LOOK}\n```", "Done!"]))
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "parse", 2)
    assert ending.message.startswith("the planner gave no usable reply to ")
    assert kinds(playing) == ["unfinished", "parse"]


def test_params_that_models_may_not_know_are_hidden_from_plans_too(sandbox: Sandbox) -> None:
    model = planning("print(task.params, task.goal)")
    _, playing = played(sandbox, model, environment=SecretiveToy(), replans=0)
    assert playing.feedbacks[0].output == f"{{'color': 'red'}} {TASK.goal}\n"
    assert "params" not in model.prompts[0].split("# The task")[1]


def test_the_options_shape_the_instructions(sandbox: Sandbox) -> None:
    def system(environment: Toy | None = None, memory: Memory | None = None, **options: Any) -> str:
        model = planning(DONE)
        played(sandbox, model, environment=environment, memory=memory, **options)
        return model.asked[0][0].content

    default, pausing = system(), system(PausingToy())
    functions = "Write code that could be useful in other tasks as functions"
    assert ["### Rules" in text for text in (default, system(cooperation=False))] == [True, False]
    assert [functions in text for text in (default, system(helper_methods=False))] == [True, False]
    assert ["### Plan" in text for text in (default, system(segments=False))] == [True, False]
    assert ["Pause here" in text for text in (default, pausing)] == [False, True]
    assert "# An example" not in default
    assert system(memory=FixedMemory(example="Once, a lamp.")).endswith("# An example\n\nOnce, a lamp.")


@pytest.mark.parametrize(
    ("segments", "request_text"), [(True, "Fill in `### Mistakes`"), (False, "Answer with one block of Python again.")]
)
def test_feedback_asks_for_segments_or_code_alone(sandbox: Sandbox, segments: bool, request_text: str) -> None:
    model = planning("agent.look_at('nothing')", DONE)
    played(sandbox, model, segments=segments)
    assert request_text in model.prompts[1]


def test_unknown_and_negative_options_are_refused() -> None:
    for wrong in ({"replans": -1}, {"cooperate": True}):
        with pytest.raises(ValueError, match=r"cooperate|greater than or equal to 0"):
            AutoManualOptions.model_validate(wrong)
