"""Scripted models that claim things of their tasks, whether or not they are so."""

from collections.abc import Sequence

from planbook.planner import Message, Sampling
from tests.planner.counsellors import NO, PLAN, YES, aligned, question
from tests.planner.players import code

FETCH = """
boxes = [word.strip(",.") for word in task.observation.split() if word.startswith("box_")]
for box in boxes:
    seen = agent.open(box)
    for thing in {things!r}:
        if " " + thing in seen:
            agent.take(thing, box)
            agent.put(thing)
"""


def boastful(messages: Sequence[Message], sampling: Sampling) -> str:
    """An executor that has always done it."""
    return code("finish(True)")


def modest(messages: Sequence[Message], sampling: Sampling) -> str:
    """An executor that never has."""
    return code("finish(False)")


def mines(messages: Sequence[Message], sampling: Sampling) -> str:
    """A planner of goals whose plan is one thing that can be done."""
    return code("agent.mine({'log': 1})")


def crafts(messages: Sequence[Message], sampling: Sampling) -> str:
    """A planner of goals whose plan is one thing that cannot be done."""
    return code("agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2})")


def mines_and_is_done(messages: Sequence[Message], sampling: Sampling) -> str:
    """One goal, and then the word that all is done."""
    return "That is it.\nDONE" if len(messages) > 2 else mines(messages, sampling)


def content(messages: Sequence[Message], sampling: Sampling) -> str:
    """Of Devil's Advocate: the task is held to be complete before anything is done."""
    return {"plan": PLAN, "task_done": YES}[question(messages)]


def content_later(messages: Sequence[Message], sampling: Sampling) -> str:
    """The same, once a box was opened: nothing of it was asked of the environment."""
    opened = "You open box_1" in messages[-1].content
    return {
        "plan": PLAN,
        "task_done": YES if opened else NO,
        "subtask_done": NO,
        "act": code("agent.open('box_1')"),
        "remedy": "NONE",
        "align": aligned(),
    }[question(messages)]


def never_content(messages: Sequence[Message], sampling: Sampling) -> str:
    """The task is never complete, and whatever is done is wrong."""
    replies = {"plan": PLAN, "task_done": NO, "subtask_done": NO, "act": code("agent.open('box_1')"), "remedy": "NONE"}
    return {**replies, "align": aligned(verdict="NO")}[question(messages)]
