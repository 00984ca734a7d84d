"""AgentKit's Crafter agent: its gate, its memory, its knowledge base and its plans, in whole episodes of the game."""

import re
from collections import Counter
from typing import Any

import pytest

from planbook.envs.crafter.rules import rules
from planbook.planner import MemoryJournal, Outcome
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.file import graph_path, read_graph
from planbook.planner.graph.hooking import Composing
from planbook.planner.graph.hooks import crafter as crafter_hooks
from planbook.planner.graph.hooks.crafter import ACTIONS, LEARNED, WANTED
from planbook.sandbox import Sandbox
from tests.planner.crafter_nodes import OPEN_GATE, PLAN, REPLIES, SHUT_GATE, action_row, discovery, missing
from tests.planner.graph.given import question
from tests.planner.nodes import Nodes, Reply, played
from tests.planner.players import code

TASK = "survive/0"
GATED = {"subgoals", "top_subgoal", "subgoal_analysis", "skill", "planner_adaptive", "kb_add", "unknown"}
WOOD = "wood of a tree"


def opened(*steps: int) -> Reply:
    """A gate that is open at these steps; it is asked once a step."""
    return lambda number: OPEN_GATE if number in steps else SHUT_GATE


def game(sandbox: Sandbox, steps: int, **replies: Reply) -> tuple[Nodes, list[Counter[str]], MemoryJournal]:
    """So many steps of a game: the nodes, which of them were asked at each step, and the journal."""
    nodes, journal = Nodes({**REPLIES, **replies}), MemoryJournal()
    ending, _ = played(sandbox, nodes, "crafter", TASK, options={"steps": steps}, journal=journal, actions=1000)
    assert (ending.outcome, ending.error_steps, ending.message) == (Outcome.FAILURE, 0, "")
    asked = [Counter[str]() for _ in range(steps)]
    for scope, kind, _ in journal.events:
        if kind == "ask" and (found := re.search(r"/step/(\d+)/(\w+)/0$", scope)):
            asked[int(found[1])][found[2]] += 1
    return nodes, asked, journal


@pytest.fixture(scope="module")
def usual(sandbox: Sandbox) -> tuple[Nodes, list[Counter[str]]]:
    """Six steps with the usual replies."""
    return game(sandbox, 6)[:2]


def tokens_of(journal: MemoryJournal, step: int) -> int:
    """All tokens of a step."""
    usages: list[Any] = [
        body["reply"]["usage"]
        for (scope, kind, _), body in journal.events.items()
        if kind == "ask" and f"/step/{step}/" in scope and isinstance(body["reply"], dict)
    ]
    return sum(usage["prompt"] + usage["completion"] for usage in usages)


def last(nodes: Nodes, node: str) -> str:
    return nodes.questions(node)[-1]


# The gate (section 3.1).


def test_while_the_subgoal_stands_planner_and_knowledge_are_skipped(sandbox: Sandbox) -> None:
    _, asked, journal = game(sandbox, 4, gate=opened(2), unknown={WOOD: missing()})
    every = set(read_graph(graph_path("crafter")).nodes)
    assert len(every) == 28
    assert asked[1].keys() == every - GATED - {"feed"}
    assert asked[2].keys() == every - {"feed"}, "an open gate asks everything"
    assert asked[2].total() - asked[1].total() == len(GATED)
    tokens = [tokens_of(journal, step) for step in (1, 2)]
    assert tokens[0] < 0.72 * tokens[1]


def test_each_reason_opens_the_gate_and_a_correction_alone_does_not(sandbox: Sandbox) -> None:
    reasons = ["unexpected_encounters", "mistake", "confused", "top_subgoal_completed", "top_subgoal_changed"]
    said: list[dict[str, str]] = [{}, *({each: "yes"} for each in (*reasons, "correction_planned"))]
    _, asked, _ = game(sandbox, len(said), gate=lambda number: {**SHUT_GATE, **said[number]})
    assert [each["subgoals"] for each in asked[1:]] == [1] * len(reasons) + [0]


def test_the_first_step_looks_back_on_nothing(usual: tuple[Nodes, list[Counter[str]]]) -> None:
    assert usual[1][0].keys().isdisjoint({"obs_chg", "obs_last_act", "s_action", "reflect", "feed", "kb_add"})


# What is remembered.


def composing(database: GraphDatabase) -> Composing:
    return Composing(question("reflect", "What?"), database, {}, 0)


def test_a_reflection_looks_back_on_25_steps_and_the_skills_own_history_on_all() -> None:
    history = [{"step": step, "observation": f"seen {step}", "action": "did", "skill": "Walk"} for step in range(40)]
    database = GraphDatabase({"history": history, "skill": {"name": "Walk", "feedback": ""}, "step": {"number": 40}})  # type: ignore[dict-item]
    assert re.findall(r"^Turn (\d+)\.", crafter_hooks.recent(composing(database)), re.MULTILINE) == [
        str(turn) for turn in range(16, 41)
    ]
    assert len(re.findall(r"^Turn \d+\.", crafter_hooks.under_the_skill(composing(database)), re.MULTILINE)) == 40


