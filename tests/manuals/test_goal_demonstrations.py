"""Demonstrations for DEPS and its baselines are played unchanged, and have the results that they state."""

import re
from ast import literal_eval
from collections.abc import Mapping, Sequence

import pytest
from pydantic import JsonValue

from planbook.envs import Action, ActionSpec, Selection, Task, load_environment
from planbook.envs.alfworld.environment import PAPER_GOAL_SPECS
from planbook.envs.minecraft import Minecraft
from planbook.manuals.procedures import DEMONSTRATIONS_FOLDER, SHIPPED, DemonstratingMemory
from planbook.planner import (
    METHODS,
    Episode,
    EpisodeSettings,
    MemoryJournal,
    NoMemory,
    Outcome,
    Roles,
    ScriptedModel,
    method,
    play,
)
from planbook.planner.agent import AGENT, plan_function
from planbook.sandbox import Sandbox, check, read_reply

PLANNERS = {
    "deps": ("dep", "deps"),
    "goals": ("zero-shot", "zero-shot-replan"),
    "thoughts": ("chain-of-thought",),
    "dialogue": ("inner-monologue",),
    "assertions": ("progprompt",),
    "policies": ("code-as-policies",),
}
SEEDS: Mapping[str, Sequence[int]] = {"minecraft": (0, 1), "tabletop": (0,)}
"""Maps environments whose examples can be played without a controller to seeds, for examples that state no seed."""
PLAYED = [(environment, seed) for environment, seeds in SEEDS.items() for seed in seeds]
HOUSEHOLD = ("deps", "goals", "thoughts", "dialogue")


def sections(environment: str, name: str) -> list[tuple[Task, str]]:
    """Return the tasks in a file, each with its text."""
    text = (SHIPPED / environment / DEMONSTRATIONS_FOLDER / f"{name}.md").read_text()
    found = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return [(task(environment, title, body), body) for title, body in found]


def task(environment: str, title: str, body: str) -> Task:
    """Return the task of an example, from its id or, in Minecraft, from its title."""
    if shown := re.search(r"<!-- task: (\S+) -->", body):
        return load_environment(environment).select(Selection(ids=(shown[1],)))[0]
    params: dict[str, JsonValue] = {}
    if amount := re.fullmatch(r"Obtain (\d+) (\w+)", title):
        params = {"object": amount[2], "count": int(amount[1])}
    return Task(id=title, env=environment, split="shown", type="MT2_tool_simple", goal=title.lower(), params=params)


FAILURES_IN_MINECRAFT = re.findall(
    r"^> Failed: agent\.(.*)\n> In the plan: .*\n> Current state: Inventory: (.*)\.$",
    (SHIPPED / "minecraft" / DEMONSTRATIONS_FOLDER / "explained.md").read_text(),
    re.MULTILINE,
)


def test_explained_goals_fail_in_minecraft() -> None:
    assert len(FAILURES_IN_MINECRAFT) == 3
    for call, inventory in FAILURES_IN_MINECRAFT:
        environment = Minecraft()
        environment.reset(Minecraft.select(Selection())[0])
        environment.player.inventory |= {
            item: int(n) for n, item in (each.split(" ") for each in inventory.split(", "))
        }
        name, _, arguments = call.partition("(")
        assert not environment.act(Action(name, literal_eval(f"({arguments}"))).accepted


def test_explanations_quote_the_tabletop() -> None:
    for shown, body in sections("tabletop", "explained"):
        environment = load_environment("tabletop")()
        environment.reset(shown)
        done = re.findall(r"^> \w+: agent\.pick_place(.*)", body, re.MULTILINE)
        *_, last = [environment.act(Action("pick_place", literal_eval(each))) for each in done]
        assert f"> Result: {last.text}" in body


def codes(text: str) -> list[str]:
    return re.findall(r"^```python\n.*?^```", text, re.DOTALL | re.MULTILINE)


