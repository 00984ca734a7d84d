"""What is measured besides success: measures, milestones, the unlock score of Crafter, and claims of methods."""

from contextlib import closing
from io import StringIO
from math import log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from planbook.commands.playing import play
from planbook.config import Config
from planbook.console import SafeConsole
from planbook.envs import Action, Observation, Selection, Task
from planbook.planner import Ending, Feedback, FeedbackKind, Outcome, Step
from planbook.planner.journal import Claim, instant_event
from planbook.planner.types import Judgement
from planbook.results import read_folder, read_run
from planbook.results.measures import (
    Measure,
    known_milestones,
    measure_lines,
    milestone_parts,
    milestones,
    overall_measure,
    unlock_score,
)
from planbook.results.rows import TaskClaim
from planbook.results.summary import ClaimCounts, Summary, claim_lines, figure_parts
from planbook.runs import EpisodeEntry
from planbook.terminal import print_parts
from planbook.workers import Execution
from tests.command import ROOT
from tests.flows import Finished, invoke, scripted
from tests.reported import Page
from tests.rows import BROKEN, FAILED, SOLVED, EpisodeWriter, new_run, results, summary_of, summed

ENVIRONMENT = '''
from collections.abc import Mapping, Sequence
from planbook.envs.toy import Toy


class Game(Toy):
    """A toy world that counts."""

    name = "game"
    all_milestones = ("open a box", "take a thing", "put a thing", "win")

    def milestones(self) -> Sequence[str]:
        reached = {"open a box": self._open, "put a thing": self._table, "win": self.verdict().solved}
        return [name for name, value in reached.items() if value]

    def measures(self) -> Mapping[str, float]:
        return {"reward": 10.0 * len(self._table) + len(self._open)}
'''
NAMES = ("a", "b", "c")


def ending(outcome: Outcome = Outcome.FAILURE, milestones: tuple[str, ...] = (), **measures: float) -> Ending:
    return Ending(outcome=outcome, cause="x", milestones=milestones, measures=measures)


def printed(parts: Any) -> str:
    screen = SafeConsole(file=StringIO(), width=110)
    print_parts(screen, parts)
    written = screen.file
    assert isinstance(written, StringIO)
    return written.getvalue()


def test_means_are_over_all_played_episodes() -> None:
    endings = {0: ending(reward=10.0), 1: ending(Outcome.DIRECT_SUCCESS, reward=20.0), 2: ending(Outcome.BROKEN)}
    summary = summed("xxxx", endings)
    assert summary.measures == {"x": {"reward": Measure(mean=15.0, sd=7.0711, episodes=2)}}
    assert list(measure_lines(summary.measures)) == ["Measured in x: reward 15 ± 7.1; over 2 episodes."]


def test_each_type_and_all_types_together_have_figures() -> None:
    summary = summed("xyz", {0: ending(reward=1.0), 1: ending(reward=4.0, steps=9.0), 2: ending()})
    assert list(summary.measures) == ["x", "y", "all"]
    assert overall_measure(summary.measures, "reward") == Measure(mean=2.5, sd=2.1213, episodes=2)
    assert overall_measure(summary.measures, "steps") == Measure(mean=9.0, sd=None, episodes=1)
    assert overall_measure(summary.measures, "moons") is None
    assert overall_measure({}, "reward") is None
    lines = list(measure_lines(summary.measures))
    assert lines[1] == "Measured in y: reward 4, steps 9; over 1 episode."
    assert lines[2].endswith("over 1 to 2 episodes.")


def test_an_environment_without_measures_has_no_figures() -> None:
    summary = summed("x", {0: ending()})
    assert (summary.measures, summary.unlock_score) == ({}, None)
    assert list(figure_parts(summary)) == []


