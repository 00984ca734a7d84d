"""A small environment in which order matters: mine wood and stone, and make things of them, while time passes."""

from collections.abc import Mapping, Sequence
from typing import Any

from planbook.envs import Action, Environment, Features, Goals, Observation, Selection, Task, Verdict, action, query
from planbook.planner import (
    Ending,
    Episode,
    EpisodeSettings,
    MemoryJournal,
    Message,
    Reply,
    Roles,
    Sampling,
    method,
    play,
)
from planbook.planner.memory import Memory
from planbook.planner.models.types import OnText
from planbook.sandbox import Limits, Sandbox
from tests.spanning import held

FAR = {"oak_log": 30, "birch_log": 10, "sand": 20, "cobblestone": 5}
"""Steps to each source, and so the time that mining there takes."""
GIVES = {"oak_log": "log", "birch_log": "log"}
RECIPES: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "planks": (4, {"log": 1}),
    "stick": (4, {"planks": 2}),
    "pickaxe": (1, {"planks": 3, "stick": 2}),
    "box": (1, {"planks": 4}),
    "furnace": (1, {"cobblestone": 2}),
}


class CampGoals(Goals):
    """What can be done, from what, and how far it is."""

    environment: "Camp"

    def refusal(self, goal: Action) -> str:
        return self.environment.why_not(goal)

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
        return float(max(FAR.get(_source(name), 0) for name in _amounts(goal)))

    def known(self) -> Sequence[Action]:
        mined = [Action("mine", ({name: 1}, None)) for name in (*FAR, "log")]
        crafted = [Action("craft", ({name: count}, dict(of))) for name, (count, of) in RECIPES.items()]
        return [*mined, *crafted]


class Camp(Environment):
    """The task names what must be held in the end."""

    name = "camp"
    about = "A camp in the woods, where things are mined and made."
    types = ("make",)
    action_limit = 30
    hands_on = "state"

    @classmethod
    def tasks(cls, selection: Selection, options: Any = None) -> Sequence[Task]:
        wanted = dict.fromkeys(selection.ids or ("pickaxe",), 1)
        return [
            Task(id=name, env="camp", split="all", type="make", goal=f"make 1 {name}", params={"item": name})
            for name in wanted
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
        return self._do(goal, {GIVES.get(name, name): count for name, count in obj.items()}, {})

    @action("agent.craft({'planks': 4}, {'log': 1}) -> 'You craft 4 planks.'")
    def craft(self, obj: dict[str, int], materials: dict[str, int]) -> Observation:
        """Make one kind of thing."""
        return self._do(Action("craft", (dict(obj), dict(materials))), obj, materials)

    @query("agent.inventory() -> {'log': 2}")
    def inventory(self) -> dict[str, Any]:
        """What is held."""
        return dict(self.held)

    def why_not(self, goal: Action) -> str:
        """Why a goal cannot be reached now; empty if it can."""
        name, count = next(iter(_amounts(goal).items()))
        if goal.name == "mine":
            if _source(name) not in FAR:
                return f"there is no {name} here"
            return "cobblestone takes a pickaxe" if name == "cobblestone" and "pickaxe" not in self.held else ""
        given, needs = RECIPES.get(name, (1, {"magic": 1}))
        times = -(-count // given)
        short = [f"{n * times} {kind}" for kind, n in needs.items() if self.held.get(kind, 0) < n * times]
        return f"{name} takes {' and '.join(short)}, which you do not have" if short else ""

    def _do(self, goal: Action, gains: Mapping[str, int], losses: Mapping[str, int]) -> Observation:
        if why := self.why_not(goal):
            return Observation(f"Nothing happens: {why}.", accepted=False)
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


class Voices:
    """Answers each role from its own list, and keeps what each was asked."""

    name = "voices"

    def __init__(self, **replies: Sequence[str]) -> None:
        self._replies = {role: list(texts) for role, texts in replies.items()}
        self.asked: dict[str, list[Sequence[Message]]] = {role: [] for role in ("planner", "explainer", "controller")}

    def speaking(self, role: str) -> "Voice":
        return Voice(self, role)

    def answer(self, role: str, messages: Sequence[Message]) -> str:
        self.asked[role].append(messages)
        left = self._replies.get(role, [])
        assert left, f"the {role} is asked once too often: {messages[-1].content}"
        return left.pop(0)

    def prompts(self, role: str = "planner") -> list[str]:
        """The last message of each question."""
        return [messages[-1].content for messages in self.asked[role]]

    def whole(self, number: int, role: str = "planner") -> str:
        """All that was said when a question was asked."""
        return "\n".join(message.content for message in self.asked[role][number])


class Voice:
    """One role's model."""

    def __init__(self, voices: Voices, role: str) -> None:
        self.name, self._voices, self._role = f"voice:{role}", voices, role

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        return Reply(text=self._voices.answer(self._role, messages))


def code(text: str) -> str:
    return f"So be it.\n```python\n{text}\n```"


def played(
    sandbox: Sandbox,
    voices: Voices,
    planner: str = "deps",
    *,
    environment: Environment | None = None,
    item: str = "pickaxe",
    task: Task | None = None,
    journal: MemoryJournal | None = None,
    memory: Memory | None = None,
    actions: int = 30,
    seconds: float = 5.0,
    **options: Any,
) -> tuple[Ending, Episode]:
    playing = Episode(
        task or Camp.tasks(Selection(ids=(item,)))[0],
        environment or Camp(),
        sandbox,
        journal if journal is not None else MemoryJournal(),
        settings=EpisodeSettings(actions=actions, limits=Limits(wall_seconds=seconds)),
        memory=memory,
        roles=Roles(voices.speaking, {}),
    )
    chosen = method(planner)
    return play(playing, chosen.play, chosen.options.model_validate(options)), playing


def goal_events(journal: MemoryJournal) -> list[dict[str, Any]]:
    return held(journal, "goal")
