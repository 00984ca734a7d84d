"""The formulator (AutoManual, section 3.4): turns rules into a manual that is read from beginning to end.

In the paper the formulator types every rule again, code included, and whatever it changes or forgets is lost. Ours
answers only with structure and prose and names rules by id; ``planbook.manuals.markdown`` inserts the rules, so their
words and code stay as they are, and none is missing.
"""

from collections.abc import Sequence

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.manuals.errors import BadManual
from planbook.manuals.manual import Manual
from planbook.manuals.markdown import render_rule
from planbook.manuals.outline import read_outline
from planbook.manuals.templates import FOLDER
from planbook.planner import PROMPTS as PLANNER_PROMPTS
from planbook.planner import Message, Prompts, Scope, action_docs, estimate_tokens
from planbook.rules import Rule

PROMPTS = Prompts(FOLDER)
"""The templates of the Formulator, by path."""
FORMULATOR = "formulator"
WORDS_A_TOKEN = 0.7
FEWEST_WORDS = 80
"""Minimum number of words for the formulator, however long the rules are."""


def formulate(
    scope: Scope,
    rules: Sequence[Rule],
    world: type[Environment],
    options: BaseModel | None = None,
    *,
    tokens: int | None = None,
) -> Manual:
    """Ask for a manual of these rules, each of them in exactly one section.

    ``tokens`` is how long the whole manual should be; the prose is asked to fit beside the rules, and
    ``planbook.manuals.shortening.within`` sees to the rest. Raises UnusableReply where no reply places the rules,
    BadManual where there are none, and what else ``Scope.ask`` raises.
    """
    if not rules:
        raise BadManual("there are no rules to make a manual of; build some first")
    ids = [rule.id for rule in rules]
    told = "\n\n".join(map(render_rule, rules))
    return scope.ask(
        FORMULATOR,
        PROMPTS["formulate"],
        read=lambda text: read_outline(text, ids),
        history=[_system(world, options, untyped=all(rule.type is None for rule in rules))],
        rules=told,
        ids=ids,
        words=None if tokens is None else words_beside(told, tokens),
    ).value


def words_beside(rules: str, tokens: int) -> int:
    """Return how many words of prose fit beside the rules in this many tokens, rounded to tens."""
    room = int((tokens - estimate_tokens(rules)) * WORDS_A_TOKEN)
    return max(FEWEST_WORDS, room // 10 * 10)


def _system(world: type[Environment], options: BaseModel | None, *, untyped: bool) -> Message:
    offered = PLANNER_PROMPTS["action_docs"].render(action_docs=action_docs(world, options))
    types = world.task_types(options)
    text = PROMPTS["formulator"].render(about=world.about, types=types, action_docs=offered, untyped=untyped)
    return Message(role="system", content=text)