def test_each_step_is_summed_up_and_its_action_judged_in_the_next(sandbox: Sandbox) -> None:
    def act(number: int) -> object:
        done = {"action": f"deed {number}", "repeats": 2, "target": "tree", "success": "no", "causes_of_failure": "far"}
        return done if number else REPLIES["s_action"]

    nodes, _, _ = game(
        sandbox,
        4,
        s_action=act,
        s_obs=lambda number: f"Seen at {number}.",
        s_vit=lambda number: f"Vitals at {number}.",
        s_plan=lambda number: f"Plan at {number}.",
    )
    told = last(nodes, "reflect")
    assert (
        "Turn 2. Seen: Seen at 1. Vitals: Vitals at 1. Plan: Plan at 1. Done: deed 1 x2, aimed at tree, failed: far"
        in told
    )
    assert "Turn 4. Seen: Seen at 3. Vitals: Vitals at 3.\n" in told, "the plan and action of this step are still open"
    assert "Turn 4" in last(nodes, "actor_reflect")


def test_feedback_comes_every_third_step_under_a_skill_on_all_its_steps(sandbox: Sandbox) -> None:
    """Skill Walk at steps 0 to 3 and from 6 on, Dig at 4 and 5."""
    names = {0: "Walk", 4: "Dig", 6: "Walk"}
    skills = [names[step] for step in names]
    nodes, asked, _ = game(
        sandbox,
        9,
        gate=opened(4, 6),
        skill=lambda number: {"name": skills[number], "description": "d", "parameters": [], "guide": "g"},
        feed=lambda number: f"ADVICE {number}",
    )
    assert [step for step, each in enumerate(asked) if each["feed"]] == [3, 8]
    first, second = (re.findall(r"^Turn (\d+)\.", question, re.MULTILINE) for question in nodes.questions("feed"))
    assert first == ["1", "2", "3"]
    assert second == ["1", "2", "3", "4", "7", "8"]
    actor, planner = nodes.questions("actor_reflect"), nodes.questions("challenge")
    assert "ADVICE 0" in actor[3]
    assert "ADVICE 0" in planner[3]
    assert "ADVICE" not in actor[4], "advice on one skill is not shown under another"
    assert "ADVICE 0" in actor[6], "it is shown again when its skill is taken up again"


def test_a_skill_is_taken_from_the_library_or_made(sandbox: Sandbox) -> None:
    def skill(number: int) -> object:
        names = ["CollectResource", "collect_resource ", "Rest"]
        return {"name": names[number], "description": f"text {number}", "parameters": [], "guide": "g"}

    nodes, _, _ = game(sandbox, 4, gate=opened(1, 2, 3), skill=lambda number: skill(min(number, 2)))
    library = last(nodes, "skill").partition("Is there a skill")[0]
    assert '"CollectResource"' in library
    assert "text 0" in library
    assert "text 1" not in library, "a skill that is used again stays as it was made"
    assert '"Rest"' in library


# The knowledge base (section 3.3).


def knowledge_of(sandbox: Sandbox, found: Reply, listed: Reply) -> tuple[str, str]:
    """What knowledge base and list of unknown things hold, in prompts, a step after an item was asked about."""
    nodes, _, _ = game(sandbox, 3, gate=OPEN_GATE, kb_add=found, unknown=lambda number: {} if number else listed)
    prompt = nodes.questions("kb_add")[0]
    assert WOOD in prompt, "the item was listed before it was looked for"
    later = nodes.questions("unknown")[1]
    known, _, rest = later.partition("# The list of unknown information")
    return known.partition("# The knowledge base")[2], rest.partition("\n# ")[0]


def test_what_passes_every_test_is_stored_and_is_unknown_no_more(sandbox: Sandbox) -> None:
    known, unknown = knowledge_of(sandbox, {WOOD: discovery()}, {WOOD: missing()})
    assert "1 wood a tree" in known
    assert WOOD not in unknown


def test_what_fails_one_test_or_is_nothing_is_not_stored(sandbox: Sandbox) -> None:
    found: dict[str, Any] = {f"{WOOD}, {test}": discovery(**{test: "no, not at all"}) for test in LEARNED}
    found |= {f"{WOOD}, {nothing}": discovery(discovery_short=nothing) for nothing in ("N/A", "none", "NA.")}
    known, unknown = knowledge_of(sandbox, found, dict.fromkeys(found, missing()))
    assert "nothing yet" in known
    assert [item for item in found if item not in unknown] == []


def test_what_is_not_worth_knowing_is_not_listed(sandbox: Sandbox) -> None:
    listed: dict[str, Any] = {f"{WOOD}, {test}": missing(**{test: "no"}) for test in WANTED}
    nodes, asked, _ = game(sandbox, 2, gate=OPEN_GATE, unknown=listed)
    assert asked[1]["kb_add"] == 0, "there is nothing to look for"
    assert WOOD not in last(nodes, "unknown")


# The actor's plan, and the code.


