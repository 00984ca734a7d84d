"""Hooks of the Crafter agent: checks of answers, its memory, and the text above its prompts (AgentKit, section 3)."""

import ast
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pydantic import JsonValue

from planbook.planner.agent import AGENT
from planbook.planner.graph.database import GraphDatabase, calls_in, current_step, note, steps, table
from planbook.planner.graph.hooking import AfterQueryError, Composing, Finishing, keep_answer_as
from planbook.planner.graph.templating import value_text
from planbook.planner.prompts import fenced

RESULTS = {"yes": "succeeded", "partly": "succeeded in part: {}", "no": "failed: {}"}
FEEDBACK_EVERY = 3
"""Steps under a skill between two rounds of feedback on it (section 3.2)."""
CHALLENGES = SUBGOALS = 3
NONE = frozenset({"", "na", "none", "nothing", "unknown"})
LEARNED = ("discovered", "general", "unknown", "concrete_and_precise", "solid")
"""A discovery is kept if the answer to all these questions is yes."""
WANTED = ("unknown", "novel", "general", "relevant", "correct")
"""Missing information is kept if the answer to all these questions is yes."""
REOPENING = ("unexpected_encounters", "mistake", "confused", "top_subgoal_completed", "top_subgoal_changed", "replan")
"""The gate opens, and the planner runs, if the answer to any of these questions is yes."""
ACTIONS = (
    *(f"move('{direction}')" for direction in ("west", "east", "north", "south")),
    "do()",
    "sleep()",
    *(f"place('{thing}')" for thing in ("stone", "table", "furnace", "plant")),
    *(f"make('{kind}_{tool}')" for tool in ("pickaxe", "sword") for kind in ("wood", "stone", "iron")),
    "noop()",
)
"""The calls that the manual lists, in its order."""


# Checks. Their errors go back to the model.


