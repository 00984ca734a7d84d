"""A scripted model for the toy environment that plays every role of AutoManual, makes mistakes and learns."""

import re
from collections.abc import Mapping, Sequence

from planbook.planner import Message, Sampling

SEARCH = '''
def find(agent, thing, boxes):
    """Open boxes until the thing is in one; that box, or None."""
    for box in boxes:
        if thing in agent.open(box):
            return box
    return None
'''

FETCH = """
for thing in {things!r}:
    # [Step 1] Find it
    box = find(agent, thing, {boxes!r})
    assert box is not None, "Step 1: no box holds it"
    # [Step 2] Bring it
    agent.take(thing, box)
    agent.put(thing)
"""

SOLVE = """
def solve(agent, task):
    boxes = [word.strip(",.") for word in task.observation.split() if word.startswith("box_")]
    for thing in task.params["things"]:
        for box in boxes:
            if thing in agent.open(box):
                agent.take(thing, box)
                agent.put(thing)
                break
"""


ONE_BOX = """
rule_system.write_rule(content="Things to fetch and put on the table: one box has each.", type="Special Mechanism")
"""
IN_VAIN = """
def solve(agent, task):
    agent.open("box_1")
    do(agent, task)


def do(agent, task):
"""

CONVERSATION = [""]


MENDED = 'agent.open(box).split("you see ")[-1].rstrip(".").split(", ")'


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply to a conversation according to what its last message asks for."""
    asked = messages[-1].content
    CONVERSATION[:] = ["\n".join(message.content for message in messages)]
    for mark, reply in REPLIES.items():
        if mark in asked:
            return _in_form(reply(asked))
    raise AssertionError(f"nobody wrote an answer to: {asked[-300:]}")


def _in_form(reply: str) -> str:
    """Return the reply without the rule attributes that this run's prompt does not offer."""
    if "rule_system.write_rule(content" not in CONVERSATION[0]:
        return reply
    for attribute in ("type", "log"):
        if f'{attribute}="..."' not in CONVERSATION[0]:
            reply = re.sub(
                rf'rule_system.update_rule\("rule_\d+", {attribute}="[^"]*"\)|, {attribute}="[^"]*"', "", reply
            )
    return reply


def plan(asked: str) -> str:
    """Return the first plan; in scenes with few boxes it looks into only one, which is a mistake."""
    task = asked[asked.rindex("# The task") :]
    boxes = re.findall(r"box_\d+", task.split("and a table")[0])
    things = re.findall(r"put the (.*) on the table", task)[0].split(" and the ")
    seen = boxes[:1] if len(boxes) <= 5 else boxes
    body = ("" if "already defined, besides those above: find" in asked else SEARCH) + FETCH.format(
        things=things, boxes=seen
    )
    return _reply(f"The boxes are {', '.join(boxes)}.", body)


def again(asked: str) -> str:
    """Return the plan after an error, which looks everywhere."""
    body = SEARCH + FETCH.format(things=["THING"], boxes=[f"box_{number}" for number in range(1, 9)])
    body = body.replace("['THING']", "[each for each in task.params['things'] if each not in agent.table()]")
    return _reply("It is in another box.", body, mistakes="I looked into one box only.")


def conclusion(asked: str) -> str:
    """Return the conclusion: the last code that ran."""
    code = re.findall(r"```python\n(.*?)```", asked, re.DOTALL)[-1]
    return f"### Mistakes\nI looked into one box only.\n### Code\n```python\n{code}```"


def reflection(asked: str) -> str:
    """Return the reflection on a failure."""
    return "### Reason\nNothing was found.\n### Code at fault\nfind\n### Correction\nUncertain."


def verdict(asked: str) -> str:
    """Return the Builder's verdict on who is to blame for the errors."""
    return "The rules do not say that every box may hold it; rule_0 was followed.\n\nVerdict: Imperfect Rules"


def write_success(asked: str) -> str:
    """Return the Builder's edits after a success.

    The first time, if the run allows helper rules, a helper method and a success process; otherwise a log entry.
    """
    known = "find it with find" in asked or "find_box (rule_1)" in asked
    if known or "Useful Helper Method" not in CONVERSATION[0]:
        return _edits('rule_system.update_rule("rule_0", log="Held again.")')
    return _edits(
        f'helper = rule_system.write_rule(content="To look for a thing, use find.", type="Useful Helper Method", '
        f"example={SEARCH!r})\n"
        'rule_system.write_rule(content=f"To fetch things, find it with find ({helper}) in all boxes.", '
        'type="Success Process", example="# [Step 1] find it\\n# [Step 2] take it and put it", builds_on=[helper])'
    )


def write_corrected(asked: str) -> str:
    """Return the Builder's edits after an indirect success: a new rule the first time, then a log entry."""
    if "look into every box" in CONVERSATION[-1]:
        return _edits('rule_system.update_rule("rule_2", log="The same again.")')
    return _edits(
        'rule_system.write_rule(content="When a thing is looked for, look into every box.", type="Corrected Error")'
    )


