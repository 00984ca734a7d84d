"""A small environment for tests of DEPS, in which the order of goals matters, and scripted models for its roles."""

from collections.abc import Mapping, Sequence
from typing import Any

from planbook.envs import Action, Environment, Features, Goals, Observation, Selection, Task, Verdict, action, query
from planbook.planner import Ending, Episode, Message, Model
from planbook.sandbox import Sandbox
from tests.planner import episode_kit
from tests.planner.episode_kit import Replies, journal_of
from tests.spanning import span_data

DISTANCES = {"oak_log": 30, "birch_log": 10, "sand": 20, "cobblestone": 5}
"""Maps each source to the number of steps to it, which is the time that mining there takes."""
YIELDS = {"oak_log": "log", "birch_log": "log"}
RECIPES: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "planks": (4, {"log": 1}),
    "stick": (4, {"planks": 2}),
    "pickaxe": (1, {"planks": 3, "stick": 2}),
    "box": (1, {"planks": 4}),
    "furnace": (1, {"cobblestone": 2}),
}


class CampGoals(Goals):
    """The goals: mining and crafting, with materials and distances."""

    environment: "Camp"

    def is_open(self, goal: Action) -> bool:
        tool = goal.args[1] if goal.name == "mine" and len(goal.args) > 1 else None
        takes = {**self.materials(goal), **({str(tool): 1} if tool else {})}
        return all(self.environment.held.get(item, 0) >= count for item, count in takes.items())

    def materials(self, goal: Action) -> Mapping[str, int]:
        return _amounts(goal, 1) if goal.name == "craft" else {}

    def routes(self, goal: Action) -> Sequence[Action]:
        if goal.name != "mine" or "log" not in _amounts(goal):
            return (goal,)
        amount = _amounts(goal)["log"]
        return (goal, *(Action("mine", ({kind: amount}, None)) for kind in ("oak_log", "birch_log")))

    def features(self, goal: Action) -> Features:
        return {"kind": goal.name, "far": float(self.horizon(goal))}

    def horizon(self, goal: Action) -> float:
        if goal.name != "mine":
            return 1.0
        return float(max(DISTANCES.get(_source(name), 0) for name in _amounts(goal)))

    def list_goals(self) -> Sequence[Action]:
        mined = [Action("mine", ({name: 1}, None)) for name in (*DISTANCES, "log")]
        crafted = [Action("craft", ({name: count}, dict(of))) for name, (count, of) in RECIPES.items()]
        return [*mined, *crafted]


