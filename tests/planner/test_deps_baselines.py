"""The planners that DEPS is compared with, and the controller: one whole episode each."""

from typing import Any

import pytest

from planbook.envs import Action, ActionSpec, Goals, Observation, Selection
from planbook.envs.toy import Toy
from planbook.planner import FeedbackKind, MemoryJournal, Outcome, Recall
from planbook.planner.strategies.deps.pursuit import Move, read_move
from planbook.sandbox import Sandbox
from tests.planner.camp import Voices, code, goal_events, played

LOGS = "agent.mine({'log': 3})"
PLANKS = "agent.craft({'planks': 12}, {'log': 3})"
STICKS = "agent.craft({'stick': 4}, {'planks': 2})"
PICKAXE = "agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2})"
WHOLE = "\n".join((LOGS, PLANKS, STICKS, PICKAXE))
TOY = Toy.tasks(Selection(ids=("fetch/0",)))[0]


SHOWN = ("goals", "thoughts", "assertions", "policies")


class Shows:
    """Shows one demonstration of each kind."""

    def recall(self, task: object) -> Recall:
        return Recall(text="Logs come first.", demonstrations={name: f"As {name} do." for name in SHOWN})


class FetchingGoals(Goals):
    """One goal, which takes several actions."""

    direct = False

    @property
    def specs(self) -> dict[str, ActionSpec]:
        return {"fetch": ActionSpec("fetch", _fetch, "Bring a thing to the table.")}


def _fetch(environment: object, thing: str) -> Observation:
    raise AssertionError("a goal is no action")


class Fetching(Toy):
    """The toy environment, with goals for a controller."""

    @property
    def goals(self) -> FetchingGoals:
        return FetchingGoals(self)

    def possible_actions(self) -> list[Action] | None:
        boxes = [Action("open", (box,)) for box in self._boxes]
        takes = [Action("take", (thing, box)) for box in sorted(self._open) for thing in self._boxes[box]]
        return [*boxes, *(takes if self._holding == "nothing" else [Action("put", (self._holding,))])]


class Unlisted(Fetching):
    """An environment that does not say what is possible."""

    def possible_actions(self) -> None:
        return None


@pytest.mark.parametrize("planner", ["zero-shot", "chain-of-thought", "zero-shot-replan", "dep", "deps"])
def test_each_of_them_follows_a_plan_of_goals(sandbox: Sandbox, planner: str) -> None:
    voices = Voices(planner=[code(WHOLE)])
    ending, playing = played(sandbox, voices, planner, memory=Shows())
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert len(playing.steps) == 4
    told = voices.asked["planner"][0][0].content
    assert "Logs come first." in told
    wanted = {"chain-of-thought": ["thoughts"], "zero-shot": ["goals"], "zero-shot-replan": ["goals"]}
    assert [name for name in SHOWN if f"As {name} do." in told] == wanted.get(planner, [])


@pytest.mark.parametrize("planner", ["zero-shot", "chain-of-thought"])
def test_what_is_planned_once_is_never_mended(sandbox: Sandbox, planner: str) -> None:
    voices = Voices(planner=[code(PICKAXE)])
    ending, playing = played(sandbox, voices, planner)
    assert (ending.outcome, len(playing.steps)) == (Outcome.FAILURE, 1)


def test_planning_anew_on_the_bare_failure_asks_no_explainer_and_tells_no_state(sandbox: Sandbox) -> None:
    voices = Voices(planner=[code(f"{LOGS}\n{PICKAXE}"), code(f"{PLANKS}\n{STICKS}"), code(PICKAXE)])
    ending, _ = played(sandbox, voices, "zero-shot-replan")
    assert ending.outcome.solved
    asked = voices.prompts()[1]
    assert "agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2}) failed: Nothing happens: pickaxe takes" in asked
    assert "You hold" not in asked
    assert "The task is not done." in voices.prompts()[2]


