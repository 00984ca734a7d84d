"""A kit for tests of planning methods: scripted models, variants of the toy environment, a memory, whole episodes."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from planbook.envs import Action, Environment, Observation, Selection, Task, Verdict, action
from planbook.envs.toy import Toy
from planbook.planner import (
    METHODS,
    Ending,
    Episode,
    EpisodeSettings,
    Journal,
    Memory,
    MemoryJournal,
    Message,
    Model,
    NoMemory,
    OnText,
    Recall,
    Reply,
    Round,
    Sampling,
    ScriptedModel,
    Trajectory,
    play,
)
from planbook.planner.models.types import current_question
from planbook.planner.roles import NO_MODELS, Roles
from planbook.planner.types import Cell, Feedback, FeedbackKind, Thought
from planbook.sandbox import Sandbox
from tests.spanning import span_data

TASK = Toy.tasks(Selection(ids=("fetch/0",)))[0]
GOAL = TASK.goal
THING = GOAL.split()[2]
NOTE = "MARKER OF A FAILED FINISH"
FAIL = f"finish(False, '{NOTE}')"
SOLVE = f"""
for number in range(1, 9):
    if '{THING}' in agent.open(f'box_{{number}}'):
        agent.take('{THING}', f'box_{{number}}')
        agent.put('{THING}')
"""


class ModelsByRole(Protocol):
    """Scripted models, one for each role."""

    def model(self, role: str) -> Model:
        """Return the model of a role."""


class TouchToy(Toy):
    """The toy environment with an action that is possible everywhere; its argument shows which call it was."""

    @action("agent.touch('wall') -> 'You touch wall.'")
    def touch(self, what: str) -> Observation:
        """Touch something."""
        return Observation(f"You touch {what}.", accepted=not what.startswith("no "))


class CountingToy(TouchToy):
    """An environment whose state is the number of actions so far."""

    def state(self) -> str:
        """Return the number of actions."""
        return f"{len(self.history)} done."


class StateHandoffToy(CountingToy):
    """An environment that hands its state to the next executor."""

    handoff = "state"


class NoteHandoffToy(CountingToy):
    """An environment that hands its state and the last note to the next executor."""

    handoff = "note"


class FixedMemory:
    """A memory whose recall is the same for every task."""

    def __init__(self, **recall: Any) -> None:
        self._recall = Recall.model_validate(recall)

    def recall(self, task: Task) -> Recall:
        """Return the same recall."""
        return self._recall


class TrapToy(TouchToy):
    """An environment that ends without success when a trap is touched. The score grows with each thing touched."""

    def act(self, action: Action) -> Observation:
        observation = super().act(action)
        if action.args == ("trap",):
            self._last_observation = Observation(observation.text, terminated=True)
        return self._last_observation

    def verdict(self) -> Verdict:
        score = sum(0.1 for past, _ in self.history if past.name == "touch")
        return Verdict(True, 1.0) if super().verdict().solved else Verdict(False, min(1.0, round(score, 1)))


def code(*lines: str) -> str:
    """Return an executor's reply with these lines of code."""
    text = "\n".join(lines)
    return f"So.\n```python\n{text}\n```"


def touch_report(what: str) -> str:
    """Return the report that the next executor receives if this was touched last."""
    return f"agent.touch('{what}') -> You touch {what}."


def touch_claim(what: str) -> str:
    """Return plan code that touches something and claims success."""
    return f"agent.touch('{what}')\nfinish(True)"


def plan_reply(order: str, *steps: str) -> str:
    """Return a planner's reply. In ``order``, S1 is short for Step 1."""
    listed = "\n".join(f"Step {number}: {step}" for number, step in enumerate(steps, 1))
    return f"# Think: so.\n{listed}\nExecution Order: {order.replace('S', 'Step ')}"


def subtask_of(messages: Sequence[Message]) -> str:
    """Return the subtask that a conversation is about, or the whole task if it is a reflector's."""
    for message in messages:
        for heading in ("# Your subtask", "# The subtask to divide"):
            if heading in message.content and message.role == "user":
                return message.content.split(heading)[1].strip().split("\n\nYou have ")[0]
    return GOAL


RepliesBySubtask = Mapping[str, str | Sequence[str]]


