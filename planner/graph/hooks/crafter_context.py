"""The text above the prompts of the Crafter agent: what each kind of question is shown.

The manual comes first where it is shown, and what changes most comes last: servers charge less for a beginning that
they have seen before.
"""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from planbook.planner.graph.database import GraphDatabase, now, steps, table
from planbook.planner.graph.hooking import Composing
from planbook.planner.graph.templating import value_text
from planbook.planner.prompts import fenced

WINDOW = 25
"""Steps in the history of a reflection (AgentKit, section 3.1)."""
TOLD = {"observation": "Seen", "vitals": "Vitals", "plan": "Plan", "action": "Done"}
"""The parts of a step in the history, in this order."""
IN_THE_HISTORY = frozenset({"s_obs", "s_vit", "s_action", "feed"})
"""Nodes that come before `reflect` only to complete the history and the feedback."""
NOTHING = "nothing yet"
REPEATED = "\nWhat is there now:\n"
"""Where feedback begins to repeat the last observation, which is shown by itself."""
ACTION_TABLE = "obs_current_actions"


def _history(database: GraphDatabase) -> str:
    return table(steps(database)[-WINDOW:], _line)


def _skill_history(database: GraphDatabase) -> str:
    name = database.get("skill.name")
    return table([entry for entry in steps(database) if entry.get("skill") == name and "action" in entry], _line)


def _line(entry: Mapping[str, Any]) -> str:
    return " ".join(f"{name}: {entry[key]}" for key, name in TOLD.items() if key in entry)


def _stored(path: str) -> Callable[[GraphDatabase], str]:
    """Return a part with the value at that path; "nothing yet" where there is none, or an empty one."""

    def stored(database: GraphDatabase) -> str:
        return value_text(database.get(path)) if database.has(path) and database.get(path) else NOTHING

    return stored


def _manual(database: GraphDatabase) -> str:
    """Return the environment's description, the task, and the graph's manual."""
    about, goal, manual = (database.get(path) for path in ("world.about", "world.goal", "manual"))
    return f"{about}\n\nYour task is to: {goal}.\n\n{manual}"


def _last(database: GraphDatabase) -> str:
    if not database.has("last.code"):
        return "Nothing was done yet."
    came = str(database.get("last.feedback")).partition(REPEATED)[0]
    return f"{fenced(str(database.get('last.code')), 'python')}\n{came}"


def plan_stands(database: GraphDatabase) -> bool:
    """Return whether the actor has a plan that has not expired."""
    plan: Any = database.get("action_summary")
    return bool(plan) and now(database) - plan["since"] < plan["expires_after"]


def _plan_so_far(database: GraphDatabase) -> str:
    """Return the actor's plan with its age, or that it has expired."""
    plan: Any = database.get("action_summary")
    if not plan:
        return "There is none: write a new one."
    if not plan_stands(database):
        return f"There is none: the last one was to end after {plan['expires_after']} turns, and has. Write a new one."
    lasting = {name: value for name, value in plan.items() if name != "since"}
    return f"{value_text(lasting)}\nIt was made {now(database) - plan['since']} turns ago."


PARTS: Mapping[str, Callable[[GraphDatabase], str]] = {
    "The manual": _manual,
    "The knowledge base (learnt in this game; as good as the manual)": _stored("knowledge"),
    "The list of unknown information": _stored("unknown"),
    "Feedback on the present skill": _stored("skill.feedback"),
    "The history": _history,
    "The turns under this skill": _skill_history,
    "The plan so far": _plan_so_far,
    "What was to be seen before the last turn": _stored("world.previous"),
    "The last turn, and what came of it": _last,
    "What is to be seen now": _stored("world.observation"),
}
MANUAL, KNOWLEDGE, UNKNOWN, FEEDBACK, HISTORY, UNDER_SKILL, PLAN, BEFORE, LAST, NOW = PARTS


def _answer(name: str, answer: Any) -> str:
    """Return an answer in few words: it stands in many prompts."""
    if name != ACTION_TABLE:
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return "\n".join(
        f"- {action}: {'allowed' if row['allowed'] == 'yes' else 'not allowed'}, {row['why']}; target {row['target']}"
        for action, row in answer.items()
    )


def _context(*parts: str, unsaid: Collection[str] = ()) -> Callable[[Composing], str]:
    """Return a compose hook: these parts in the order of PARTS, and the answers of ``after`` without the unsaid."""
    shown = [part for part in PARTS if part in parts]

    def compose(composing: Composing) -> str:
        sections = [f"# {part}\n\n{PARTS[part](composing.database).strip()}" for part in shown]
        names = [name for name in composing.node.after if name not in unsaid]
        if said := "\n\n".join(f"### {name}\n{_answer(name, composing.answers[name])}" for name in names):
            sections.append(f"# Answers so far\n\n{said}")
        return "\n\n".join([*sections, "# Question"])

    return compose


answers_only = _context()
now_only = _context(NOW)
before_and_now = _context(BEFORE, LAST, NOW)
by_the_manual = _context(MANUAL, KNOWLEDGE, NOW)
last_action = _context(MANUAL, KNOWLEDGE, UNKNOWN, BEFORE, LAST, NOW)
last_summary = _context(LAST)
recent = _context(FEEDBACK, HISTORY, unsaid=IN_THE_HISTORY)
under_the_skill = _context(UNDER_SKILL, unsaid=IN_THE_HISTORY)
planning = _context(MANUAL, KNOWLEDGE, FEEDBACK, BEFORE, NOW)
discovering = _context(MANUAL, KNOWLEDGE, UNKNOWN, HISTORY, BEFORE, LAST, NOW, unsaid={"kb_add"})
acting = _context(MANUAL, KNOWLEDGE, FEEDBACK, HISTORY, NOW)
sketching = _context(MANUAL, KNOWLEDGE, FEEDBACK, HISTORY, PLAN, NOW)
