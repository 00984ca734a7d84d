"""What methods claim about their tasks, compared with the verdicts."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.commands.playing import play
from planbook.config import Config
from planbook.envs import Action, Observation, Selection
from planbook.planner import Feedback, FeedbackKind, Step
from planbook.planner.journal import Claim, instant_event
from planbook.planner.types import Judgement
from planbook.results import read_folder, read_run
from planbook.results.rows import TaskClaim
from planbook.results.summary import ClaimCounts, Summary, claim_lines
from planbook.workers import Execution
from tests.command import ROOT
from tests.flows import scripted
from tests.rows import BROKEN, FAILED, SOLVED, EpisodeWriter, new_run, summary_of

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
