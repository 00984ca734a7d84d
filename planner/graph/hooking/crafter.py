"""Hooks of the Crafter agent's graph, ``crafter.yaml`` (AgentKit paper, section 3).

Check hooks validate answers, finish hooks store parts of the answers as the agent's memory, and compose hooks write the
text above a prompt. A turn is a step of the agent, in which it runs code once. A skill is a way of acting to which
the agent has given a name and a description. In every turn, the agent uses its current skill.
"""

import ast
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pydantic import JsonValue

from planbook.planner.agent import AGENT
from planbook.planner.feedback import LAST_OBSERVATION
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.hooking import (
    AnswerRejected,
    ComposeContext,
    FinishContext,
    add_history,
    calls_in,
    current_step,
    history_of,
    history_text,
    keep_answer_as,
)
from planbook.planner.graph.templating import value_text
from planbook.planner.prompts import fenced
from planbook.planner.types import RenderedText

RESULTS = {"yes": "succeeded", "partly": "succeeded in part: {}", "no": "failed: {}"}
FEEDBACK_EVERY = 3
"""Number of turns with a skill after which feedback on it is due again (section 3.2)."""
CHALLENGE_COUNT = SUBGOAL_COUNT = 3
NONE = frozenset({"", "na", "none", "nothing", "unknown"})
"""Answers that mean "nothing", in lower case and without punctuation."""
DISCOVERY_TESTS = ("discovered", "general", "unknown", "concrete_and_precise", "solid")
"""Fields of a discovery. The discovery is kept if all of them are "yes"."""
UNKNOWN_TESTS = ("unknown", "novel", "general", "relevant", "correct")
"""Fields of an item of unknown information. The item is kept if all of them are "yes"."""
REPLAN_IF = ("unexpected_encounters", "mistake", "confused", "top_subgoal_completed", "top_subgoal_changed", "replan")
"""Fields of the gate node's answer. If any of them is "yes", the planner makes a new plan."""
ACTIONS = (
    *(f"move('{direction}')" for direction in ("west", "east", "north", "south")),
    "do()",
    "sleep()",
    *(f"place('{thing}')" for thing in ("stone", "table", "furnace", "plant")),
    *(f"make('{kind}_{tool}')" for tool in ("pickaxe", "sword") for kind in ("wood", "stone", "iron")),
    "noop()",
)
"""The calls that the game's manual lists, in the order of the manual."""


# Check hooks. They raise AnswerRejected, whose message goes back to the model.


