"""What DEPS and its baselines are shown of Minecraft: played as it stands, it does what it says."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from envs import Selection, Task
from envs.minecraft import Minecraft
from manuals.demonstrations import Demonstrating
from manuals.library import SHIPPED
from planner import METHODS, Episode, MemoryJournal, NoMemory, Outcome, Roles, Terms, method, play
from planner.models import ScriptedModel
from sandbox import Sandbox

FOLDER = SHIPPED / "minecraft" / "demonstrations"
SEEDS = (0, 1, 2)
PLANNERS = {"deps": ("dep", "deps"), "goals": ("zero-shot", "zero-shot-replan"), "code": ("progprompt",)}
PLAYED = [(name, planner, seed) for name, planners in PLANNERS.items() for planner in planners for seed in SEEDS]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as shared:
        yield shared


def sections(path: Path) -> list[tuple[Task, str]]:
    """The tasks that a file shows, each with its text."""
    found = re.findall(r"^## Obtain (\d+) (\w+)\n(.*?)(?=^## |\Z)", path.read_text(), re.DOTALL | re.MULTILINE)
    return [(task(item, int(count)), text) for count, item, text in found]


def task(item: str, count: int) -> Task:
    about = {"id": f"{item}/0", "env": "minecraft", "split": "shown", "type": "MT2_tool_simple"}
    return Task(**about, goal=f"obtain {count} {item}", params={"object": item, "count": count})


def played(sandbox: Sandbox, planner: str, shown: Task, replies: Sequence[str], seed: int) -> tuple[Outcome, list[str]]:
    """The outcome, and all that the planner was asked."""
    voices = {"planner": ScriptedModel(replies), "explainer": ScriptedModel(lambda *_: "Because.")}
    journal = MemoryJournal()
    playing = Episode(
        shown.model_copy(update={"seed": seed}),
        Minecraft(),
        sandbox,
        journal,
        terms=Terms(actions=100),
        roles=Roles(voices.__getitem__, {}),
    )
    chosen = method(planner)
    ending = play(playing, chosen.play, chosen.options())
    asked = [str(body["messages"]) for (_, kind, _), body in journal.events.items() if kind == "ask"]
    return ending.outcome, asked


@pytest.mark.parametrize(("name", "planner", "seed"), PLAYED)
def test_what_is_shown_does_the_task(sandbox: Sandbox, name: str, planner: str, seed: int) -> None:
    shown = sections(FOLDER / f"{name}.md")
    assert len(shown) == 2
    for each, text in shown:
        replies = re.findall(r"^```python\n.*?^```", text, re.DOTALL | re.MULTILINE)
        outcome, asked = played(sandbox, planner, each, replies, seed)
        assert outcome is Outcome.DIRECT_SUCCESS, each.goal
        quoted = re.findall(r"^> (.*)$", text, re.MULTILINE)
        for line in quoted:
            assert line.removesuffix("...").strip() in asked[-1].replace("\\'", "'"), line
        assert bool(quoted) == (len(replies) > 1)


def test_no_task_that_is_played_is_shown() -> None:
    objects = {each.params["object"] for each in Minecraft.tasks(Selection(split="full"))}
    assert objects.isdisjoint(each.params["object"] for name in PLANNERS for each, _ in sections(FOLDER / f"{name}.md"))


def test_every_method_finds_what_it_asks_for() -> None:
    for name in ("deps", "dep", "zero-shot", "zero-shot-replan", "chain-of-thought", "inner-monologue", "progprompt"):
        wanted = METHODS[name].demonstrations
        assert set(Demonstrating(NoMemory(), wanted).recall(task("ladder", 3)).demonstrations) == set(wanted)
