"""AgentKit's Crafter agent: gate, memory, knowledge base, plans, and the checks of answers."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from pydantic import JsonValue

from planbook.envs import Observation, Task
from planbook.envs.crafter import Crafter
from planbook.envs.crafter.environment import SURVIVE, make_task
from planbook.envs.crafter.rules import tables
from planbook.envs.crafter.view import player_view
from planbook.planner import Outcome
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.file import graph_path, read_graph
from planbook.planner.graph.hooking import AnswerRejected, ComposeContext, crafter as crafter_hooks
from planbook.planner.graph.hooking.crafter import (
    ACTIONS,
    DISCOVERY_TESTS,
    UNKNOWN_TESTS,
    all_actions,
    one_action,
    three_challenges,
)
from planbook.sandbox import Sandbox
from tests.planner import episode_kit
from tests.planner.crafter_nodes import OPEN_GATE, PLAN, REPLIES, SHUT_GATE, WEIGHED, action_row, discovery, missing
from tests.planner.episode_kit import code, journal_of
from tests.planner.graph.graph_kit import make_node
from tests.planner.node_models import NodeModels, Reply, played

Check = Callable[[JsonValue, GraphDatabase], JsonValue]
TASK = "survive/0"
WOOD, COAL = "wood of a tree", "coal of a seam"


def open_at(*steps: int) -> Reply:
    """Return the replies of the gate node, which is open at these steps and shut at others."""
    return lambda number: OPEN_GATE if number in steps else SHUT_GATE


def game(sandbox: Sandbox, steps: int, **replies: Reply) -> tuple[NodeModels, list[Counter[str]]]:
    """Play some steps. Return the models, and for each step the number of requests of each node."""
    nodes = NodeModels({**REPLIES, **replies})
    ending, episode = played(sandbox, nodes, "crafter", TASK, options={"steps": steps}, actions=1000)
    assert (ending.outcome, ending.error_steps, ending.message) == (Outcome.FAILURE, 0, "")
    asked = [Counter[str]() for _ in range(steps)]
    for scope, kind, _ in journal_of(episode).events:
        if kind == "ask" and (found := re.search(r"/step/(\d+)/(\w+)/0$", scope)):
            asked[int(found[1])][found[2]] += 1
    return nodes, asked


@pytest.fixture(scope="module")
def default(sandbox: Sandbox) -> tuple[NodeModels, list[Counter[str]]]:
    """Six steps with the default replies."""
    return game(sandbox, 6)


# The gate (section 3.1).


def test_each_reason_opens_the_gate_and_a_correction_alone_does_not(sandbox: Sandbox) -> None:
    reasons = ["unexpected_encounters", "mistake", "confused", "top_subgoal_completed", "top_subgoal_changed"]
    answers: list[dict[str, str]] = [{}, *({each: "yes"} for each in (*reasons, "correction_planned"))]
    _, asked = game(sandbox, len(answers), gate=lambda number: {**SHUT_GATE, **answers[number]})
    assert [each["subgoals"] for each in asked[1:]] == [1] * len(reasons) + [0]


# Memory.


def test_a_reflection_sees_25_steps_and_feedback_all_steps_under_the_skill() -> None:
    history = [{"step": step, "observation": f"seen {step}", "action": "did", "skill": "Walk"} for step in range(40)]
    database = GraphDatabase({"history": history, "skill": {"name": "Walk", "feedback": ""}, "step": {"number": 40}})  # type: ignore[dict-item]
    database.set("world", {"about": "A game.", "goal": "survive"})
    database.set("manual", "Do.")
    composing = ComposeContext(make_node("reflect", "What?"), database, {}, 0)
    assert turns(crafter_hooks.recent(composing)) == [str(turn) for turn in range(16, 41)]
    assert len(turns(crafter_hooks.under_the_skill(composing))) == 40


def turns(text: str) -> list[str]:
    """Return the numbers of the turns that a history has."""
    return re.findall(r"^Turn (\d+)\.", text, re.MULTILINE)


def test_each_step_is_summarised_and_its_action_judged_in_the_next_step(sandbox: Sandbox) -> None:
    def act(number: int) -> object:
        done = {"action": f"deed {number}", "repeats": 2, "target": "tree", "success": "no", "causes_of_failure": "far"}
        return done if number else REPLIES["s_action"]

    nodes, _ = game(
        sandbox,
        4,
        s_action=act,
        s_obs=lambda number: f"Seen at {number}.",
        s_vit=lambda number: f"Vitals at {number}.",
        s_plan=lambda number: f"Plan at {number}.",
    )
    history = nodes.questions("reflect")[-1]
    assert (
        "Turn 2. Seen: Seen at 1. Vitals: Vitals at 1. Plan: Plan at 1. Done: deed 1 x2, target tree, failed: far"
        in history
    )
    assert "Turn 4. Seen: Seen at 3. Vitals: Vitals at 3.\n" in history, "this step has no plan and no action yet"
    assert "Turn 4" in nodes.questions("actor_reflect")[-1]


@pytest.fixture(scope="module")
def skilled(sandbox: Sandbox) -> tuple[NodeModels, list[Counter[str]]]:
    """Nine steps: the skill is Walk at steps 0 to 3 and from 6 on, Dig at 4 and 5."""
    names = ["Walk", "Dig", "walk ", "Walk"]
    return game(
        sandbox,
        9,
        gate=open_at(4, 6, 8),
        skill=lambda number: {"name": names[number], "description": f"v{number}", "parameters": [], "guide": "g"},
        feed=lambda number: f"ADVICE {number}",
    )


def test_a_skill_gets_feedback_on_all_its_steps_after_every_third(
    skilled: tuple[NodeModels, list[Counter[str]]],
) -> None:
    nodes, asked = skilled
    assert [step for step, each in enumerate(asked) if each["feed"]] == [3, 8]
    assert [turns(prompt) for prompt in nodes.questions("feed")] == [["1", "2", "3"], ["1", "2", "3", "4", "7", "8"]]
    actor, planner = nodes.questions("actor_reflect"), nodes.questions("challenge")
    assert "ADVICE 0" in actor[3]
    assert "ADVICE 0" in planner[3]
    assert "ADVICE" not in actor[4], "feedback on one skill is not shown under another"
    assert "ADVICE 0" in actor[6], "it is shown again once its skill is used again"


def test_a_skill_is_taken_from_the_library_or_added(skilled: tuple[NodeModels, list[Counter[str]]]) -> None:
    library = skilled[0].questions("skill")[-1].partition("If a skill")[0]
    assert [text in library for text in ('"Walk"', '"Dig"', "v0", "v1")] == [True] * 4
    assert "v2" not in library, "a skill in the library does not change"


# The knowledge base (section 3.3).


def test_only_information_that_passes_every_test_is_kept(sandbox: Sandbox) -> None:
    failed: dict[str, Any] = {f"not {test}": discovery(**{test: "no, not at all"}) for test in DISCOVERY_TESTS}
    failed |= {f"empty {short}": discovery(discovery_short=short) for short in ("N/A", "none", "NA.")}
    unwanted: dict[str, Any] = {f"unwanted {test}": missing(**{test: "no"}) for test in UNKNOWN_TESTS}
    listed = {**dict.fromkeys([WOOD, COAL, *failed], missing()), **unwanted}
    found = {WOOD: discovery(), COAL: discovery(discovery_short="4"), **failed}
    nodes, _ = game(sandbox, 3, gate=OPEN_GATE, kb_add=found, unknown=lambda number: {} if number else listed)
    search = nodes.questions("kb_add")[0]
    assert [item for item in listed if item in search] == [WOOD, COAL, *failed]
    known, _, rest = nodes.questions("unknown")[1].partition("# The list of unknown information")
    assert known.partition("# The knowledge base")[2].count("1 wood a tree") == 1
    assert [item for item in listed if item in rest.partition("\n# ")[0]] == list(failed)


# The actor's plan, and the code.


def test_a_plan_that_is_kept_expires(default: tuple[NodeModels, list[Counter[str]]]) -> None:
    plans = [
        prompt.partition("# The plan so far")[2].partition("# Current observation")[0]
        for prompt in default[0].questions("actor_plan_sketch")
    ]
    assert "There is none: write a new one." in plans[0]
    assert [re.findall(r"made (\d+) turns ago", plan) for plan in plans[1:4]] == [["1"], ["2"], ["3"]]
    assert "expired after 4 turns" in plans[4]
    assert "walk north" not in plans[4]
    assert "made 1 turns ago" in plans[5], "a new plan has replaced the expired one"


def test_a_plan_that_is_not_kept_is_replaced(sandbox: Sandbox) -> None:
    nodes, _ = game(sandbox, 3, actor_plan_sketch={**PLAN, "kept": "no, a cow is nearer"})
    assert "made 1 turns ago" in nodes.questions("actor_plan_sketch")[-1]


ALLOWED = GraphDatabase({"allowed_actions": {"do()": "tree"}})
CHALLENGE: dict[str, JsonValue] = {"challenge": "food", "urgency": 3, "convenience": 3}


def rows(names: Iterable[str]) -> dict[str, JsonValue]:
    return {name: {**action_row(name)} for name in names}


@pytest.mark.parametrize(
    ("check", "answer", "problem"),
    [
        (all_actions, rows([*ACTIONS, "fly()"]), "There is no action fly"),
        (all_actions, rows(ACTIONS[1:]), r"Missing: move\('west'\)\.$"),
        (three_challenges, {"challenges": [CHALLENGE, CHALLENGE, {**CHALLENGE, "urgency": 6}]}, "from 1 to 5"),
        (one_action, "agent.do()\nagent.move('north')", "exactly one of the game's actions"),
        (one_action, "for _ in range(3):\n    agent.do()", "the loop must end"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(check: Check, answer: JsonValue, problem: str) -> None:
    with pytest.raises(AnswerRejected, match=problem):
        check(answer, ALLOWED)


def test_actions_may_be_written_with_their_agent() -> None:
    table = rows(ACTIONS)
    assert all_actions({f"agent.{name}": row for name, row in table.items()}, ALLOWED) == table


def test_each_checked_node_is_asked_again(sandbox: Sandbox) -> None:
    refused: dict[str, tuple[Reply, str]] = {
        "obs_current_actions": (rows(ACTIONS[1:]), "Missing: move('west')"),
        "challenge": ({"challenges": [CHALLENGE], "chosen": "food", "why": "hunger"}, "exactly 3 challenges"),
        "subgoals": ([{"subgoal": "eat", "completion_criteria": "it is eaten"}], "exactly 3 subgoals"),
        "actor_reflect": ({"also_tracked": [], "table": [], "actions": {"sleep()": WEIGHED}}, "not sleep()"),
        "actor_final": (code("agent.fly()"), "takes none"),
    }
    nodes, _ = game(sandbox, 1, **{node: bad_reply_first(node, reply) for node, (reply, _) in refused.items()})
    for node, (_, problem) in refused.items():
        _, repair = nodes.questions(node)
        assert problem in repair


def bad_reply_first(node: str, first: Reply) -> Reply:
    return lambda number: REPLIES[node] if number else first


class Healing(Crafter):
    """A game that begins with a player whose health will rise in the first step."""

    recovery, food = 25, 9

    def begin(self, task: Task) -> Observation:
        first, player = super().begin(task), self.game.player
        player._recover = self.recovery
        player.inventory.update(health=5, food=self.food)
        self.player_view = player_view(self.game)
        return first


class Starving(Healing):
    """A game that begins with a player whose health will go down in the first step."""

    recovery, food = -15, 0


def test_the_loop_in_the_prompt_ends_at_a_hazard(sandbox: Sandbox) -> None:
    prompt = str(read_graph(graph_path("crafter")).nodes["actor_final"].prompt)
    shown = prompt[prompt.index("health = ") : prompt.index("If do() is repeated")]
    nodes = NodeModels({**REPLIES, "actor_final": code(shown.replace('"zombie"', '"tree"'))})
    _, episode = played(sandbox, nodes, "crafter", TASK, options={"steps": 1}, actions=1000)
    assert len(episode.steps) == 1, "a tree, which replaces the zombie in the loop, is in view from the beginning"
    for wounded, steps in ((Healing(), 4), (Starving(), 1)):
        nodes = NodeModels({**REPLIES, "actor_final": code(shown.replace("agent.move('west')", "agent.noop()"))})
        settings: dict[str, Any] = {"environment": wounded, "task": make_task(SURVIVE, 0), "actions": 1000}
        _, episode = episode_kit.played(sandbox, nodes, "agentkit", options={"steps": 1}, **settings)
        assert len(episode.steps) == steps, "the loop ends when the health goes down, but not when it rises"


# The manual.


def test_the_manual_names_no_amounts() -> None:
    manual = read_graph(graph_path("crafter")).manual
    words = "one two three four five six seven eight nine ten once twice double triple couple several half"
    assert not re.search(rf"\d|\b({words.replace(' ', '|')})\b", str(manual), re.IGNORECASE)


def test_the_manual_names_every_achievement_and_action() -> None:
    manual = str(read_graph(graph_path("crafter")).manual)
    assert [name for name in (*tables().achievements, *ACTIONS) if name not in manual] == []
    assert len(ACTIONS) == len(tables().actions) == 17


def test_no_prompt_tells_the_cost_of_a_table_or_furnace(default: tuple[NodeModels, list[Counter[str]]]) -> None:
    asked = "\n".join(text for _, _, text in default[0].asked)
    assert not re.search(r"\b(2|two) wood|\b(4|four|1|one) stone|uses? \d", asked)