def all_actions(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Return the table of actions under their own names, in the manual's order."""
    table = {_plain(name): row for name, row in _mapping(answer).items()}
    missing = [name for name in ACTIONS if _plain(name) not in table]
    unknown = sorted(table.keys() - set(map(_plain, ACTIONS)))
    if missing or unknown:
        extra = f" There is no action {', '.join(unknown)}." if unknown else ""
        lacking = f" Missing: {', '.join(missing)}." if missing else ""
        raise AfterQueryError(f"the table must list every action of the manual under its own name.{lacking}{extra}")
    return {name: table[_plain(name)] for name in ACTIONS}


def three_challenges(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept three challenges, rated from 1 to 5."""
    challenges: Any = _mapping(answer)["challenges"]
    if len(challenges) != CHALLENGES:
        raise AfterQueryError(f"name exactly {CHALLENGES} challenges; there are {len(challenges)}")
    rated = ("urgency", "convenience")
    if any(not 1 <= challenge[name] <= 5 for challenge in challenges for name in rated):
        raise AfterQueryError("urgency and convenience are whole numbers from 1 to 5")
    return answer


def three_subgoals(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept three subgoals."""
    if not isinstance(answer, list) or len(answer) != SUBGOALS:
        raise AfterQueryError(f"list exactly {SUBGOALS} subgoals, the most pressing first")
    return answer


def allowed_only(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept an analysis of allowed actions only."""
    allowed = {_plain(name) for name in _mapping(database.get("allowed_actions"))}
    weighed = _mapping(_mapping(answer)["actions"])
    if unknown := [name for name in weighed if _plain(name) not in allowed]:
        raise AfterQueryError(f"weigh only the allowed actions, under their own names; not {', '.join(unknown)}")
    return answer


def one_action(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept code that takes one action of the game; a loop around it must be able to end."""
    code = str(answer)
    taken = {call.removeprefix(f"{AGENT}.") for call in calls_in(code)} & set(ACTIONS)
    if len(taken) != 1:
        raise AfterQueryError(
            f"the code must take exactly one of the game's actions, and takes {', '.join(sorted(taken)) or 'none'}. "
            f"The calls are written like this: {AGENT}.{ACTIONS[0]}"
        )
    nodes = list(ast.walk(ast.parse(code)))
    if any(isinstance(node, ast.For | ast.While) for node in nodes) and not any(
        isinstance(node, ast.Break) for node in nodes
    ):
        raise AfterQueryError("the loop must end (break) when the action is refused or a hazard is to be seen")
    return answer


# Memory. Finish hooks store parts of the answers.


note_observation, note_vitals = keep_answer_as("observation"), keep_answer_as("vitals")


def note_plan(finishing: Finishing) -> None:
    """Keep the step's plan and its skill."""
    database = finishing.database
    note(database, current_step(database), plan=str(finishing.answer), skill=str(database.get("skill.name")))


def note_action(finishing: Finishing) -> None:
    """Keep the result of the last step, and whether feedback on the skill is due."""
    database, done = finishing.database, _mapping(finishing.answer)
    result = RESULTS[done["success"]].format(done["causes_of_failure"])
    action = f"{done['action']} x{done['repeats']}, aimed at {done['target']}, {result}"
    note(database, current_step(database) - 1, action=action)
    turns = _steps_under_skill(database)
    due = turns and turns[-1]["step"] == current_step(database) - 1 and len(turns) % FEEDBACK_EVERY == 0
    database.set("skill.due", "yes" if due else "no")


def open_or_shut(finishing: Finishing) -> None:
    """Open the gate if any of its answers is yes; otherwise planner and knowledge nodes are skipped."""
    answers = _mapping(finishing.answer)
    finishing.database.set("replanned", "yes" if any(answers[name] == "yes" for name in REOPENING) else "no")


def keep_allowed(finishing: Finishing) -> None:
    """Keep the allowed actions, each with its target."""
    table = _mapping(finishing.answer)
    allowed = {name: row["target"] for name, row in table.items() if row["allowed"] == "yes"}
    finishing.database.set("allowed_actions", allowed)


def keep_feedback(finishing: Finishing) -> None:
    """Keep the feedback on the skill, which is shown whenever the skill is used."""
    database = finishing.database
    by_skill = {**_mapping(database.get("skill_feedback")), str(database.get("skill.name")): finishing.answer}
    database.set("skill_feedback", by_skill)
    database.set("skill.feedback", finishing.answer)


def keep_skill(finishing: Finishing) -> None:
    """Use the named skill in the library's version, or add it to the library."""
    database, chosen = finishing.database, dict(_mapping(finishing.answer))
    skills, name = dict(_mapping(database.get("skills"))), str(chosen.pop("name"))
    name = next((skill for skill in skills if _plain(skill) == _plain(name)), name)
    database.set("skills", {**skills, name: skills.get(name, chosen)})
    database.set("skill.name", name)
    database.set("skill.feedback", _mapping(database.get("skill_feedback")).get(name, "none yet"))


def keep_knowledge(finishing: Finishing) -> None:
    """Move the discoveries that pass every test from the unknown information to the knowledge base."""
    database, discoveries = finishing.database, _mapping(finishing.answer)
    learned = {
        name: item["discovery_short"]
        for name, item in discoveries.items()
        if _passes(item, LEARNED) and not _is_nothing(item["discovery_short"])
    }
    unknown = _mapping(database.get("unknown"))
    database.set("knowledge", {**_mapping(database.get("knowledge")), **learned})
    database.set("unknown", {name: info for name, info in unknown.items() if name not in learned})


def keep_unknown(finishing: Finishing) -> None:
    """Keep the items of the merged list of unknown information that pass every test and are still unknown."""
    database, listed = finishing.database, _mapping(finishing.answer)
    known = _mapping(database.get("knowledge"))
    database.set(
        "unknown",
        {
            name: item["info"]
            for name, item in listed.items()
            if _passes(item, WANTED) and not _is_nothing(item["info"]) and name not in known
        },
    )


def keep_plan(finishing: Finishing) -> None:
    """Keep the actor's plan with the step at which it was first made.

    A reply that keeps an expired plan counts as a new plan.
    """
    database, plan = finishing.database, dict(_mapping(finishing.answer))
    is_kept = plan.pop("kept") == "yes" and plan_stands(database)
    since = _mapping(database.get("action_summary"))["since"] if is_kept else current_step(database)
    database.set("action_summary", {**plan, "since": since})


def _passes(item: Mapping[str, Any], tests: tuple[str, ...]) -> bool:
    return all(item[test] == "yes" for test in tests)


def _is_nothing(text: str) -> bool:
    return re.sub(r"[\W_]", "", text.casefold()) in NONE


def _plain(name: str) -> str:
    """Return a name without punctuation and case, which models often change."""
    return re.sub(r"[^a-z0-9]", "", name.casefold().removeprefix(f"{AGENT}."))


def _mapping(value: JsonValue) -> Mapping[str, Any]:
    """Return the value as a mapping, which the shapes of the graph guarantee."""
    assert isinstance(value, dict)
    return value


# The text above the prompts. It begins with the manual and ends with the parts that change most, since servers charge
# less for a cached beginning.

WINDOW = 25
"""Maximum number of steps in the history of a reflection (AgentKit, section 3.1)."""
LABELS = {"observation": "Seen", "vitals": "Vitals", "plan": "Plan", "action": "Done"}
"""The parts of a step in the history, in this order."""
IN_THE_HISTORY = frozenset({"s_obs", "s_vit", "s_action", "feed"})
"""Nodes that come before `reflect` only to complete the history and the feedback."""
NOTHING = "nothing yet"
REPEATED = "\nWhat is there now:\n"
"""Begins the part of the feedback that repeats the last observation, which has its own section."""
ACTION_TABLE = "obs_current_actions"


def _steps_under_skill(database: GraphDatabase) -> list[dict[str, Any]]:
    name = database.get("skill.name")
    return [entry for entry in steps(database) if entry.get("skill") == name and "action" in entry]


def _stored(path: str) -> Callable[[GraphDatabase], str]:
    """Return a function that returns the value at that path; "nothing yet" if it is missing or empty."""

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
    feedback = str(database.get("last.feedback")).partition(REPEATED)[0]
    return f"{fenced(str(database.get('last.code')), 'python')}\n{feedback}"


def plan_stands(database: GraphDatabase) -> bool:
    """Return True if the actor has a plan that has not expired."""
    plan: Any = database.get("action_summary")
    return bool(plan) and current_step(database) - plan["since"] < plan["expires_after"]


def _plan_so_far(database: GraphDatabase) -> str:
    """Return the actor's plan with its age, or a note that there is none."""
    plan: Any = database.get("action_summary")
    if not plan:
        return "There is none: write a new one."
    if not plan_stands(database):
        return f"There is none: the last one was to end after {plan['expires_after']} turns, and has. Write a new one."
    shown = {name: value for name, value in plan.items() if name != "since"}
    return f"{value_text(shown)}\nIt was made {current_step(database) - plan['since']} turns ago."


PARTS: Mapping[str, Callable[[GraphDatabase], str]] = {
    "The manual": _manual,
    "The knowledge base (learnt in this game; as good as the manual)": _stored("knowledge"),
    "The list of unknown information": _stored("unknown"),
    "Feedback on the present skill": _stored("skill.feedback"),
    "The history": lambda database: table(steps(database)[-WINDOW:], LABELS),
    "The turns under this skill": lambda database: table(_steps_under_skill(database), LABELS),
    "The plan so far": _plan_so_far,
    "What was to be seen before the last turn": _stored("world.previous"),
    "The last turn, and what came of it": _last,
    "What is to be seen now": _stored("world.observation"),
}
MANUAL, KNOWLEDGE, UNKNOWN, FEEDBACK, HISTORY, UNDER_SKILL, PLAN, BEFORE, LAST, NOW = PARTS


def _answer(name: str, answer: Any) -> str:
    """Return an answer in a short form, since many prompts contain it."""
    if name != ACTION_TABLE:
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return "\n".join(
        f"- {action}: {'allowed' if row['allowed'] == 'yes' else 'not allowed'}, {row['why']}; target {row['target']}"
        for action, row in answer.items()
    )


def _context(*parts: str, without: Collection[str] = ()) -> Callable[[Composing], str]:
    """Return a compose hook. Its text has these parts in the order of PARTS, then the answers of ``after``.

    The answers of the nodes in ``without`` are left out.
    """
    shown = [part for part in PARTS if part in parts]

    def compose(composing: Composing) -> str:
        sections = [f"# {part}\n\n{PARTS[part](composing.database).strip()}" for part in shown]
        names = [name for name in composing.node.after if name not in without]
        if answers := "\n\n".join(f"### {name}\n{_answer(name, composing.answers[name])}" for name in names):
            sections.append(f"# Answers so far\n\n{answers}")
        return "\n\n".join([*sections, "# Question"])

    return compose


answers_only = _context()
now_only = _context(NOW)
before_and_now = _context(BEFORE, LAST, NOW)
by_the_manual = _context(MANUAL, KNOWLEDGE, NOW)
last_action = _context(MANUAL, KNOWLEDGE, UNKNOWN, BEFORE, LAST, NOW)
last_summary = _context(LAST)
recent = _context(FEEDBACK, HISTORY, without=IN_THE_HISTORY)
under_the_skill = _context(UNDER_SKILL, without=IN_THE_HISTORY)
planning = _context(MANUAL, KNOWLEDGE, FEEDBACK, BEFORE, NOW)
discovering = _context(MANUAL, KNOWLEDGE, UNKNOWN, HISTORY, BEFORE, LAST, NOW, without={"kb_add"})
acting = _context(MANUAL, KNOWLEDGE, FEEDBACK, HISTORY, NOW)
sketching = _context(MANUAL, KNOWLEDGE, FEEDBACK, HISTORY, PLAN, NOW)
