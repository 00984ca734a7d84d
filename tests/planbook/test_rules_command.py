"""`planbook rules` lists learned rules, shows their history and undoes changes; the Consolidator reads episodes."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.envs import Selection
from planbook.knowledge import KnowledgeState
from planbook.learning.learner import describe_episodes
from planbook.planner import Ending, NoMemory, Outcome
from planbook.rules import Citation, History, Knowledge, Rule, RuleBook, count_evidence
from planbook.rules.book import Batch, ChangedRule, RuleChange
from planbook.rules.evidence import Obedience
from planbook.runs import DIVERGED, Run
from planbook.workers import play_episodes
from tests.flows import BUILD, asks, events, invoke, prompt, refusal, scripted, succeed

SMALL = (*BUILD, "--no-procedures")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `planbook build`, which tests must not change."""
    folder = tmp_path_factory.mktemp("built") / "run"
    succeed(*SMALL, "--out", folder)
    return folder


@pytest.fixture
def run(tmp_path: Path, built: Path) -> Path:
    """A copy of the run of `planbook build`."""
    shutil.copytree(built, tmp_path / "run")
    return tmp_path / "run"


def ids(folder: Path) -> list[str]:
    return [rule["id"] for rule in invoke("rules", folder, "--json").result["rules"]]


def test_rules_are_shown_with_their_evidence(built: Path) -> None:
    shown = invoke("rules", built).stdout
    assert "rule_3 (Corrected Error)\n  When a thing is looked for, look into every box." in shown
    assert "rule    type" in shown
    one = invoke("rules", built, "show", "rule_3").stdout
    assert one.startswith("rule_3 (Corrected Error)")
    assert "rule_0" not in one
    found = invoke("rules", built, "--json").result
    assert found["evidence"]["rule_0"]["cited"] == 6
    assert found["changes"] == len(invoke("rules", built, "log").stdout.splitlines()) == 6


def test_differences_between_states_are_shown(built: Path) -> None:
    def diff(*states: str) -> str:
        return invoke("rules", built, "diff", *states).stdout

    assert diff("0..1").count("+rule_3 (Corrected Error)") == 1
    assert diff("1") == diff("0..1")
    assert diff("..2") == diff("0..2")
    assert diff("3..3") == diff("6..") == "No difference.\n"
    assert "+rule_3" in diff(), "from the first to the last state"


def test_an_undo_restores_the_earlier_rules_in_tests_manuals_and_files(run: Path, tmp_path: Path) -> None:
    succeed("formulate", run)
    undone = succeed("rules", run, "undo", 1)
    assert undone.stdout.splitlines()[-1] == "   7  user: went back to the rules before change 1"
    assert ids(run) == ["rule_0", "rule_1", "rule_2"]
    assert "rule_3" not in (run / "learned" / "toy" / "rules.json").read_text()
    assert not (run / "learned" / "toy" / "manual.md").exists()
    command = ("test", "--env", "toy", "--types", "fetch", "--library", run, "--model", scripted(), "--out")
    succeed(*command, tmp_path / "listed")
    succeed("formulate", run)
    succeed(*command, tmp_path / "manual")
    for folder in (tmp_path / "listed", tmp_path / "manual"):
        assert "look into every box" not in prompt(asks(folder, "planner", "automanual/task")[0])
    assert "# Manual of the toy world" in prompt(asks(tmp_path / "manual", "planner", "automanual/task")[0])


def test_an_undo_can_be_undone(run: Path) -> None:
    before = invoke("rules", run, "--json").result
    invoke("rules", run, "undo", 1)
    assert "undoing change 1 changes nothing" in refusal("rules", run, "undo", 1)
    succeed("rules", run, "undo", before["changes"] + 1)
    assert invoke("rules", run, "--json").result["rules"] == before["rules"]