class Camp(Environment):
    """A camp with sources of material. A task names an item that must be held at the end."""

    name = "camp"
    about = "A camp in the woods, where things are mined and made."
    types = ("make",)
    action_limit = 30
    handoff = "state"

    @classmethod
    def tasks(cls, selection: Selection, options: Any = None) -> Sequence[Task]:
        return [
            Task(id=name, env="camp", split="all", type="make", goal=f"make 1 {name}", params={"item": name})
            for name in selection.ids or ("pickaxe",)
        ]

    def begin(self, task: Task) -> Observation:
        self.held: dict[str, int] = {}
        self.time = 0
        return Observation(f"{self.scene()} Your task is to: {task.goal}.")

    def scene(self) -> str:
        return "You stand in a camp. There are oaks and birches, sand, and a rock."

    def state(self) -> str:
        return f"You hold {', '.join(f'{count} {name}' for name, count in self.held.items()) or 'nothing'}."

    @property
    def goals(self) -> CampGoals:
        return CampGoals(self)

    @action("agent.mine({'log': 2}) -> 'You mine 2 log.'")
    def mine(self, obj: dict[str, int], tool: str | None = None) -> Observation:
        """Mine one kind of thing; cobblestone takes a pickaxe."""
        goal = Action("mine", (dict(obj), tool))
        return self._do(goal, {YIELDS.get(name, name): count for name, count in obj.items()}, {})

    @action("agent.craft({'planks': 4}, {'log': 1}) -> 'You craft 4 planks.'")
    def craft(self, obj: dict[str, int], materials: dict[str, int]) -> Observation:
        """Craft one kind of thing."""
        return self._do(Action("craft", (dict(obj), dict(materials))), obj, materials)

    @query("agent.inventory() -> {'log': 2}")
    def inventory(self) -> dict[str, Any]:
        """List what is held."""
        return dict(self.held)

    def refusal_of(self, goal: Action) -> str:
        """Return the reason why a goal cannot be reached now, or "" if it can."""
        name, count = next(iter(_amounts(goal).items()))
        if goal.name == "mine":
            if _source(name) not in DISTANCES:
                return f"there is no {name} here"
            return "cobblestone takes a pickaxe" if name == "cobblestone" and "pickaxe" not in self.held else ""
        makes, needs = RECIPES.get(name, (1, {"magic": 1}))
        times = -(-count // makes)
        short = [f"{n * times} {kind}" for kind, n in needs.items() if self.held.get(kind, 0) < n * times]
        return f"{name} takes {' and '.join(short)}, which you do not have" if short else ""

    def _do(self, goal: Action, gains: Mapping[str, int], losses: Mapping[str, int]) -> Observation:
        if reason := self.refusal_of(goal):
            return Observation(f"Nothing happens: {reason}.", accepted=False)
        self.time += int(self.goals.horizon(goal))
        for name, count in losses.items():
            self.held[name] = self.held.get(name, 0) - count
        for name, count in gains.items():
            self.held[name] = self.held.get(name, 0) + count
        self.held = {name: count for name, count in self.held.items() if count}
        return Observation(f"You {goal.name} {gains}.", terminated=self.verdict().solved)

    def verdict(self) -> Verdict:
        solved = bool(self.task) and str(self.task.params["item"]) in self.held  # type: ignore[union-attr]
        return Verdict(solved, float(solved))


def _amounts(goal: Action, number: int = 0) -> Mapping[str, int]:
    amounts: Any = goal.args[number]
    return dict(amounts)


def _source(name: str) -> str:
    return "oak_log" if name == "log" else name


class RoleModels:
    """A scripted model for each role. It gives its replies in order, and fails if it is asked once more."""

    def __init__(self, **replies: Sequence[str]) -> None:
        self._models = {role: Replies(*replies.get(role, ())) for role in ("planner", "explainer", "controller")}

    def model(self, role: str) -> Model:
        """Return the model of a role."""
        return self._models[role]

    def asked(self, role: str) -> list[Sequence[Message]]:
        """Return the messages of each request."""
        return self._models[role].asked

    def prompts(self, role: str = "planner") -> list[str]:
        """Return the last message of each request."""
        return [messages[-1].content for messages in self.asked(role)]

    def conversation_text(self, number: int, role: str = "planner") -> str:
        """Return all messages of a request as one text."""
        return "\n".join(message.content for message in self.asked(role)[number])


def code(text: str) -> str:
    """Return a reply with this code."""
    return f"So be it.\n```python\n{text}\n```"


LOGS = "agent.mine({'log': 3})  # step 1: mine 3 log"
PLANKS = "agent.craft({'planks': 12}, {'log': 3})  # step 2: craft 12 planks from 3 log"
STICKS = "agent.craft({'stick': 4}, {'planks': 2})  # step 3: craft 4 stick from 2 planks"
PICKAXE = "agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2})  # step 4: craft 1 pickaxe"
WHOLE = "\n".join((LOGS, PLANKS, STICKS, PICKAXE))
"""A plan that makes the pickaxe, and its lines."""
PICKAXE_TASK = Camp.tasks(Selection(ids=("pickaxe",)))[0]


def played(sandbox: Sandbox, models: RoleModels, planner: str = "deps", **settings: Any) -> tuple[Ending, Episode]:
    """Play a whole episode, by default for the pickaxe in the camp."""
    defaults = {"task": PICKAXE_TASK, "environment": Camp(), "actions": 30}
    return episode_kit.played(sandbox, models, planner, **{**defaults, **settings})


def goal_events(episode: Episode) -> list[dict[str, Any]]:
    """Return the recorded goals, in the order in which they ended."""
    return span_data(journal_of(episode), "goal")