class SubtaskModels:
    """Scripted models for executor, planner and reflector, which choose a reply by the subtask in the prompt.

    ``executor`` maps subtasks to plan code, and ``planner`` maps them to replies. A value is one text or several in
    turn, of which the last is repeated. An executor without code for a subtask claims failure.
    """

    def __init__(
        self,
        executor: RepliesBySubtask | None = None,
        planner: RepliesBySubtask | None = None,
        reflector: str | Sequence[str] = "Look there.",
    ) -> None:
        self._replies: Mapping[str, RepliesBySubtask] = {
            "executor": {} if executor is None else executor,
            "planner": {} if planner is None else planner,
            "reflector": {GOAL: reflector},
        }
        self.asked: list[tuple[str, Sequence[Message], Sampling]] = []
        self._reply_counts: Counter[tuple[str, str]] = Counter()

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The role and the subtask of each new conversation."""
        return [(role, subtask_of(messages)) for role, messages, _ in self.asked if len(messages) <= 2]

    def prompts(self, role: str) -> list[str]:
        """Return the last message of every request to a role."""
        return [messages[-1].content for asked, messages, _ in self.asked if asked == role]

    def all_text(self, role: str) -> str:
        """Return all texts that a role has read."""
        return "\n".join(message.content for asked, messages, _ in self.asked if asked == role for message in messages)

    def model(self, role: str) -> Model:
        """Return the model of a role."""

        def answer(messages: Sequence[Message], sampling: Sampling) -> str:
            self.asked.append((role, messages, sampling))
            return self._reply(role, subtask_of(messages))

        return ScriptedModel(answer, name=f"the {role}'s")

    def _reply(self, role: str, subtask: str) -> str:
        replies = self._replies[role].get(subtask, FAIL if role == "executor" else "I have no plan.")
        replies = [replies] if isinstance(replies, str) else replies
        reply = replies[min(self._reply_counts[role, subtask], len(replies) - 1)]
        self._reply_counts[role, subtask] += 1
        return code(reply) if role == "executor" and "```" not in reply and reply != "rubbish" else reply


class Replies:
    """A model that gives its replies in order. It keeps the messages, the sampling and the label of each request."""

    name = "replies"

    def __init__(self, *replies: str | Reply) -> None:
        self._replies = [Reply(text=reply) if isinstance(reply, str) else reply for reply in replies]
        self.asked: list[Sequence[Message]] = []
        self.sampling: list[Sampling] = []
        self.labels: list[str] = []

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the next reply."""
        self.asked.append(messages)
        self.sampling.append(sampling)
        self.labels.append(current_question().label)
        return self._replies[len(self.asked) - 1]

    def prompt(self, number: int) -> str:
        """Return the last message of a request."""
        return self.asked[number][-1].content

    def roles(self, number: int) -> Sequence[str]:
        """Return the roles of the messages of a request."""
        return [message.role for message in self.asked[number]]


class OneModel:
    """One model for all roles."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def model(self, role: str) -> Model:
        """Return the model."""
        return self._model


def episode(
    sandbox: Sandbox,
    models: ModelsByRole | None = None,
    *,
    environment: Environment | None = None,
    task: Task = TASK,
    path: str = "task/0",
    journal: Journal | None = None,
    memory: Memory | None = None,
    guard: Callable[[], None] = lambda: None,
    **settings: Any,
) -> Episode:
    """Return an episode. ``guard`` is called before each action and each request; it has 60 actions by default."""
    return Episode(
        task,
        environment or TouchToy(),
        sandbox,
        journal if journal is not None else MemoryJournal(),
        path=path,
        settings=EpisodeSettings(**{"actions": 60, **settings}),
        memory=memory or NoMemory(),
        roles=Roles(models.model, {}, guard=guard) if models else NO_MODELS,
        guard=guard,
    )


@contextmanager
def started(sandbox: Sandbox, models: ModelsByRole | None = None, **arguments: Any) -> Iterator[Episode]:
    """Yield an episode that has begun."""
    playing = episode(sandbox, models, **arguments)
    playing.begin()
    yield playing
    playing.close()


def played(
    sandbox: Sandbox,
    models: ModelsByRole | None,
    method: str = "adapt",
    *,
    options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> tuple[Ending, Episode]:
    """Play a whole episode with a method."""
    playing = episode(sandbox, models, **kwargs)
    chosen = METHODS[method]
    return play(playing, chosen.play, chosen.options.model_validate(options or {})), playing


def journal_of(recorded: MemoryJournal | Episode) -> MemoryJournal:
    """Return the journal of an episode."""
    journal = recorded.current_scope.journal if isinstance(recorded, Episode) else recorded
    assert isinstance(journal, MemoryJournal)
    return journal


def recorded_subtasks(recorded: MemoryJournal | Episode) -> list[dict[str, Any]]:
    """Return the recorded subtasks, in the order in which they ended."""
    return span_data(journal_of(recorded), "subtask")


def claim_rows(recorded: MemoryJournal | Episode) -> list[tuple[str, str, int, bool | None]]:
    """Return role, text, depth and claim of every subtask."""
    return [(claim["by"], claim["text"], claim["depth"], claim["done"]) for claim in recorded_subtasks(recorded)]


def kinds(playing: Episode) -> list[str]:
    """Return the kind of the feedback on each cell."""
    return [feedback.kind.value for feedback in playing.feedbacks]


def trajectory(
    code: str = "agent.open('box_1')",
    *,
    thought: str = "I think.",
    feedback: str = "It ran.",
    observation: str = "A room.",
    **fields: Any,
) -> Trajectory:
    """Return an episode of one cell (piece of plan code) with this code."""
    cell = Cell(
        scope="task/0/round/0/plan/0",
        number=0,
        source="planner",
        code=code,
        thought=Thought(text=thought),
        feedback=Feedback(kind=FeedbackKind.UNFINISHED, text=feedback),
    )
    rounds = (Round(number=0, observation=observation, cells=(cell,)),)
    return Trajectory(**{"path": "task/0", "task": TASK, "rounds": rounds, **fields})