def test_the_inner_monologue_names_one_goal_at_a_time(sandbox: Sandbox) -> None:
    replies = [code(WHOLE), code(PICKAXE), "Logs make planks.\n1. craft 4 planks from 1 log", "It is enough.\nDONE."]
    voices = Voices(planner=replies)
    ending, playing = played(sandbox, voices, "inner-monologue")
    assert ending.outcome is Outcome.FAILURE
    assert [step.action.name for step in playing.steps] == ["mine", "craft", "craft"]
    _, second, third, fourth = voices.prompts()
    assert "agent.mine({'log': 3}, None) was reached: You mine" in second
    assert "There is now: You hold 3 log." in second
    assert "was not reached: Nothing happens: pickaxe takes" in third
    assert '"craft 4 planks from 1 log" was taken for this goal.' in fourth
    assert "1 pickaxe" in voices.whole(3), "all that was said before is still there"


def test_the_inner_monologue_ends_with_the_actions(sandbox: Sandbox) -> None:
    voices = Voices(planner=[code(PICKAXE)] * 9)
    ending, playing = played(sandbox, voices, "inner-monologue", actions=5)
    assert (ending.outcome, len(playing.steps), len(voices.prompts())) == (Outcome.FAILURE, 5, 5)


PROGRAM = f"""
def obtain(agent):
    # step 1: wood
    assert "log" not in agent.inventory(), "there is wood already"
    {LOGS}
    # step 2: planks
    assert agent.inventory().get("log", 0) >= 3, "too little wood"
    {PLANKS}
    {STICKS}
    assert agent.inventory().get("sand", 0) >= LEAST, "no sand"
    {PICKAXE}

obtain(agent)
"""
POLICY = f"""
for _ in range(5):
    if agent.inventory().get("log", 0) >= 3:
        break
    agent.mine({{'log': 1}})
{PLANKS}
{STICKS}
{PICKAXE}
"""


@pytest.mark.parametrize(
    ("planner", "program", "steps", "shown"),
    [("progprompt", PROGRAM.replace("LEAST", "0"), 4, "assertions"), ("code-as-policies", POLICY, 6, "policies")],
)
def test_a_program_is_run_as_it_stands(sandbox: Sandbox, planner: str, program: str, steps: int, shown: str) -> None:
    voices = Voices(planner=[code(program)])
    ending, playing = played(sandbox, voices, planner, memory=Shows())
    assert (ending.outcome, len(playing.steps)) == (Outcome.DIRECT_SUCCESS, steps)
    told = voices.asked["planner"][0][0].content
    assert "`agent.inventory() -> dict[str, typing.Any]`" in told
    assert [name for name in SHOWN if f"As {name} do." in told] == [shown]


def test_an_assertion_ends_a_program_for_good(sandbox: Sandbox) -> None:
    ending, playing = played(sandbox, Voices(planner=[code(PROGRAM.replace("LEAST", "1"))]), "progprompt")
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, "raised")
    assert playing.feedbacks[-1].kind is FeedbackKind.RAISED
    assert "no sand" in playing.feedbacks[-1].text


# Goals that take more than one action.


def fetched(sandbox: Sandbox, voices: Voices, environment: Toy, **options: Any) -> Any:
    journal = options.pop("journal", MemoryJournal())
    planner = options.pop("planner", "dep")
    return played(sandbox, voices, planner, environment=environment, task=TOY, journal=journal, **options)


def route(environment: Fetching) -> list[str]:
    """What a controller has to answer to fetch the task's thing, by number."""
    environment.reset(TOY)
    thing = TOY.params["things"][0]  # type: ignore[index]
    box = next(box for box, things in environment._boxes.items() if thing in things)
    answers = []
    for action in (Action("open", (box,)), Action("take", (thing, box)), Action("put", (thing,))):
        answers.append(f"So it is.\nAnswer: {(environment.possible_actions() or []).index(action) + 1}")
        environment.act(action)
    return answers


