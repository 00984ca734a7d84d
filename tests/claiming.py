"""Scripted models that make claims about their tasks, true or not."""

from collections.abc import Sequence

from planbook.planner import Message, Sampling
from tests.planner.advocate_kit import NO, PLAN, YES, aligned, question
from tests.planner.episode_kit import code


def boastful(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as an executor that always claims success."""
    return code("finish(True)")


def modest(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as an executor that never claims success."""
    return code("finish(False)")


def refused(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply with a plan that the check refuses."""
    return code("agent.fly_to('moon')")


def mines(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a planner of goals whose plan is one possible action."""
    return code("agent.mine({'log': 1})")


def mines_and_sings(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a planner of goals whose plan has a line that names no goal."""
    return code("agent.mine({'log': 1})\nagent.sing('a song about the moon')")


def crafts(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a planner of goals whose plan is one impossible action."""
    return code("agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2})")


def mines_and_is_done(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply with one goal, and in the next reply say that everything is done."""
    return "That is it.\nDONE" if len(messages) > 2 else mines(messages, sampling)


def content(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a model for Devil's Advocate that says that the task is complete before it has done anything."""
    return {"plan": PLAN, "task_done": YES}[question(messages)]


def content_later(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a model for Devil's Advocate that says that the task is complete once a box has been opened."""
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
    """Reply as a model for Devil's Advocate that says that the task is never complete and every action is wrong."""
    replies = {"plan": PLAN, "task_done": NO, "subtask_done": NO, "act": code("agent.open('box_1')"), "remedy": "NONE"}
    return {**replies, "align": aligned(verdict="NO")}[question(messages)]