def test_the_unlock_score_is_computed_as_in_crafter() -> None:
    assert unlock_score([1.0] * 22) == pytest.approx(100)
    assert unlock_score([0.0] * 22) == 0
    assert unlock_score([1.0] + [0.0] * 21) == pytest.approx(101 ** (1 / 22) - 1)
    assert log(1 + unlock_score([0.5, 0.1])) == pytest.approx((log(51) + log(11)) / 2)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=22))
def test_an_unlock_score_lies_between_the_minimum_and_the_mean(shares: list[float]) -> None:
    assert 100 * min(shares) - 1e-9 <= unlock_score(shares) <= 100 * sum(shares) / len(shares) + 1e-9


def test_milestones_are_counted_for_types_whose_tasks_have_one_goal() -> None:
    goals = {"one": "a", "two": "b", "mixed": "c"}
    reached = [("one", ("log",)), ("one", ("log", "planks")), ("one", ()), ("two", ()), ("mixed", ("log",))]
    tasks = [
        Task(id=f"{n}", env="toy", split="all", type=kind, goal=goals[kind]) for n, (kind, _) in enumerate(reached)
    ]
    entries = [EpisodeEntry(index=number, task=task) for number, task in enumerate(tasks)]
    entries.append(EpisodeEntry(index=len(tasks), task=tasks[-1].model_copy(update={"goal": "another"})))
    endings = {number: ending(milestones=names) for number, (_, names) in enumerate(reached)}
    found = milestones(results(entries, endings))
    assert found == {"one": {"log": (2, 3), "planks": (1, 3)}}
    assert list(milestone_parts(found, None)) == ["Reached in one: log 2/3, planks 1/3."]


def test_all_known_milestones_are_reported_even_if_goals_differ() -> None:
    endings = {0: ending(milestones=("b",)), 1: ending(milestones=("a", "b"))}
    summary = summed("xxxx", endings, all_milestones=NAMES)
    assert summary.milestones == {"x": {"b": (2, 4), "a": (1, 4), "c": (0, 4)}}
    assert summary.unlock_score == round(unlock_score([0.25, 0.5, 0.0]), 2)
    text = printed(milestone_parts(summary.milestones, summary.unlock_score))
    assert "Reached in x" in text
    rows = [line.strip("│").split("│") for line in text.splitlines() if line.startswith("│")]
    assert [[each.strip() for each in row] for row in rows] == [
        ["b", "2 / 4", "50.0%"],
        ["a", "1 / 4", "25.0%"],
        ["c", "0 / 4", "0.0%"],
    ]
    assert f"Unlock score over all milestones: {summary.unlock_score:.2f} %." in text


def test_several_types_have_one_score() -> None:
    endings = {0: ending(milestones=("a",)), 1: ending(milestones=("a", "b"))}
    assert summed("xy", endings, all_milestones=NAMES).unlock_score == round(unlock_score([1.0, 0.5, 0.0]), 2)
    assert summed("xy", {}, all_milestones=NAMES).unlock_score == 0


def test_a_task_for_a_single_milestone_does_not_count_for_the_score() -> None:
    endings = {0: ending(milestones=("a", "b")), 1: ending(milestones=("a",)), 2: ending(milestones=("c", "a"))}
    summary = summed("xxb", endings, all_milestones=NAMES)
    assert summary.unlock_score == round(unlock_score([1.0, 0.5, 0.0]), 2)
    assert summary.milestones["b"] == {"c": (1, 1), "a": (1, 1)}
    text = printed(milestone_parts(summary.milestones, summary.unlock_score))
    assert text.startswith("Reached in b: c 1/1, a 1/1.")
    assert "Reached in x" in text
    alone = summed("b", {0: ending(milestones=("a",))}, all_milestones=NAMES)
    assert (alone.unlock_score, alone.milestones) == (None, {"b": {"a": (1, 1)}})


def test_a_missing_environment_has_no_known_milestones(tmp_path: Path) -> None:
    assert known_milestones(Config(planner="react", env=f"{tmp_path / 'gone.py'}:Game", actions=1)) == ()