def played(sandbox: Sandbox, planner: str, shown: Task, replies: Sequence[str], seed: int) -> tuple[Outcome, list[str]]:
    """Return the outcome and the prompts."""
    models = {"planner": ScriptedModel(replies), "explainer": ScriptedModel(lambda *_: "Because.")}
    journal = MemoryJournal()
    playing = Episode(
        shown if shown.seed else shown.model_copy(update={"seed": seed}),
        load_environment(shown.env)(),
        sandbox,
        journal,
        settings=EpisodeSettings(actions=100),
        roles=Roles(models.__getitem__, {}),
    )
    chosen = method(planner)
    ending = play(playing, chosen.play, chosen.options())
    asked = [str(body["messages"]) for (_, kind, _), body in journal.events.items() if kind == "ask"]
    return ending.outcome, asked


@pytest.mark.parametrize(
    ("name", "planner"), [(name, each) for name, planners in PLANNERS.items() for each in planners]
)
@pytest.mark.parametrize(("environment", "seed"), PLAYED)
def test_examples_solve_their_tasks_and_quote_their_prompts(
    sandbox: Sandbox, environment: str, name: str, planner: str, seed: int
) -> None:
    shown = sections(environment, name)
    assert len(shown) == 2
    for each, text in shown:
        replies = codes(text)
        outcome, asked = played(sandbox, planner, each, replies, seed)
        assert outcome is Outcome.DIRECT_SUCCESS, each.goal
        quoted = re.findall(r"^> (.*)$", text, re.MULTILINE)
        for line in quoted:
            assert line.removesuffix("...").strip() in asked[-1].replace("\\'", "'"), line
        assert bool(quoted) == (len(replies) > 1)
        for scene, things in re.findall(r"^(You see a table .*) (On the table: .*)$", text, re.MULTILINE):
            assert scene in asked[0]
            assert things in asked[0]


@pytest.mark.parametrize(("environment", "seed"), PLAYED)
def test_a_thought_states_the_result_of_its_goal(environment: str, seed: int) -> None:
    for each, text in sections(environment, "thoughts"):
        playing = load_environment(environment)()
        playing.reset(each if each.seed else each.model_copy(update={"seed": seed}))
        thoughts = re.findall(r"^agent\.(\w+)(.*)\n# .* In all: (.*?)\. ", text, re.MULTILINE)
        assert len(thoughts) == text.count("agent.")
        for name, arguments, stated in thoughts:
            playing.act(Action(name, literal_eval(arguments)))
            state = re.sub(r" \(\w+\)", "", playing.state())
            assert re.search(rf"(?:Inventory|On the table): {stated}\.", state), state


@pytest.mark.parametrize("name", ["assertions", "policies"])
@pytest.mark.parametrize("environment", SEEDS)
def test_shown_code_has_the_form_that_its_prompt_requires(environment: str, name: str) -> None:
    for _, text in sections(environment, name):
        assert bool(re.search(r"^ +assert ", text, re.MULTILINE)) == (name == "assertions")
        assert bool(re.search(r"^ *(?:if|for) ", text, re.MULTILINE)) == (name == "policies")


@pytest.mark.parametrize("name", HOUSEHOLD)
def test_household_examples_pass_the_check(name: str) -> None:
    goals = {f"{AGENT}.{goal}": plan_function(spec, _never) for goal, spec in PAPER_GOAL_SPECS.items()}
    for _, text in sections("alfworld", name):
        for code in codes(text):
            assert check(read_reply(code).code, goals) == []


def _never(spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
    raise AssertionError(f"{spec.name} is only checked")


def test_examples_are_not_tasks_of_the_splits() -> None:
    objects = {each.params["object"] for each in Minecraft.tasks(Selection(split="full"))}
    assert objects.isdisjoint(each.params["object"] for name in PLANNERS for each, _ in sections("minecraft", name))
    shown = {each.seed for name in PLANNERS for each, _ in sections("tabletop", name)}
    assert min(shown) >= 10_000, "no run plays these seeds by default"


@pytest.mark.parametrize("environment", SEEDS)
@pytest.mark.parametrize("name", [each for planners in PLANNERS.values() for each in planners])
def test_every_method_finds_its_demonstrations(environment: str, name: str) -> None:
    wanted = METHODS[name].demonstrations
    recalled = DemonstratingMemory(NoMemory(), wanted).recall(task(environment, "Any", ""))
    assert set(recalled.demonstrations) == set(wanted)
