"""The baselines of DEPS and its controller, each in whole episodes."""

from typing import Any

import pytest

from planbook.envs import Action, ActionSpec, Goals, Observation
from planbook.envs.toy import Toy
from planbook.planner import Ending, Episode, Outcome
from planbook.planner.strategies.deps.pursuit import Move, read_move
from planbook.sandbox import Sandbox
from tests.planner.camp import LOGS, PICKAXE, PLANKS, STICKS, WHOLE, RoleModels, code, goal_events, played
from tests.planner.episode_kit import TASK, FixedMemory

SHOWN = ("goals", "thoughts", "assertions", "policies")
MEMORY = FixedMemory(text="Logs come first.", demonstrations={name: f"As {name} do." for name in SHOWN})


class FetchingGoals(Goals):
    """Goals that each take several actions: to fetch a thing."""

    direct = False

    @property
    def specs(self) -> dict[str, ActionSpec]:
        return {"fetch": ActionSpec("fetch", _fetch, "Bring a thing to the table.")}


def _fetch(environment: object, thing: str) -> Observation:
    raise AssertionError("a goal is no action")


class FetchingToy(Toy):
    """The toy environment with goals for a controller."""

    @property
    def goals(self) -> FetchingGoals:
        return FetchingGoals(self)

    def possible_actions(self) -> list[Action] | None:
        boxes = [Action("open", (box,)) for box in self._boxes]
        takes = [Action("take", (thing, box)) for box in sorted(self._open) for thing in self._boxes[box]]
        return [*boxes, *(takes if self._holding == "nothing" else [Action("put", (self._holding,))])]


class UnlistedToy(FetchingToy):
    """An environment that cannot list its possible actions."""

    def possible_actions(self) -> None:
        return None


@pytest.mark.parametrize("planner", ["zero-shot", "chain-of-thought", "zero-shot-replan", "dep", "deps"])
def test_each_method_follows_a_plan_of_goals(sandbox: Sandbox, planner: str) -> None:
    models = RoleModels(planner=[code(WHOLE)])
    ending, playing = played(sandbox, models, planner, memory=MEMORY)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert len(playing.steps) == 4
    system = models.asked("planner")[0][0].content
    assert "Logs come first." in system
    shown = {"chain-of-thought": ["thoughts"], "zero-shot": ["goals"], "zero-shot-replan": ["goals"]}
    assert [name for name in SHOWN if f"As {name} do." in system] == shown.get(planner, [])


@pytest.mark.parametrize("planner", ["zero-shot", "chain-of-thought"])
@pytest.mark.parametrize("shows_state", [True, False])
def test_methods_that_plan_once_never_replan_and_may_ignore_the_state(
    sandbox: Sandbox, planner: str, shows_state: bool
) -> None:
    models = RoleModels(planner=[code(PICKAXE)])
    ending, playing = played(sandbox, models, planner, options={"shows_state": shows_state})
    assert (ending.outcome, len(playing.steps)) == (Outcome.FAILURE, 1)
    assert ("You hold nothing." in models.prompts()[0]) is shows_state


def test_zero_shot_replan_shows_only_the_failure(sandbox: Sandbox) -> None:
    models = RoleModels(planner=[code(f"{LOGS}\n{PICKAXE}"), code(f"{PLANKS}\n{STICKS}"), code(PICKAXE)])
    ending, _ = played(sandbox, models, "zero-shot-replan")
    assert ending.outcome.solved
    prompt = models.prompts()[1]
    assert "agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2}) failed: Nothing happens: pickaxe takes" in prompt
    assert "You hold" not in prompt
    assert "The task is not done." in models.prompts()[2]


def test_inner_monologue_names_one_goal_at_a_time(sandbox: Sandbox) -> None:
    replies = [code(WHOLE), code(PICKAXE), "Logs make planks.\n1. craft 4 planks from 1 log", "It is enough.\nDONE."]
    models = RoleModels(planner=replies)
    ending, playing = played(sandbox, models, "inner-monologue")
    assert ending.outcome is Outcome.FAILURE
    assert [step.action.name for step in playing.steps] == ["mine", "craft", "craft"]
    _, second, third, fourth = models.prompts()
    assert "agent.mine({'log': 3}, None) was reached: You mine" in second
    assert "Current state: You hold 3 log." in second
    assert "was not reached: Nothing happens: pickaxe takes" in third
    assert '"craft 4 planks from 1 log" was replaced by this goal.' in fourth
    assert "1 pickaxe" in models.conversation_text(3), "the whole conversation is in the prompt"


@pytest.mark.parametrize("reply", [f"{code(LOGS)}\nDONE", f"{LOGS}\nDONE", f"I mine.\n{LOGS}\nDONE."])
def test_inner_monologue_reaches_a_goal_that_is_named_before_done(sandbox: Sandbox, reply: str) -> None:
    models = RoleModels(planner=[reply, "DONE"])
    _, playing = played(sandbox, models, "inner-monologue")
    assert [step.action.name for step in playing.steps] == ["mine"]
    assert "was reached" in models.prompts()[1]