def write_failed(asked: str) -> str:
    """Return the Builder's edits after a failure: a warning, once."""
    if "is not done by looking" in CONVERSATION[-1]:
        return _edits("")
    return _edits(
        'rule_system.write_rule(content="When a pen is looked for: it is not done by looking at text alone.", '
        'type="Unresolved Error")'
    )


def without_case(asked: str) -> str:
    """Return the edits of a Builder that does not know the case: a log entry."""
    return _edits('rule_system.update_rule("rule_0", log="Seen.")')


def generalised(asked: str) -> str:
    """Return a procedure with a mistake: it looks for a thing's name anywhere in the observation."""
    return f"```python\n{SOLVE}```"


def generalised_again(asked: str) -> str:
    """Return the procedure without its mistake, which was to find "pen" in "You open"."""
    return f"```python\n{SOLVE.replace('agent.open(box)', MENDED)}```"


def manual(asked: str) -> str:
    """Return the formulator's outline, with everything in one section."""
    ids = dict.fromkeys(re.findall(r"^### (rule_\d+)", asked, re.MULTILINE))
    opening = "# Manual of the toy world\n\nHow to fetch things.\n\n## Fetching\n\nLook everywhere.\n\n"
    return f"{opening}Rules: {', '.join(ids)}\n"


def consolidated(asked: str) -> str:
    """Return the Consolidator's edits: none."""
    return _edits("")


def _reply(understanding: str, code: str, mistakes: str = "None") -> str:
    return (
        f"### Understanding\n{understanding}\n### Mistakes\n{mistakes}\n### Rules\n- rule_0: look first\n"
        f"### Plan\n1. Look.\n2. Bring.\n### Code\n```python\n{code.strip()}\n```"
    )


def _edits(calls: str) -> str:
    return f"### Code\n```python\n{calls}\nrule_system.stop_generating()\n```"


def rubbish(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a model that never gives a usable reply."""
    return "I would rather talk about the weather."


def no_procedure(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a planner that never finds a procedure."""
    if "def solve(agent, task)" in messages[-1].content or "could not be used" in messages[-1].content:
        return rubbish(messages, sampling)
    return answer(messages, sampling)


def of_boxes(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a Builder that writes a rule on the environment after each success, and a planner that then uses it."""
    asked = messages[-1].content
    if "Rewrite this procedure" in asked:
        return generalised_again(asked).replace("def solve", "# A thing is in one box alone.\ndef solve")
    if "no plan ended in an error" in asked:
        return write_success(asked).replace("rule_system.stop", f"{ONE_BOX}\nrule_system.stop")
    return answer(messages, sampling)


def of_slow_boxes(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as ``of_boxes``, but with a new procedure that opens one box for nothing."""
    return of_boxes(messages, sampling).replace("\ndef solve(agent, task):\n", IN_VAIN)


def idle_later(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a planner that does nothing in scenes with more than six boxes, and whose procedure fails there."""
    asked = messages[-1].content
    conversation = "\n".join(message.content for message in messages)
    who = next(who for mark, who in REPLIES.items() if mark in asked)
    if who in (plan, again) and "box_7" in conversation[conversation.rindex("# The task") :]:
        return _reply("I do not know.", "print(agent.table())")
    reply = answer(messages, sampling)
    return reply if "A task on which it failed" in asked else reply.replace('("box_")]', '("box_")][:6]')


def checking(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a Builder whose check fails for every episode, and a Consolidator that deletes rules never obeyed."""
    asked = messages[-1].content
    if "First say which rules overlap" in asked:
        unheeded = re.findall(r"## (rule_\d+)(?:(?!\n## ).)*never obeyed", asked, re.DOTALL)
        return _edits("\n".join(f'rule_system.delete_rule("{id}")' for id in unheeded))
    check = "def obeyed(code, steps):\n    return 'ring the bell' in code"
    return answer(messages, sampling).replace('"Corrected Error")', f'"Corrected Error", check={check!r})')


def served_answer(messages: Sequence[Mapping[str, str]]) -> str:
    """Return the scripted model's reply for a server of tests/openai_server.py."""
    return answer(
        [Message.model_validate({name: each[name] for name in ("role", "content")}) for each in messages], Sampling()
    )


def never_done(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as a Consolidator that deletes a rule and then looks at episodes forever."""
    if "## rule_3" in messages[-1].content:
        return "### Code\n```python\nrule_system.delete_rule('rule_3')\n```"
    return "### Code\n```python\nprint(rule_system.get_trajectory(['task/0']))\n```"


REPLIES = {
    "The code above did the task.": conclusion,
    "The task was done in the end, but not at the first attempt.": conclusion,
    "Your answer will be shown as a reminder": reflection,
    "End your answer with a separate line": verdict,
    "The task was done, and no plan ended in an error.": write_success,
    "the rules had not prepared the agent for what went wrong": write_corrected,
    "the rules had not prepared the agent for what happened": write_failed,
    "Decide from the whole episode which rules to write": without_case,
    "a function\n\n    def solve(agent, task):": generalised,
    "assumptions of the procedure": generalised_again,
    "(at most": consolidated,
    "Rules:": manual,
    "# Feedback": again,
    "# The task": plan,
}
"""Functions that reply to requests, by a text in the request; the first that matches replies."""
