"""Scripted models for builds without task types: shopping and e-mail by shipped procedures, BFCL by ground truth.

The plans of ``shopping`` read the goal themselves; those of ``shopping_written`` contain the words of the goal. When
asked for a procedure, they return the plan of that task, with parameters in place of their values.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import unescape

from planbook.envs import Selection, load_environment
from planbook.manuals import SHIPPED
from planbook.planner import Message, Sampling

BUYING = (SHIPPED / "shopping" / "procedures" / "buying.py").read_text()
READS = BUYING[BUYING.index("import re") : BUYING.index("def buy(")] + BUYING[BUYING.index("# Words of a goal") :]
MAIL = (SHIPPED / "miniwob" / "procedures" / "mail_and_posts.py").read_text()
MAIL = MAIL[MAIL.index("def mail_from(") : MAIL.index("def handle(")]
WANTED = (
    r"find me (.+) with ([a-z ]+: .+)",
    r"find me (.+)",
    r"i am looking for (.+ that is .+), in (.+)",
    r"i am looking for (.+)",
    r"i need (.+), and i would like it in (.+)",
    r"i want to buy (.+) with ([a-z ]+: .+), and it should be (.+)",
    r"i want to buy (.+), and it should be (.+)",
)
"""Patterns of the shop's goals; the first that matches counts."""


def shopping(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply of a planner whose plan reads the goal."""
    return _reply(messages, lambda goal: f"{READS}\n\nbuy_wanted(agent, task)\n")


def shopping_written(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply of a planner whose plan contains what is wanted and its price."""
    return _reply(messages, _written)


def bfcl_turn(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply of a planner that does what the ground truth of a turn does."""
    return _reply(messages, _turns().__getitem__)


def mail(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply of a planner whose plan contains the names and the text of an e-mail task's goal."""

    def plan(text: str) -> str:
        pages = re.findall('<div id="query">(.*?)</div>', text, re.DOTALL)
        return f"{MAIL}\n\n{_mails()[unescape(pages[-1]) if pages else text]}\n"

    return _reply(messages, plan)


def _reply(messages: Sequence[Message], plan: Callable[[str], str]) -> str:
    request = messages[1].content
    if "# A task that was done" not in request:
        goal = messages[-1].content.rpartition("Goal: " if "\nGoal: " in messages[-1].content else "Your task is to: ")[
            2
        ]
        return f"### Plan\nGo.\n### Code\n```python\n{plan(goal.strip())}\n```\n"
    goal = request.partition("The task: ")[2].partition("\n\nThe first observation:")[0]
    params = request.partition("for the task above it is ")[2].partition("\n")[0]
    tree = _Parameters(json.loads(params or "{}")).visit(ast.parse(plan(goal.strip())))
    solve = ast.parse("def solve(agent, task): ...").body[0]
    assert isinstance(solve, ast.FunctionDef)
    solve.body = tree.body
    return f"```python\n{ast.unparse(ast.fix_missing_locations(solve))}\n```\n"


class _Parameters(ast.NodeTransformer):
    """Replaces values by parameters, each at least once, in their order."""

    def __init__(self, params: Mapping[str, object]) -> None:
        self._left = list(params.items())

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Constant | ast.List | ast.Dict):
            same = [each for each in self._left if repr(each[1]) == repr(_value(node))]
            if same:
                self._left = [*(each for each in self._left if each != same[0]), same[0]]
                return ast.parse(f"task.params[{same[0][0]!r}]", mode="eval").body
        return super().generic_visit(node)


def _value(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...


def _written(goal: str) -> str:
    text, _, price = goal.partition(", and price lower than ")
    wanted = next(list(found.groups()) for each in WANTED if (found := re.fullmatch(each, text)))
    code = READS.replace("wanted_in(task.goal)", '(plain(" ".join(wanted)), price)')
    code = code.replace("buy_wanted(agent, task)", "buy_wanted(agent, wanted, price)")
    return f"{code}\n\nbuy_wanted(agent, {wanted!r}, {float(price.removesuffix(' dollars'))})\n"


@cache
def _mails() -> Mapping[str, str]:
    """Return the plan of each e-mail task with free wording and a seed below 10, by its goal."""
    types = ("email-inbox-forward-nl", "email-inbox-forward-nl-turk", "email-inbox-nl-turk")
    environment = load_environment("miniwob")
    options, plans = environment.Options(), dict[str, str]()
    for task in environment.select(Selection(types=types, seeds=range(10)), options):
        player = environment(options)
        player.reset(task)
        played = player.task or task
        params = dict(played.params)
        name = str(params.pop("task", "forward")).replace("star", "mark")
        values = [repr(params[key]) for key in ("by", "to", "message") if key in params]
        plans[played.goal] = f"{name}(agent, {', '.join(values)})"
        player.close()
    return plans


@cache
def _turns() -> Mapping[str, str]:
    """Return the plan of each turn, by its request."""
    from bfcl import calls_of, entries, request

    from tests.own_methods.bfcl_truth import Owned, functions

    plans = dict[str, str]()
    for entry in (each for id, each in entries().items() if "_base_" in id):
        owners = {name: owner for owner in entry["involved_classes"] for name in functions(owner)}
        for number in range(len(entry["ground_truth"])):
            calls = (ast.unparse(Owned(owners).visit(each)) for each in calls_of(entry, number))
            plans[request(entry, number).strip()] = "\n".join([*calls, "agent.answer()"])
    return plans
