"""For the tests of Devil's Advocate and what it is compared with: models that answer by the question they are asked."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planbook.envs import Observation, Task, action
from planbook.planner import Ending, Episode, MemoryJournal, Message, Model, Sampling, ScriptedModel
from planbook.sandbox import Sandbox
from tests.planner import players
from tests.planner.players import Traced
from tests.spanning import spans_of

SENTENCES = {
    "plan": ("Which sub-tasks, one after the other", "First look back"),
    "act": ("What is to be done next for this sub-task",),
    "remedy": ("Now argue against yourself",),
    "map": ("This code was written for a moment",),
    "align": ("Does this go the right way",),
    "value": ("How promising are things for the whole task now",),
    "task_done": ("Is the whole task complete",),
    "subtask_done": ("Is this sub-task done, or",),
    "answer": ("The task is complete. If it asks",),
    "summary": ("Somebody who works on the task will read your words",),
}
Says = str | Sequence[str] | Callable[[str], str]
YES, NO = "So.\nVerdict: YES", "So.\nVerdict: NO"
PLAN = "1. find the thing\n2. bring it"


def aligned(did: str = "Something was done.", *, verdict: str = "YES") -> str:
    """A reply about an action."""
    return f"Did: {did}\nWhy: So it seems.\nVerdict: {verdict}"


def valued(value: int, did: str = "Something was done.") -> str:
    """A reply about a sample."""
    return f"Did: {did}\nWhy: So it seems.\nValue: {value}"


def question(messages: Sequence[Message]) -> str:
    """Which question a conversation ends with; a request to mend a reply repeats the one before it."""
    for message in reversed(messages):
        for name, sentences in SENTENCES.items():
            if message.role == "user" and any(sentence in message.content for sentence in sentences):
                return name
    raise AssertionError(f"no question is known by {messages[-1].content!r}")


class Counsellors:
    """What is said to each question: a text, texts in turn (the last again for ever), or a function of the prompt."""

    def __init__(self, **says: Says) -> None:
        usual: dict[str, Says] = {
            "plan": PLAN,
            "remedy": "NONE",
            "align": aligned(),
            "value": valued(5),
            "task_done": NO,
            "subtask_done": NO,
            "answer": "Answer: done",
            "summary": "A long page.",
        }
        self._says: Mapping[str, Says] = {**usual, **says}
        self._given: Counter[str] = Counter()
        self.asked: list[tuple[str, str, str, Sampling]] = []
        """Role, question, its last message, and how the reply was drawn."""
        self.conversations: list[Sequence[Message]] = []

    @property
    def questions(self) -> list[str]:
        """The questions in the order in which they were asked."""
        return [name for _, name, _, _ in self.asked]

    def prompts(self, name: str) -> list[str]:
        """The last message of every request with that question."""
        return [prompt for _, asked, prompt, _ in self.asked if asked == name]

    def model(self, role: str) -> Model:
        """The model of a role."""

        def answer(messages: Sequence[Message], sampling: Sampling) -> str:
            name, prompt = question(messages), messages[-1].content
            self.asked.append((role, name, prompt, sampling))
            self.conversations.append(messages)
            return self.say(name, prompt)

        return ScriptedModel(answer, name=f"the {role}'s")

    def say(self, name: str, prompt: str) -> str:
        """The next reply to a question."""
        says = self._says[name]
        number, self._given[name] = self._given[name], self._given[name] + 1
        if callable(says):
            return says(prompt)
        return says if isinstance(says, str) else says[min(number, len(says) - 1)]


class Answering(Traced):
    """The task is over with an answer; it is solved if that is 42, whatever lies on the table."""

    answering = "stop"
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
    sandbox: Sandbox, says: Counsellors, method: str = "devils-advocate", *, actions: int = 30, **terms: Any
) -> tuple[Ending, Episode]:
    """A whole episode by one of the methods."""
    return players.played(sandbox, says, method, actions=actions, **terms)


def recorded(journal: MemoryJournal, name: str) -> list[dict[str, Any]]:
    """What the spans of a name held in the end, by round and number."""
    return sorted(
        (dict(span.data) for span in spans_of(journal, name)), key=lambda each: (each["round"], each.get("number", 0))
    )


def branches(journal: MemoryJournal, number: int = 0) -> list[tuple[str, str]]:
    """Code and fate of the branches of a round."""
    return [(each["code"], each["fate"]) for each in recorded(journal, "branch") if each["round"] == number]
