"""Render rules, skills and reflections for prompts."""

import ast
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from textwrap import dedent

from pydantic import BaseModel

from planbook.envs import Environment, Task
from planbook.planner import (
    Prompts,
    RenderedText,
    action_docs,
    fence_around,
    function_signatures,
    function_stubs,
    prompt_block,
)
from planbook.rules.types import Knowledge, Reflection, Rule, RuleType, Skill, rule_number
from planbook.sandbox import bound_names, parse_source

PROMPTS = Prompts(Path(__file__).parent / "templates")
"""The prompt templates of this package. A template is named by its path in the folder ``templates``."""
_CODE_BLOCK = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
"""Matches a fenced block of code in a manual."""


def render_rules(rules: Iterable[Rule]) -> str:
    """Return the rules as text, in the order of their ids: with type, content and example, but without log."""
    ordered = sorted(rules, key=lambda rule: rule_number(rule.id))
    shown = [rule.model_dump(include={"id", "type", "content", "example"}) for rule in ordered]
    fence = fence_around(*(rule["example"] for rule in shown))
    return PROMPTS["rules"].render(rules=shown, fence=fence)


def render_knowledge(task: Task, rules: str, precedent: Skill | Reflection | None) -> str:
    """Return the text that a planner is shown before a task: the rules, then the skill or the reflection, if any."""
    skill = precedent if isinstance(precedent, Skill) else None
    reflection = precedent if isinstance(precedent, Reflection) else None
    return PROMPTS["known"].render(
        rules=rules,
        skill=skill,
        reflection=reflection,
        same_type=precedent is not None and precedent.task.type == task.type,
        fence=fence_around(precedent.scene if precedent else "", skill.code if skill else ""),
    )


def render_manual(knowledge: Knowledge) -> str:
    """Return the manual, or a list of the rules if no manual was written."""
    return mark_optional_code(knowledge.manual.strip()) or render_rules(knowledge.rules)


def mark_optional_code(manual: str) -> str:
    """Return the manual with its code marked as blocks that may be left out if a prompt is too long."""
    return _CODE_BLOCK.sub(lambda code: prompt_block(code[0], "example of a rule"), manual)


def shorten_helper(rule: Rule, predefined: Collection[str]) -> Rule:
    """Return a helper method without the bodies of its functions, if plans can call all these functions anyway.

    ``predefined`` holds the names that plans can use without defining them. If it lacks one of the helper's names, or
    the rule is not a helper method, the rule is returned unchanged.
    """
    code = dedent(rule.example)
    names = bound_names(code)  # empty if the example is not code
    if rule.type is not RuleType.USEFUL_HELPER_METHOD or not names or not names <= set(predefined):
        return rule
    return rule.model_copy(update={"example": function_stubs(code)})


def render_calls(rules_text: str, helpers: Iterable[Rule], predefined: Collection[str]) -> str:
    """Return the text of some rules, followed by lines that show how to call the functions of other rules, ``helpers``.

    ``helpers`` are helper methods that the text does not contain. Each gets a line with its id and the signatures of
    its functions that are ``predefined`` for plans.
    """
    codes = ((rule.id, dedent(rule.example)) for rule in helpers)
    calls = {
        id: functions
        for id, code in codes
        if bound_names(code) and (functions := function_signatures(code, predefined))
    }
    return PROMPTS["calls"].render(rules=rules_text, calls=calls) if calls else rules_text


def remove_predefined(code: str, predefined: Collection[str]) -> str:
    """Return the code without the functions and classes that are already ``predefined`` for plans."""
    if bound_names(code).isdisjoint(predefined):  # also true if the code cannot be parsed
        return code.strip("\n")
    lines = code.split("\n")
    for node in reversed(parse_source(code).body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in predefined:
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines).strip("\n")


def render_environment(environment: type[Environment], options: BaseModel | None = None) -> str:
    """Return a description of an environment and of the functions that plans can call there."""
    return PROMPTS["environment"].render(about=environment.about, action_docs=action_docs(environment, options))


def shorten(text: str, limit: int) -> str:
    """Return at most about ``limit`` characters of a text: a third from its beginning, and the rest from its end."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 3], text[-(limit - limit // 3) :]
    short = f"{head}\n[... {len(text) - limit} characters left out ...]\n{tail}"
    return RenderedText.with_digest(short, text.data_digest) if isinstance(text, RenderedText) else short
