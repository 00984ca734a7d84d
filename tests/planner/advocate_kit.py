"""A kit for tests of Devil's Advocate and its baselines: scripted models that choose a reply by the question asked."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planbook.envs import Observation, Task, action
from planbook.planner import Ending, Episode, MemoryJournal, Message, Model, Sampling, ScriptedModel
from planbook.sandbox import Sandbox
from tests.planner import episode_kit
from tests.planner.episode_kit import TouchToy, code, journal_of
from tests.spanning import spans_of

QUESTIONS = {
    "plan": ("Which subtasks, one after the other", "First look back"),
    "act": ("Write the next code for this subtask",),
    "remedy": ("Now argue against yourself",),
    "map": ("This code was written for an earlier state",),
    "align": ("Was this a step in the right direction",),
    "value": ("How promising is the state now for the whole task",),
    "task_done": ("Is the whole task complete",),
    "subtask_done": ("Is this subtask done, or",),
    "answer": ("The task is complete. If it asks",),
    "summary": ("Someone who works on the task will read your summary",),
}
QuestionReply = str | Sequence[str] | Callable[[str], str]
YES, NO = "So.\nVerdict: YES", "So.\nVerdict: NO"
PLAN = "1. find the thing\n2. bring it"


def aligned(effect: str = "Something was done.", *, verdict: str = "YES") -> str:
    """Return a reply that evaluates an action."""
    return f"Did: {effect}\nWhy: So it seems.\nVerdict: {verdict}"


def valued(value: int, effect: str = "Something was done.") -> str:
    """Return a reply that evaluates a sample."""
    return f"Did: {effect}\nWhy: So it seems.\nValue: {value}"


def touch(what: str) -> str:
    """Return a reply whose code touches something."""
    return code(f"agent.touch('{what}')")


def question(messages: Sequence[Message]) -> str:
    """Return the name of the last question in a conversation. A request to repair a reply is not a new question."""
    for message in reversed(messages):
        for name, sentences in QUESTIONS.items():
            if message.role == "user" and any(sentence in message.content for sentence in sentences):
                return name
    raise AssertionError(f"this is not a known question: {messages[-1].content!r}")


class AdvocateModels:
    """Scripted models that choose a reply by the question.

    The reply to a question is a text, a list of texts that are given in turn (the last one is repeated), or a function
    of the prompt.
    """

    def __init__(self, **replies: QuestionReply) -> None:
        defaults: dict[str, QuestionReply] = {
            "plan": PLAN,
            "remedy": "NONE",
            "align": aligned(),
            "value": valued(5),
            "task_done": NO,
            "subtask_done": NO,
            "answer": "Answer: done",
            "summary": "A long page.",
        }
        self._replies: Mapping[str, QuestionReply] = {**defaults, **replies}
        self._reply_counts: Counter[str] = Counter()
        self.asked: list[tuple[str, str, str, Sampling]] = []
        """Role, question, last message and sampling of every request."""
        self.conversations: list[Sequence[Message]] = []

    @property
    def questions(self) -> list[str]:
        """Return the names of all questions, in order."""
        return [name for _, name, _, _ in self.asked]

    def prompts(self, name: str) -> list[str]:
        """Return the last message of every request with this question."""
        return [prompt for _, asked, prompt, _ in self.asked if asked == name]

    def model(self, role: str) -> Model:
        """Return the model of a role."""

        def answer(messages: Sequence[Message], sampling: Sampling) -> str:
            name, prompt = question(messages), messages[-1].content
            self.asked.append((role, name, prompt, sampling))
            self.conversations.append(messages)
            return self.say(name, prompt)

        return ScriptedModel(answer, name=f"the {role}'s")

    def say(self, name: str, prompt: str) -> str:
        """Return the next reply to a question."""
        reply = self._replies[name]
        number, self._reply_counts[name] = self._reply_counts[name], self._reply_counts[name] + 1
        if callable(reply):
            return reply(prompt)
        return reply if isinstance(reply, str) else reply[min(number, len(reply) - 1)]


class AnsweringToy(TouchToy):
    """An environment that ends with an answer. The answer 42 solves the task."""

    answer_action = "stop"
    answer = ""

    def begin(self, task: Task) -> Observation:
        self.answer = ""
        return super().begin(task)

    @action("agent.stop('7') -> 'You say 7.'")
    def stop(self, answer: str) -> Observation:
        """Give the answer and end."""
        self.answer = answer
        return Observation(f"You say {answer}.", terminated=True)

    def verdict(self) -> Any:
        right = self.answer == "42"
        return type(super().verdict())(right, float(right))


def played(
    sandbox: Sandbox, models: AdvocateModels, method: str = "devils-advocate", *, actions: int = 30, **settings: Any
) -> tuple[Ending, Episode]:
    """Play a whole episode with a method."""
    return episode_kit.played(sandbox, models, method, actions=actions, **settings)


def recorded(played: MemoryJournal | Episode, name: str) -> list[dict[str, Any]]:
    """Return the final data of the spans with this name, sorted by round and number."""
    spans = [dict(span.data) for span in spans_of(journal_of(played), name)]
    return sorted(spans, key=lambda span: (span["round"], span.get("number", 0)))


def branches(played: MemoryJournal | Episode) -> list[tuple[str, str]]:
    """Return the code and the fate of each branch of the first round."""
    return [(branch["code"], branch["fate"]) for branch in recorded(played, "branch") if branch["round"] == 0]
