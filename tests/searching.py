"""Two methods for tests of the report: one tries branches, the other evaluates a graph of prompts.

Their cells, prompts and rewinds are real; what they try and say is fixed here, hostile texts included.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from planbook.config import Config
from planbook.envs import Observation, Selection, action
from planbook.envs.toy import Toy
from planbook.planner import (
    Ending,
    Episode,
    EpisodeSettings,
    Message,
    OnText,
    Options,
    Reply,
    Roles,
    Sampling,
    Usage,
    play,
)
from planbook.planner.frames import Frame, Mark
from planbook.planner.graph.traverse import NodeAnswered
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import as_text
from planbook.planner.scope import Scope
from planbook.planner.strategies.advocate.tree import BranchTried, PlanMade
from planbook.runs import Run
from planbook.sandbox import Sandbox
from tests.reported import HIDDEN, HOSTILE

WHY = f"The table is still bare. {HOSTILE} {HIDDEN}"
FIND, PUT = "Find the thing in one of the boxes", f"Put it on the table {HOSTILE}"
LOOK_EVERYWHERE = """for number in range(1, 9):
    seen = agent.open(f'box_{number}')
    if any(thing in seen for thing in task.params['things']):
        print(seen)"""
FETCH_ALL = """for number in range(1, 9):
    for thing in task.params['things']:
        if thing in agent.open(f'box_{number}'):
            agent.take(thing, f'box_{number}')
            agent.put(thing)"""
TAKE_ANY = """seen = agent.open('box_1')
thing = seen.rstrip('.').split('see ')[1].split(', ')[0]
agent.take(thing, 'box_1')
agent.put(thing)"""


class Ledger(Toy):
    """A toy environment in which whatever is put on the table is written down for good."""

    @action("agent.put('key') -> 'You put key on the table.'")
    def put(self, thing: str) -> Observation:
        """Put the thing in hand on the table. No other thing can be put there."""
        seen = super().put(thing)
        return replace(seen, lasting=seen.accepted)


class Says:
    """Answers every question with the same words."""

    name = "scripted:searching"

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        return Reply(text=f"I cannot say. {HOSTILE}", usage=Usage(prompt=9, completion=7))


def ask(scope: Scope, about: str) -> str:
    return scope.ask("advocate", PROMPTS["repair"], read=as_text, problem=about).value


class Trying:
    """Runs branches and keeps their records, which are written at the end of the round."""

    def __init__(self, episode: Episode, frame: Frame) -> None:
        self._episode, self._frame, self._round = episode, frame, -1
        self.branches: list[dict[str, Any]] = []

    def plan(self, *parts: str, why: str = "") -> None:
        self._round += 1
        ask(self._frame.scope, "plan")
        self._span = self._frame.scope.span(
            PlanMade(round=self._round, parts=tuple(parts), revision=bool(why), why=why)
        )
        self._begun = len(self._episode.steps)

    def mark(self) -> Mark:
        return self._episode.mark()

    def branch(self, parent: int | None, idea: int, subtask: str, code: str, fate: str, **more: Any) -> None:
        record: dict[str, Any] = {"round": self._round, "number": len(self.branches), "parent": parent, "idea": idea}
        record |= {"subtask": subtask, "code": code, "cell": None, "mapped": "", "fate": fate, "why": "", "history": ""}
        record |= {"actions": 0, "lasting": False, "value": None, "visits": None, **more}
        self.branches.append(record)
        if fate != "not tried":
            ask(self._frame.scope, f"remedies of {code}")
            record["cell"], begun = self._frame.cells, self._episode.actions
            try:
                self._episode.run(record["mapped"] or code, source="advocate")
            finally:
                record["actions"] = self._episode.actions - begun
            ask(self._frame.scope, "align")

    def write(self) -> None:
        for each in self.branches:
            self._frame.scope.note(BranchTried(**each))
        self.branches = []
        steps = self._episode.steps[self._begun :]
        lasting = [step for step in steps if step.observation.lasting]
        gone = sum(step.undone for step in lasting)
        counted = sum(step.counted for step in steps)
        self._span.end(actions=counted, lasting=len(lasting), lasting_gone_behind=gone)


def search(episode: Episode, options: BaseModel) -> None:
    """Play two rounds: the first is abandoned, and in the second the environment's episode ends."""
    with episode.frame("advocate") as frame:
        trying = Trying(episode, frame)
        trying.plan(FIND, PUT)
        start = trying.mark()
        first: dict[str, Any] = {"history": "I looked into the first box. There were some things.", "value": 0.25}
        trying.branch(None, 0, FIND, "agent.open('box_1')", "abandoned", visits=3, **first)
        opened = trying.mark()
        trying.branch(0, 0, FIND, "agent.put('moon')", "turned back", why=WHY, history=f"Nothing was put {HOSTILE}")
        episode.rewind(opened)
        trying.branch(0, 1, PUT, TAKE_ANY, "abandoned", lasting=True, history="I put the first thing that I saw there.")
        trying.branch(2, 0, PUT, "assert agent.holding == 'moon', 'no moon'", "failed", why="AssertionError: no moon")
        trying.branch(2, 1, PUT, "agent.open('box_2')", "turned back", mapped="agent.open('box_3')")
        episode.rewind(start)
        trying.branch(None, 1, FIND, "agent.open('box_9')", "turned back", why="There is no such box.")
        trying.branch(None, 2, FIND, f"agent.open({HOSTILE!r})", "not tried")
        trying.write()
        trying.plan("Look into every box", PUT, why="One box after the other takes too long; a loop sees all of them.")
        trying.branch(None, 0, "Look into every box", LOOK_EVERYWHERE, "kept", history="I looked into every box.")
        trying.branch(0, 1, PUT, "agent.open('box_1')", "not tried")
        try:
            trying.branch(0, 0, PUT, FETCH_ALL, "over", lasting=True, history="I put everything there.")
        finally:
            trying.write()