def test_inner_monologue_ends_with_the_actions(sandbox: Sandbox) -> None:
    models = RoleModels(planner=[code(PICKAXE)] * 9)
    ending, playing = played(sandbox, models, "inner-monologue", actions=5)
    assert (ending.outcome, len(playing.steps), len(models.prompts())) == (Outcome.FAILURE, 5, 5)


PROGRAM = f"""
def obtain(agent):
    assert "log" not in agent.inventory(), "there is wood already"
    {LOGS}
    assert agent.inventory().get("sand", 0) >= 1, "no sand"
    {PLANKS}

obtain(agent)
"""


def test_a_failed_assertion_ends_a_program(sandbox: Sandbox) -> None:
    ending, playing = played(sandbox, RoleModels(planner=[code(PROGRAM)]), "progprompt")
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, "raised")
    assert "no sand" in playing.feedbacks[-1].text
    assert len(playing.steps) == 1


# Goals that take more than one action.


def fetched(
    sandbox: Sandbox, models: RoleModels, environment: Toy, planner: str = "dep", **options: Any
) -> tuple[Ending, Episode]:
    return played(sandbox, models, planner, environment=environment, task=TASK, options=options)


def test_a_description_has_the_reason_of_the_controller(sandbox: Sandbox) -> None:
    controller = ["Answer: 1", "Hm.", "Answer: 99", "I see none.\nAnswer: impossible: no key in box_1", "Answer: done"]
    models = RoleModels(
        planner=[code("agent.fetch('key')")] * 2, controller=controller, explainer=["The key is elsewhere."]
    )
    ending, playing = fetched(sandbox, models, FetchingToy(), rounds=1)
    assert ending.outcome is Outcome.FAILURE
    assert len(playing.steps) == 1
    assert "Result: no key in box_1" in models.prompts()[1]
    assert "the last line contains no decision" in models.prompts("controller")[2]
    assert "the list goes from 1 to" in models.prompts("controller")[3]
    assert [(goal["done"], goal["actions"]) for goal in goal_events(playing)] == [(False, 1), (True, 0)]


def test_a_controller_is_asked_again_after_its_last_action(sandbox: Sandbox) -> None:
    models = RoleModels(planner=[code("agent.fetch('key')")], controller=["Answer: 1"] * 3)
    ending, playing = fetched(sandbox, models, FetchingToy(), rounds=0, controller_steps=2)
    assert (ending.outcome, len(playing.steps)) == (Outcome.FAILURE, 2)
    assert "No actions are left" in models.prompts("controller")[2]


def test_a_plan_cannot_take_actions(sandbox: Sandbox) -> None:
    plan = "act = [agent.open][0]\nact('box_1')"
    models = RoleModels(
        planner=[code(plan), code("agent.open('box_1')"), code("agent.fetch('key')")], controller=["Answer: done"]
    )
    _, playing = fetched(sandbox, models, FetchingToy(), rounds=0)
    assert playing.steps == []
    assert "agent.open is not a goal" in models.prompts()[1]
    assert "these lines name no goal:\nagent.open('box_1')" in models.prompts()[2]


def test_a_controller_needs_a_list_of_possible_actions(sandbox: Sandbox) -> None:
    ending, _ = fetched(sandbox, RoleModels(planner=[code("agent.fetch('key')")]), UnlistedToy())
    assert ending.outcome is Outcome.BROKEN
    assert "must implement possible_actions()" in ending.message


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("So.\nAnswer: 3", Move(2)),
        ("`Answer: 3`", Move(2)),
        ("So the answer is 2.", Move(1)),
        ("**Answer: done**", Move(None, True)),
        ("Answer: Impossible: there is no mug", Move(None, False, "there is no mug")),
        ("impossible", Move(None, False, "The controller found it impossible.")),
        ("**2.**", Move(1)),
        ("**Answer**: 3 (open drawer_2)", Move(2)),
        ("Answer: done: 2 mugs are in drawer_1", Move(None, True, "2 mugs are in drawer_1")),
    ],
)
def test_a_decision_is_read_from_the_last_line(text: str, move: Move) -> None:
    assert read_move(text, 3) == move


@pytest.mark.parametrize(
    "text",
    [
        *("", "Open box 1", "Answer: 0", "Answer: 4", f"Answer: {'9' * 5000}"),
        "2 boxes look promising, I cannot tell",
        "Done looking here; next I would open drawer_2",
        "The answer: 3 or 2",
        "Answer: 2 is impossible, so done",
        "I cannot answer 2 questions",
    ],
)
def test_a_reply_without_a_decision_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no decision|no action"):
        read_move(text, 3)
