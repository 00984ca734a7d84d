"""Rows of a store as a run writes them, made by hand."""

from pydantic import JsonValue

from planbook.envs import Task
from planbook.planner import Body


def fetch(number: int) -> Task:
    """A task of the toy world."""
    return Task(id=f"fetch/{number}", env="toy", split="all", type="fetch", goal="put it there", seed=number)


def ask(role: str, model: str, template: str, prompt: int, cached: int, completion: int, seconds: float) -> Body:
    """A question to a model and its reply."""
    usage: dict[str, JsonValue] = {"prompt": prompt, "cached": cached, "completion": completion, "estimated": False}
    return {
        "role": role,
        "model": model,
        "template": template,
        "sampling": {"temperature": 0.0},
        "messages": [{"role": "user", "content": "?"}],
        "left_out": 0,
        "cut_characters": 0,
        "reply": {"text": "!", "usage": usage, "seconds": seconds, "model": "", "replayed": False, "finish": "stop"},
    }