def graph(episode: Episode, options: BaseModel) -> None:
    """Play three passes of four nodes; the second node is skipped in the second pass."""
    with episode.frame("agentkit") as frame:
        for number in range(3):
            steps = frame.scope.child("pass")
            for body in _nodes(number):
                if not body["skipped"]:
                    ask(steps.child(body["node"]), body["node"])
                steps.note(NodeAnswered(number=number, **body))
            episode.run(("agent.open('box_1')", "agent.open('box_2')", FETCH_ALL)[number], source="actor")


def _nodes(number: int) -> list[dict[str, Any]]:
    goal = {"subgoal": f"Open a box {HOSTILE}", "done when": ["it is open", "its things are known"]}
    nodes: list[dict[str, Any]] = [
        {"node": "observe", "layer": 0, "answer": f"Box {number} is closed. {HIDDEN} " + "It is a box. " * 30},
        {"node": "plan", "layer": 1, "answer": goal, "of": ["observe"], "skipped": number == 1},
        {"node": "doubt", "layer": 1, "answer": "no", "of": ["observe"], "temporary": True},
        {"node": "act", "layer": 2, "answer": f"agent.open('box_{number + 1}')", "of": ["plan", "doubt"]},
    ]
    stored: dict[str, Any] = {
        "observe": {"summary.observation": nodes[0]["answer"], "summary.kind": "box"},
        "plan": {"subgoals": goal} if number != 1 else {},
        "act": {f"knowledge.box_{number}": HOSTILE},
    }
    defaults: dict[str, Any] = {"skipped": False, "temporary": False, "of": []}
    return [{**defaults, **each, "stored": stored.get(each["node"], {})} for each in nodes]


def played(folder: Path, planner: str, strategy: Any) -> Run:
    """Return a run of one episode on ``Ledger``."""
    config = Config(planner=planner, env="toy", selection=Selection(ids=("fetch_two/0",)), actions=60)
    run, model = Run.create(folder, config, Toy.tasks(config.selection)), Says()
    (entry,) = run.entries()
    with Sandbox() as sandbox:
        journal, roles = run.store.journal(entry.path), Roles(lambda role: model, {})
        settings = EpisodeSettings(actions=config.actions)
        episode = Episode(entry.task, Ledger(), sandbox, journal, settings=settings, path=entry.path, roles=roles)
        ending: Ending = play(episode, strategy, Options())
        assert ending.outcome.solved, ending
    return run