def all_actions(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Check that the table lists all actions. Return the table with the manual's spelling and order of the actions."""
    table = {_normalized(name): row for name, row in _mapping(answer).items()}
    missing = [name for name in ACTIONS if _normalized(name) not in table]
    unknown = sorted(table.keys() - set(map(_normalized, ACTIONS)))
    if missing or unknown:
        extra = f" There is no action {', '.join(unknown)}." if unknown else ""
        lacking = f" Missing: {', '.join(missing)}." if missing else ""
        raise AnswerRejected(f"the table must list every action in the manual under its own name.{lacking}{extra}")
    return {name: table[_normalized(name)] for name in ACTIONS}


def three_challenges(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept only three challenges, each rated from 1 to 5."""
    challenges: Any = _mapping(answer)["challenges"]
    if len(challenges) != CHALLENGE_COUNT:
        raise AnswerRejected(f"name exactly {CHALLENGE_COUNT} challenges; there are {len(challenges)}")
    ratings = ("urgency", "convenience")
    if any(not 1 <= challenge[name] <= 5 for challenge in challenges for name in ratings):
        raise AnswerRejected("urgency and convenience must be whole numbers from 1 to 5")
    return answer


def three_subgoals(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept only a list of three subgoals."""
    if not isinstance(answer, list) or len(answer) != SUBGOAL_COUNT:
        raise AnswerRejected(f"list exactly {SUBGOAL_COUNT} subgoals, the most urgent first")
    return answer


def allowed_only(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept only an analysis in which every action is one of the allowed actions."""
    allowed = {_normalized(name) for name in _mapping(database.get("allowed_actions"))}
    analyzed = _mapping(_mapping(answer)["actions"])
    if unknown := [name for name in analyzed if _normalized(name) not in allowed]:
        raise AnswerRejected(f"analyse only the allowed actions, under their own names, not {', '.join(unknown)}")
    return answer


def one_action(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept only code that takes exactly one of the game's actions. Code with a loop must also have a ``break``."""
    code = str(answer)
    actions = {call.removeprefix(f"{AGENT}.") for call in calls_in(code)} & set(ACTIONS)
    if len(actions) != 1:
        raise AnswerRejected(
            f"the code must take exactly one of the game's actions, but takes {', '.join(sorted(actions)) or 'none'}. "
            f"The calls are written like this: {AGENT}.{ACTIONS[0]}"
        )
    nodes = list(ast.walk(ast.parse(code)))
    if any(isinstance(node, ast.For | ast.While) for node in nodes) and not any(
        isinstance(node, ast.Break) for node in nodes
    ):
        raise AnswerRejected("the loop must end (break) when the action is refused or a danger is in view")
    return answer


# Finish hooks. They store parts of the answers as the agent's memory.


note_observation, note_vitals = keep_answer_as("observation"), keep_answer_as("vitals")


def note_plan(context: FinishContext) -> None:
    """Add the plan of the current turn, and its skill, to the history."""
    database = context.database
    add_history(database, current_step(database), plan=str(context.answer), skill=str(database.get("skill.name")))


def note_action(context: FinishContext) -> None:
    """Add the action of the last turn and its result to the history. Store "yes" if feedback on the skill is due."""
    database, summary = context.database, _mapping(context.answer)
    result = RESULTS[summary["success"]].format(summary["causes_of_failure"])
    action = f"{summary['action']} x{summary['repeats']}, target {summary['target']}, {result}"
    add_history(database, current_step(database) - 1, action=action)
    turns = _turns_with_current_skill(database)
    is_due = turns and turns[-1]["step"] == current_step(database) - 1 and len(turns) % FEEDBACK_EVERY == 0
    database.set("skill.due", "yes" if is_due else "no")


def open_or_shut(context: FinishContext) -> None:
    """Open the gate if any field in ``REPLAN_IF`` is "yes". Otherwise, planner and knowledge nodes are skipped."""
    answers = _mapping(context.answer)
    context.database.set("replanned", "yes" if any(answers[name] == "yes" for name in REPLAN_IF) else "no")


def keep_allowed(context: FinishContext) -> None:
    """Store the allowed actions, each with its target."""
    table = _mapping(context.answer)
    allowed = {name: row["target"] for name, row in table.items() if row["allowed"] == "yes"}
    context.database.set("allowed_actions", allowed)


def keep_feedback(context: FinishContext) -> None:
    """Store the feedback on the current skill. It is shown whenever the skill is used."""
    database = context.database
    by_skill = {**_mapping(database.get("skill_feedback")), str(database.get("skill.name")): context.answer}
    database.set("skill_feedback", by_skill)
    database.set("skill.feedback", context.answer)


def keep_skill(context: FinishContext) -> None:
    """Make the skill in the answer the current skill.

    If the skill library already has it, the version there is used. Otherwise it is added to the library.
    """
    database, chosen = context.database, dict(_mapping(context.answer))
    skills, name = dict(_mapping(database.get("skills"))), str(chosen.pop("name"))
    name = next((skill for skill in skills if _normalized(skill) == _normalized(name)), name)
    database.set("skills", {**skills, name: skills.get(name, chosen)})
    database.set("skill.name", name)
    database.set("skill.feedback", _mapping(database.get("skill_feedback")).get(name, "none yet"))


def keep_knowledge(context: FinishContext) -> None:
    """Add the discoveries that pass every test to the knowledge base, and remove them from the unknown information."""
    database, discoveries = context.database, _mapping(context.answer)
    learned = {
        name: item["discovery_short"]
        for name, item in discoveries.items()
        if _passes(item, DISCOVERY_TESTS) and not _is_nothing(item["discovery_short"])
    }
    unknown = _mapping(database.get("unknown"))
    database.set("knowledge", {**_mapping(database.get("knowledge")), **learned})
    database.set("unknown", {name: info for name, info in unknown.items() if name not in learned})


def keep_unknown(context: FinishContext) -> None:
    """Store the items of unknown information that pass every test and are not in the knowledge base."""
    database, items = context.database, _mapping(context.answer)
    known = _mapping(database.get("knowledge"))
    database.set(
        "unknown",
        {
            name: item["info"]
            for name, item in items.items()
            if _passes(item, UNKNOWN_TESTS) and not _is_nothing(item["info"]) and name not in known
        },
    )


def keep_plan(context: FinishContext) -> None:
    """Store the actor's plan together with the turn in which it was made.

    If the actor keeps its last plan, this turn stays the same, unless the plan has expired.
    """
    database, plan = context.database, dict(_mapping(context.answer))
    is_kept = plan.pop("kept") == "yes" and is_plan_valid(database)
    since = _mapping(database.get("action_summary"))["since"] if is_kept else current_step(database)
    database.set("action_summary", {**plan, "since": since})


def _passes(item: Mapping[str, Any], tests: tuple[str, ...]) -> bool:
    return all(item[test] == "yes" for test in tests)


def _is_nothing(text: str) -> bool:
    return re.sub(r"[\W_]", "", text.casefold()) in NONE


def _normalized(name: str) -> str:
    """Return a name in lower case and without punctuation, since models often change case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", name.casefold().removeprefix(f"{AGENT}."))


def _mapping(value: JsonValue) -> Mapping[str, Any]:
    """Return the value, which must be a mapping. The shapes in the graph file guarantee this."""
    assert isinstance(value, dict)
    return value


# Compose hooks, which return the text above a prompt. The text begins with the manual and ends with the parts that
# change most often, since servers charge less for a prefix of the prompt that they have cached.

WINDOW = 25
"""Maximum number of turns that the history shows (AgentKit paper, section 3.1)."""
LABELS = {"observation": "Seen", "vitals": "Vitals", "plan": "Plan", "action": "Done"}
"""Maps the fields of a history entry to their labels in prompts, in the order shown."""
NODES_IN_HISTORY = frozenset({"s_obs", "s_vit", "s_action", "feed"})
"""Nodes whose answers need not be shown, since the history or the feedback on the skill contains them."""
NOTHING = "nothing yet"
REPEATED = f"\n{LAST_OBSERVATION}"
"""The feedback on the last code is cut off before this text, because another section shows the same observation."""
ACTION_TABLE = "obs_current_actions"
"""The name of the node that answers with a table of all actions."""


def _turns_with_current_skill(database: GraphDatabase) -> list[dict[str, Any]]:
    name = database.get("skill.name")
    return [entry for entry in history_of(database) if entry.get("skill") == name and "action" in entry]


def _stored(path: str) -> Callable[[GraphDatabase], str]:
    """Return a function that returns the value at a database path, or "nothing yet" if it is missing or empty."""

    def stored(database: GraphDatabase) -> str:
        return value_text(database.get(path)) if database.has(path) and database.get(path) else NOTHING

    return stored


def _manual(database: GraphDatabase) -> str:
    """Return the environment's description, the task, and the graph's manual."""
    about, goal, manual = (database.get(path) for path in ("world.about", "world.goal", "manual"))
    return f"{about}\n\nYour task is to: {goal}.\n\n{manual}"


def _last_turn(database: GraphDatabase) -> str:
    if not database.has("last.code"):
        return "Nothing has been done yet."
    feedback = str(database.get("last.feedback")).partition(REPEATED)[0]
    return f"{fenced(str(database.get('last.code')), 'python')}\n{feedback}"


def is_plan_valid(database: GraphDatabase) -> bool:
    """Return True if the actor has a plan that has not expired."""
    plan: Any = database.get("action_summary")
    return bool(plan) and current_step(database) - plan["since"] < plan["expires_after"]


def _plan_so_far(database: GraphDatabase) -> str:
    """Return the actor's plan and its age, or a note that there is none."""
    plan: Any = database.get("action_summary")
    if not plan:
        return "There is none: write a new one."
    if not is_plan_valid(database):
        return f"There is none: the last plan expired after {plan['expires_after']} turns. Write a new one."
    visible = {name: value for name, value in plan.items() if name != "since"}
    return f"{value_text(visible)}\nIt was made {current_step(database) - plan['since']} turns ago."


PARTS: Mapping[str, Callable[[GraphDatabase], str]] = {
    "The manual": _manual,
    "The knowledge base (learned in this game, as reliable as the manual)": _stored("knowledge"),
    "The list of unknown information": _stored("unknown"),
    "Feedback on the current skill": _stored("skill.feedback"),
    "The history": lambda database: history_text(history_of(database)[-WINDOW:], LABELS),
    "The turns under this skill": lambda database: history_text(_turns_with_current_skill(database), LABELS),
    "The plan so far": _plan_so_far,
    "Observation before the last turn": _stored("world.previous"),
    "The last turn and its result": _last_turn,
    "Current observation": _stored("world.observation"),
}
"""The parts of the text above a prompt: maps the heading of each part to the function that writes it."""
MANUAL, KNOWLEDGE, UNKNOWN, FEEDBACK, HISTORY, UNDER_SKILL, PLAN, BEFORE, LAST, NOW = PARTS


def _format_answer(name: str, answer: Any) -> str:
    """Return the answer of a node as text. The table of actions is shortened, since many prompts show it."""
    if name != ACTION_TABLE:
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return "\n".join(
        f"- {action}: {'allowed' if row['allowed'] == 'yes' else 'not allowed'}, {row['why']}; target {row['target']}"
        for action, row in answer.items()
    )


def _compose_hook(*parts: str, hidden_nodes: Collection[str] = ()) -> Callable[[ComposeContext], str]:
    """Return a compose hook whose text has these parts, in the order of PARTS, and then answers of other nodes.

    The answers are those of the nodes in ``after``, except the nodes in ``hidden_nodes``.
    """
    ordered_parts = [part for part in PARTS if part in parts]

    def compose(context: ComposeContext) -> str:
        texts = {part: PARTS[part](context.database).strip() for part in ordered_parts}
        sections = [f"# {part}\n\n{text}" for part, text in texts.items()]
        names = [name for name in context.node.after if name not in hidden_nodes]
        if answers := "\n\n".join(f"### {name}\n{_format_answer(name, context.answers[name])}" for name in names):
            sections.append(f"# Answers so far\n\n{answers}")
        data = [text for part, text in texts.items() if part != MANUAL]
        return RenderedText.of("\n\n".join([*sections, "# Question"]), data, answers)

    return compose


# The compose hooks, under the names that ``crafter.yaml`` uses. For example, ``compose: crafter.recent`` shows a node
# the parts listed here, and then the answers of the nodes in its ``after`` that the history does not contain.

answers_only = _compose_hook()
now_only = _compose_hook(NOW)
before_and_now = _compose_hook(BEFORE, LAST, NOW)
by_the_manual = _compose_hook(MANUAL, KNOWLEDGE, NOW)
last_action = _compose_hook(MANUAL, KNOWLEDGE, UNKNOWN, BEFORE, LAST, NOW)
last_summary = _compose_hook(LAST)
recent = _compose_hook(MANUAL, KNOWLEDGE, FEEDBACK, HISTORY, BEFORE, NOW, hidden_nodes=NODES_IN_HISTORY)
under_the_skill = _compose_hook(UNDER_SKILL, hidden_nodes=NODES_IN_HISTORY)
planning = _compose_hook(MANUAL, KNOWLEDGE, FEEDBACK, BEFORE, NOW)
discovering = _compose_hook(MANUAL, KNOWLEDGE, UNKNOWN, HISTORY, BEFORE, LAST, NOW, hidden_nodes={"kb_add"})
acting = _compose_hook(MANUAL, KNOWLEDGE, FEEDBACK, HISTORY, NOW)
sketching = _compose_hook(MANUAL, KNOWLEDGE, FEEDBACK, HISTORY, PLAN, NOW)