def test_a_plan_that_is_kept_grows_old_and_ends(usual: tuple[Nodes, list[Counter[str]]]) -> None:
    told = [
        question.partition("# The plan so far")[2].partition("# What is to be seen")[0]
        for question in usual[0].questions("actor_plan_sketch")
    ]
    assert "There is none: write a new one." in told[0]
    assert [re.findall(r"made (\d+) turns ago", each) for each in told[1:4]] == [["1"], ["2"], ["3"]]
    assert "was to end after 4 turns, and has" in told[4]
    assert "walk north" not in told[4]
    assert "made 1 turns ago" in told[5], "the plan that stood in its place is a new one"


def test_a_plan_that_is_not_kept_is_new(sandbox: Sandbox) -> None:
    nodes, _, _ = game(sandbox, 3, actor_plan_sketch={**PLAN, "kept": "no, a cow is nearer"})
    assert "made 1 turns ago" in last(nodes, "actor_plan_sketch")


def test_the_actor_may_choose_only_allowed_actions(sandbox: Sandbox) -> None:
    table = {name: {**action_row(name), "allowed": "yes" if name == "do()" else "no"} for name in ACTIONS}
    row = dict.fromkeys(("where", "in_time", "in_space", "risk", "benefit"), "none")
    nodes, _, _ = game(
        sandbox,
        1,
        obs_current_actions=table,
        actor_reflect=lambda number: {
            "also_tracked": [],
            "table": [],
            "actions": {["sleep()", "agent.do()"][number]: row},
        },
    )
    assert "not sleep()" in nodes.questions("actor_reflect")[1]


def test_the_table_of_actions_must_be_whole(sandbox: Sandbox) -> None:
    tables = [{name: action_row(name) for name in names} for names in (ACTIONS[1:], (*ACTIONS, "fly()"))]
    nodes, _, _ = game(
        sandbox,
        2,
        obs_current_actions=lambda number: REPLIES["obs_current_actions"] if number % 2 else tables[number // 2],
    )
    _, missing_one, _, one_more = nodes.questions("obs_current_actions")
    assert "Missing: move('west')" in missing_one
    assert "There is no action fly" in one_more


def test_actions_may_be_written_with_their_agent(sandbox: Sandbox) -> None:
    nodes, _, _ = game(sandbox, 1, obs_current_actions={f"agent.{name}": action_row(name) for name in ACTIONS})
    assert len(nodes.questions("obs_current_actions")) == 1


LOOP = """
for _ in range(4):
    told = agent.move('north')
    if told.startswith('Nothing happens'):
        break
"""


def test_code_that_is_not_one_action_goes_back(sandbox: Sandbox) -> None:
    bad = {
        code("agent.do()", "agent.move('north')"): "exactly one of the game's actions",
        code("agent.fly()"): "takes none",
        code("for _ in range(3):", "    agent.do()"): "the loop must end",
        code("agent.do("): "takes none|could not be used",
    }
    nodes, _, _ = game(sandbox, 4, actor_final=lambda number: code(LOOP) if number % 2 else list(bad)[number // 2])
    for told, asked in zip(bad.values(), nodes.questions("actor_final")[1::2], strict=True):
        assert re.search(told, asked)


def test_a_repeat_ends_when_the_action_is_refused(sandbox: Sandbox) -> None:
    nodes = Nodes({**REPLIES, "actor_final": code(LOOP.replace("range(4)", "range(40)"))})
    _, episode = played(sandbox, nodes, "crafter", TASK, options={"steps": 1}, actions=1000)
    assert 1 < len(episode.steps) < 40
    assert [step.observation.accepted for step in episode.steps] == [True] * (len(episode.steps) - 1) + [False]


def test_the_loop_that_the_prompt_shows_runs_and_ends_at_a_danger(sandbox: Sandbox) -> None:
    prompt = str(read_graph(graph_path("crafter")).nodes["actor_final"].prompt)
    shown = prompt[prompt.index("for _ in") : prompt.index("Where do() repeats")].replace('"zombie"', '"tree"')
    nodes = Nodes({**REPLIES, "actor_final": f"```python\n{shown}```"})
    _, episode = played(sandbox, nodes, "crafter", TASK, options={"steps": 1}, actions=1000)
    assert len(episode.steps) == 1, "a tree, put there for the zombie, is in view from the beginning"


# The manual.


def test_the_manual_leaves_all_amounts_out() -> None:
    manual = read_graph(graph_path("crafter")).manual
    words = "one two three four five six seven eight nine ten once twice double triple couple several half"
    assert not re.search(rf"\d|\b({words.replace(' ', '|')})\b", str(manual), re.IGNORECASE)


def test_the_manual_names_every_achievement_and_action() -> None:
    manual = str(read_graph(graph_path("crafter")).manual)
    assert [name for name in (*rules().achievements, *ACTIONS) if name not in manual] == []
    assert len(ACTIONS) == len(rules().actions) == 17


def test_no_prompt_tells_what_a_table_or_a_furnace_costs(usual: tuple[Nodes, list[Counter[str]]]) -> None:
    """Not even by way of the environment's own description."""
    asked = "\n".join(text for _, _, text in usual[0].asked)
    assert not re.search(r"\b(2|two) wood|\b(4|four|1|one) stone|uses? \d", asked)
