"""Learn without a model: these functions answer the prompts of `build` and `formulate` for examples/cellar.py.

planbook build --env examples/cellar.py --split train --tasks-per-type 3 --out runs/cellar \\
    --model planner=scripted:examples/learn_cellar.py:planner --model scripted:examples/learn_cellar.py:builder
"""

from collections.abc import Sequence

from planbook.planner import Message, Sampling

PROCEDURE = """
def solve(agent, task):
    wine = task.params["wine"]
    for _ in range(agent.rooms() - 1):
        if wine in agent.walk("east"):
            agent.take(wine)
            break
    while agent.room > 0:
        agent.walk("west")
"""
RULE = """
rule_system.write_rule(
    type="Success Process",
    content="To fetch a bottle: walk east until it is seen, take it, and walk back to room 0.",
    example="seen = agent.walk('east')",
    log="Seen in one episode.",
)
rule_system.stop_generating()
"""
MANUAL = """# Fetching wine

How bottles are found in the cellar.

## Fetch a bottle

Bottles lie in the rooms to the east.

Rules: rule_0
"""


def planner(messages: Sequence[Message], sampling: Sampling) -> str:
    """Answer with a plan for the task, or with a procedure if the prompt asks to generalise a successful plan."""
    if "Turn this code into a procedure" in messages[-1].content:
        return block(PROCEDURE)
    return block(f"{PROCEDURE}\n\nsolve(agent, task)\n")


def builder(messages: Sequence[Message], sampling: Sampling) -> str:
    """Answer that the rules caused an error, if the prompt asks for this verdict. Otherwise, edit the rules."""
    question = messages[-1].content
    if "Verdict: Imperfect Rules" in question:
        return "Verdict: Imperfect Rules"
    return block(RULE if "There are no rules yet." in question else "rule_system.stop_generating()")


def formulator(messages: Sequence[Message], sampling: Sampling) -> str:
    """Answer with an outline of the manual that names each rule. planbook inserts the texts of the rules."""
    return MANUAL


def block(code: str) -> str:
    """Return code in a Markdown block, as a model writes it."""
    return f"```python\n{code.strip()}\n```"