def test_a_controller_reaches_a_goal_action_by_action(sandbox: Sandbox) -> None:
    environment = Fetching()
    voices = Voices(planner=[code("agent.fetch('key')")], controller=route(environment))
    ending, playing = fetched(sandbox, voices, environment)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [step.action.name for step in playing.steps] == ["open", "take", "put"]
    first, second, _ = voices.prompts("controller")
    assert first.startswith("You see box_1")
    assert "The goal: agent.fetch('key')" in first
    assert "1. agent.open('box_1')" in first
    assert second.startswith("You open box_")
    assert TOY.goal not in voices.whole(2, "controller")
    assert "agent.open" not in voices.asked["planner"][0][0].content


def test_a_controller_says_why_it_cannot_and_the_planner_is_told(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    controller = ["Answer: 1", "Hm.", "Answer: 99", "I see none.\nAnswer: impossible: no key in box_1", "Answer: done"]
    voices = Voices(
        planner=[code("agent.fetch('key')")] * 2, controller=controller, explainer=["The key is elsewhere."]
    )
    ending, playing = fetched(sandbox, voices, Fetching(), rounds=1, journal=journal)
    assert ending.outcome is Outcome.FAILURE
    assert len(playing.steps) == 1
    assert "What the world said: no key in box_1" in voices.prompts()[1]
    assert "the last line holds no decision" in voices.prompts("controller")[2]
    assert "the list goes from 1 to" in voices.prompts("controller")[3]
    events = goal_events(journal)
    assert [(event["done"], event["actions"]) for event in events] == [(False, 1), (True, 0)]


def test_a_controller_has_so_many_actions_and_then_its_last_word(sandbox: Sandbox) -> None:
    voices = Voices(planner=[code("agent.fetch('key')")], controller=["Answer: 1"] * 3)
    ending, playing = fetched(sandbox, voices, Fetching(), rounds=0, controller_steps=2)
    assert (ending.outcome, len(playing.steps)) == (Outcome.FAILURE, 2)
    assert "There is no action left" in voices.prompts("controller")[2]


def test_a_plan_cannot_act_past_its_goals(sandbox: Sandbox) -> None:
    plan = "act = [agent.open][0]\nact('box_1')"
    voices = Voices(
        planner=[code(plan), code("agent.open('box_1')"), code("agent.fetch('key')")], controller=["Answer: done"]
    )
    _, playing = fetched(sandbox, voices, Fetching(), rounds=0)
    assert playing.steps == []
    assert "agent.open is no goal" in voices.prompts()[1] or "open" in voices.prompts()[1]
    assert "these lines name no goal:\nagent.open('box_1')" in voices.prompts()[2]


def test_an_environment_that_lists_no_actions_cannot_have_such_goals(sandbox: Sandbox) -> None:
    ending, _ = fetched(sandbox, Voices(planner=[code("agent.fetch('key')")]), Unlisted())
    assert ending.outcome is Outcome.BROKEN
    assert "must implement possible_actions()" in ending.message


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("So.\nAnswer: 3", Move(2)),
        ("`Answer: 3`", Move(2)),
        ("So the answer is 2.", Move(1)),
        ("2", Move(1)),
        ("**Answer: done**", Move(None, True)),
        ("Answer: Impossible: there is no mug", Move(None, False, "there is no mug")),
        ("impossible", Move(None, False, "The controller found it impossible.")),
    ],
)
def test_a_decision_is_read_from_the_last_line(text: str, move: Move) -> None:
    assert read_move(text, 3) == move


@pytest.mark.parametrize("text", ["", "Open box 1", "Answer: 0", "Answer: 4", "Answer: none", f"Answer: {'9' * 5000}"])
def test_what_decides_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no decision|no action"):
        read_move(text, 3)


def test_on_the_toy_environment_every_action_is_a_goal(sandbox: Sandbox) -> None:
    thing = TOY.params["things"][0]  # type: ignore[index]
    search = (
        f"for n in range(1, 5):\n    agent.open(f'box_{{n}}')\nagent.take('{thing}', 'box_1')\nagent.put('{thing}')"
    )
    voices = Voices(planner=[code(search)], explainer=[])
    _, playing = fetched(sandbox, voices, Toy(), planner="deps", rounds=0)
    assert [step.action.name for step in playing.steps][:4] == ["open"] * 4
