"""DEP in a household: a scripted controller reaches each goal by possible actions."""

import re
from collections.abc import Mapping, Sequence

from planbook.envs import Action, Selection
from planbook.envs.alfworld import Alfworld
from planbook.planner import Message, Model, Outcome, Sampling, ScriptedModel
from planbook.planner.strategies.deps.text_matching import GoalMatcher
from planbook.sandbox import Sandbox
from tests.planner.camp import code, goal_events
from tests.planner.players import played

TASK = Alfworld.tasks(Selection(split="generated", types=("pick_and_place",), seeds=(0,)))[0]
KIND, TARGET = str(TASK.params["object"]), f"{TASK.params['target']}_1"


class Household:
    """Models whose first plan does not look for the object. The controller searches until it sees one."""

    def __init__(self) -> None:
        self.visited: list[str] = []

    def model(self, role: str) -> Model:
        def answer(messages: Sequence[Message], sampling: Sampling) -> str:
            asked = messages[-1].content
            if role == "explainer":
                return f"Nobody knows yet where a {KIND} is: find one first."
            return self._plan(asked) if role == "planner" else self._steer(asked)

        return ScriptedModel(answer)

    def _plan(self, asked: str) -> str:
        if found := re.search(r"Done: agent\.find\('\w+'\): it is in (\w+)", asked):
            return f"So:\n#1 pick {KIND} {found[1]}\n#2 put {KIND} {TARGET}"
        first = f"agent.find('{KIND}')" if "find one first" in asked else f"agent.pick('{KIND}', '{TARGET}')"
        return code(f"{first}\nagent.heat('{KIND}', 'microwave_9')")

    def _steer(self, asked: str) -> str:
        name = re.findall(r"The goal: agent\.(\w+)", asked)[0]
        listed = {call: number for number, call in re.findall(r"(\d+)\. agent\.(.*)", asked)}
        if name == "heat":
            return "Answer: impossible: there is no microwave_9"
        if name == "find":
            seen = re.search(rf"[OI]n (\w+), you see .*{KIND}_", asked)
            return f"Answer: done: it is in {seen[1]}" if seen else f"Answer: {listed[self._next_look(listed)]}"
        wanted = f"take_from('{KIND}_" if name == "pick" else f"put_in_or_on('{KIND}_"
        there = [call for call in listed if call.startswith(wanted) and (name == "pick" or TARGET in call)]
        if there:
            return f"Answer: {listed[there[0]]}"
        if name == "pick":
            return "Answer: done" if "holding nothing" not in asked else f"Answer: impossible: no {KIND} here"
        return f"Answer: {listed[f'go_to({TARGET!r})']}"

    def _next_look(self, listed: Mapping[str, str]) -> str:
        ways = [call for call in listed if call.startswith(("open", "go_to")) and call not in self.visited]
        self.visited.append(sorted(ways, key=lambda call: not call.startswith("open"))[0])
        return self.visited[-1]


def test_replanning_solves_a_household_task(sandbox: Sandbox) -> None:
    options = {"controller_steps": 30}
    ending, playing = played(
        sandbox, Household(), "dep", environment=Alfworld(), task=TASK, actions=50, options=options
    )
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    tried = [(event["chosen"].partition("(")[0], event["done"]) for event in goal_events(playing)]
    assert tried == [
        ("agent.pick", False),
        ("agent.find", True),
        ("agent.heat", False),
        ("agent.pick", True),
        ("agent.put", True),
    ]
    assert goal_events(playing)[-1]["said"] == f"put {KIND} {TARGET}"
    assert {cell.source for cell in playing.cells} == {"planner", "controller"}
    assert all(step.action.name in Alfworld.actions for step in playing.steps)


def test_a_line_is_mapped_to_a_goal_of_this_room() -> None:
    environment = Alfworld()
    environment.reset(TASK)
    known, nearest = environment.goals.known(), GoalMatcher(environment.goals).nearest
    assert nearest(f"pick up the {KIND} in {TARGET}") == Action("pick", (KIND, TARGET))
    assert nearest(f"clean {KIND} with sinkbasin 1") == Action("clean", (KIND, "sinkbasin_1"))
    assert nearest("open drawer 3") == Action("open", ("drawer_3",))
    assert Action("clean", (KIND, TARGET)) not in known
    assert nearest("sing a song") is None
    assert nearest(f"put the {KIND} down") is None, "a place must be named"
    assert all(nearest(f"agent.{goal}") == goal for goal in known)