def test_building_continues_from_the_rules_after_an_undo(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = (*SMALL, "--json", "--out", folder)
    assert invoke(*command, "--budget", "calls=8").returncode == 4
    assert "rule_3" in ids(folder)
    calls = len(asks(folder))
    succeed("rules", folder, "undo", 1)
    succeed(*command, "--budget", "calls=1000")
    later = [prompt(each) for each in asks(folder)[calls:] if each["template"] == "automanual/task.j2"]
    assert later
    assert "## rule_3" not in later[0]
    log = invoke("rules", folder, "log").stdout.splitlines()
    assert [line for line in log if "user: went back to the rules before change 1" in line]
    assert "rule_3" not in ids(folder)


@pytest.mark.deep
def test_a_build_that_was_interrupted_before_an_undo_asks_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = (*SMALL, "--json", "--out", folder)
    number = next(
        number
        for number in range(6, 20)
        if invoke(*command, "--budget", f"calls={number}").returncode == 4
        and asks(folder)[-1]["template"] == "builder/classify.j2"
        and len(events(folder, "learned", "learn")) > 0
    )
    succeed("rules", folder, "undo", 1)
    finished = succeed(*command, "--budget", "calls=1000")
    again = [each for each in asks(folder)[number:] if each["template"] == "builder/classify.j2"]
    assert "look into every box" not in prompt(again[0]).split("# Episode")[0]
    once_more = invoke("run", "--resume", folder, "--json")
    assert once_more.result["model_calls"] == finished.result["model_calls"]


def test_a_rule_with_a_check_that_nobody_obeys_is_dropped(tmp_path: Path) -> None:
    more = ("--no-procedures", "--checks", "--solved-after", "9", "--out", tmp_path / "run")
    succeed("build", "--env", "toy", "--model", scripted("checking"), *more)
    changes = invoke("rules", tmp_path / "run", "log").stdout
    assert "consolidator" in changes
    assert "rule_3" not in ids(tmp_path / "run")
    states: list[Any] = [event.body for event in events(tmp_path / "run", "learned", "learn")]
    obeyed = [citation["obeyed"] for citation in states[-1]["citations"] if "obeyed" in citation]
    assert obeyed[:5] == [{"rule_3": False}] * 5
    assert "rule_3" not in obeyed[5], "after five episodes the rule was dropped"
    checks = [rule["check"] for state in states for rule in state["knowledge"]["rules"] if "check" in rule]
    assert checks[0].startswith("def obeyed(code, steps):")


def test_an_edited_check_resets_the_counts_of_obedience() -> None:
    rules = tuple(Rule(id=f"rule_{number}", type=None, content="Look.", check="first") for number in range(2))
    citation = Citation(episode="task/0", rule_ids=("rule_0",), solved=True, obeyed={"rule_0": True, "rule_1": True})
    history = History(initial=RuleBook.from_rules(rules))
    state = KnowledgeState(knowledge=Knowledge(environment="toy", rules=rules), history=history, citations=(citation,))
    edited = ChangedRule(id="rule_0", before=rules[0], after=rules[0].model_copy(update={"check": "second"}))
    batch = Batch(who="builder", where="task/0")
    change = RuleChange(batch=batch, assigned=(), touched=(edited,), next_number=2)
    evidence = count_evidence(state.with_history(history.record(change)).citations)
    assert (evidence["rule_0"].cited, evidence["rule_0"].obedience) == (1, None)
    assert evidence["rule_1"].obedience == Obedience(obeyed=1, obeyed_solved=1)


CONFIG = Config(
    planner="code",
    planner_options={"code": "print(agent.open('box_1'))"},
    env="toy",
    actions=9,
    selection=Selection(ids=("fetch/0", "fetch/1")),
)


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[Run]:
    """A run of two episodes; the first diverged from its record and was restarted."""
    opened = Run.create(tmp_path / "restarted", CONFIG, CONFIG.environment.tasks(CONFIG.selection))
    diverged = Ending(outcome=Outcome.BROKEN, cause=DIVERGED)
    opened.store.put("task/0", "outcome", 0, diverged.model_dump(mode="json"))
    opened.begin_invocation()
    assert play_episodes(opened, NoMemory(), lambda entry, ending: None)
    yield opened
    opened.close()


def test_episodes_are_described_in_the_order_of_the_request(restarted: Run) -> None:
    text = describe_episodes(restarted, ["task/1", "task/0"])
    assert text.index("# The episode task/1") < text.index("# The episode task/0")
    assert text.count("You open box_1") >= 2


def test_a_restarted_episode_is_found_under_both_names(restarted: Run) -> None:
    again, plain = (describe_episodes(restarted, [id]) for id in ("task/0/restart/1", "task/0"))
    assert again.splitlines()[0] == "# The episode task/0/restart/1"
    assert again.splitlines()[1:] == plain.splitlines()[1:]