def test_a_run_reports_measures_and_milestones_everywhere(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(ENVIRONMENT)

    def play(code: str, out: str) -> Finished:
        command = ("run", "--planner", "code", "--planner-option", f"code={code}", "--seeds", "0-2", "--types", "fetch")
        return invoke(*command, "--env", f"{tmp_path / 'game.py'}:Game", "--json", "--out", tmp_path / out)

    finished = play("agent.open('box_1')\nagent.open('box_2')", "run")
    found = finished.result
    assert found["measures"] == {"fetch": {"reward": {"mean": 2.0, "sd": 0.0, "episodes": 3}}}
    none = {name: [0, 3] for name in ("take a thing", "put a thing", "win")}
    assert found["milestones"]["fetch"] == {"open a box": [3, 3], **none}
    assert found["unlock_score"] == round(101**0.25 - 1, 2)
    assert "Measured in fetch: reward 2 ± 0; over 3 episodes." in finished.stderr
    assert finished.stderr.count("open a box") == 1
    nothing = play("agent.open('moon')", "nothing").result
    assert nothing["measures"]["fetch"]["reward"]["mean"] == 0.0, "an episode without any milestone is measured too"
    invoke("report", tmp_path / "run")
    (reached,) = Page(tmp_path / "run" / "report.html").all("section", class_="figures")
    assert "reward" in reached
    assert f"Unlock score over all milestones: {found['unlock_score']:.2f} %." in reached
    assert "take a thing0 / 30.0%" in reached


CAMP = (f"{ROOT}/tests/planner/camp.py:Camp", "pickaxe")
TOY = ("toy", "fetch/0")
JUDGED, WHOLE = "the evaluator's last judgement", "the agent with the whole task"
DONE = (Feedback(kind=FeedbackKind.DONE, text=""),)
GOALS, WORD = "the goals of the last plan", "the planner's last word"


def play_claims(folder: Path, planner: str, answer: str, env: str = "toy", *ids: str) -> Summary:
    """Play a run in which one model of tests/claiming.py has all roles."""
    model = answer if ":" in answer else f"scripted:{ROOT}/tests/claiming.py:{answer}"
    options = {"rounds": 0} if planner == "deps" else {}
    chosen = {"selection": Selection(ids=ids), "actions": 20, "planner_options": options}
    config = Config(planner=planner, env=env, models={"default": model}, **chosen)
    return play(config, folder / "run", Execution())[1]


@pytest.mark.parametrize(
    ("planner", "answer", "task", "claim"),
    [
        ("react", "boastful", TOY, ("solved", WHOLE)),
        ("react", "modest", TOY, ("not solved", WHOLE)),
        ("react", "refused", TOY, ("nothing", "")),
        ("try-again", "refused", TOY, ("nothing", "")),
        ("adapt", "refused", TOY, ("nothing", "")),
        ("adapt", "boastful", TOY, ("solved", WHOLE)),
        ("plan-act", "content", TOY, ("solved", JUDGED)),
        ("devils-advocate", "content_later", TOY, ("solved", JUDGED)),
        ("lats", "content", TOY, ("solved", JUDGED)),
        ("devils-advocate", "never_content", TOY, ("nothing", "")),
        ("zero-shot", "mines", CAMP, ("solved", GOALS)),
        ("zero-shot", "mines_and_sings", CAMP, ("nothing", "")),
        ("zero-shot", "crafts", CAMP, ("not solved", GOALS)),
        ("deps", "mines", CAMP, ("solved", GOALS)),
        ("inner-monologue", "mines_and_is_done", CAMP, ("solved", WORD)),
        ("inner-monologue", "mines", CAMP, ("nothing", "")),
    ],
)
def test_the_claim_about_a_task_comes_from_the_methods_last_judge(
    tmp_path: Path, planner: str, answer: str, task: tuple[str, str], claim: tuple[str, str]
) -> None:
    summary = play_claims(tmp_path, planner, answer, *task)
    (row,) = read_folder(Path(summary.run)).episodes.values()
    assert (row.claim.claim, row.claim.by) == claim
    assert (summary.claims is None) == (claim[0] == "nothing")
    assert not row.claim.solved
    assert summary.solved == 0


def test_automanual_makes_no_claim(tmp_path: Path) -> None:
    assert play_claims(tmp_path, "automanual", scripted(), *TOY).claims is None


def test_a_false_claim_is_named_with_its_task(tmp_path: Path) -> None:
    claims = play_claims(tmp_path, "react", "boastful", "toy", "fetch/0", "fetch_two/1").claims
    assert claims is not None
    assert claims.claimed_and_not == 2
    assert [claim.task for claim in claims.false] == ["fetch/0", "fetch_two/1"]
    counts, named = claim_lines(claims)
    assert counts == (
        "Claims about whole tasks: 2 made, 0 right; 2 claimed solved but not solved, 0 claimed failed but solved; "
        "0 without a claim."
    )
    assert named == "False claims: fetch/0 (claimed solved), fetch_two/1 (claimed solved)."


def test_a_claim_about_a_broken_or_unplayed_episode_is_not_false(tmp_path: Path) -> None:
    episodes = [(SOLVED, True), (FAILED, True), (SOLVED, False), (FAILED, None), (BROKEN, True), (None, True)]
    with closing(new_run(tmp_path / "run", *["a"] * len(episodes), planner="react")) as run:
        for entry, (outcome, done) in zip(run.entries(), episodes, strict=True):
            writer = EpisodeWriter(run, entry.path)
            writer.put(f"{writer.scope}/execute/0", "span", instant_event(Claim(done=done, by=WHOLE)))
            writer.end(outcome)
        found = summary_of(run).claims
    assert found is not None
    expected = {"claimed_and_solved": 1, "claimed_and_not": 1, "denied_and_solved": 1, "unclaimed_and_not": 1}
    none = dict.fromkeys(ClaimCounts.model_fields.keys() - expected - {"false", "unplayed"}, 0)
    assert found.model_dump(exclude={"false"}) == {**expected, **none, "unplayed": 2}
    assert [claim.task for claim in found.false] == ["a/1", "a/2"]
    counts, named = claim_lines(found)
    assert "3 made, 1 right" in counts
    assert "2 without a verdict" in counts
    assert "a/2 (claimed not solved)" in named
    assert str(found.false[1].model_copy(update={"repeat": 1})) == "a/2 (repeat 1) (claimed not solved)"


def test_a_delivered_answer_counts_as_a_claim_in_every_method(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", "ask", planner="automanual", env="web")) as run:
        writer, seen = EpisodeWriter(run, "task/0"), Observation("Answered.", terminated=True)
        step = Step(scope=f"{writer.scope}/plan/0", cell=0, line=1, action=Action("stop", ("7",)), observation=seen)
        writer.put(writer.scope, "act", step.model_dump(mode="json"))
        writer.end(FAILED)
        found: Any = summary_of(run).claims
    assert found.false == (
        TaskClaim(task="ask/0", repeat=0, claim="solved", by="an answer was delivered", solved=False),
    )


def test_a_claim_about_a_task_that_nothing_can_judge_is_not_false(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", "ask", planner="automanual", env="web")) as run:
        writer = EpisodeWriter(run, "task/0")
        writer.put(f"{writer.scope}/execute/0", "span", instant_event(Claim(done=True, by=WHOLE)))
        ending = Judgement(unjudged_result="answer: 7").ending(DONE, 1, used_up=False)
        writer.put(writer.path, "outcome", ending.model_dump(mode="json"))
        (row,) = read_run(run).episodes.values()
        assert (row.claim.claim, row.claim.is_false) == ("solved", False)
        assert summary_of(run).claims is None
