"""What is claimed of whole tasks: read from real runs of the methods, held against the environment's verdict."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.commands.playing import play
from planbook.config import Config
from planbook.envs import Action, Observation, Selection, Task
from planbook.planner import Ending, Outcome, Step
from planbook.planner.spans import Claim as Claimed
from planbook.planner.spans import moment
from planbook.results import ClaimCounts, Summary, TaskClaim, claim_lines, read_folder, read_run, summarise
from planbook.runs import Run
from planbook.workers import Hosting
from tests.command import ROOT
from tests.toy_script import answer

CAMP = f"{ROOT}/tests/planner/camp.py:Camp"
HELD = "the evaluator's last judgement"
WHOLE, GOALS, WORD = "whoever had the whole task", "the goals of the last plan", "the planner's last word"


def played(folder: Path, planner: str, says: str, env: str = "toy", ids: tuple[str, ...] = ("fetch/0",)) -> Summary:
    """A run in which the same model of tests/claiming.py has all roles."""
    script = says if ":" in says else f"{ROOT}/tests/claiming.py:{says}"
    config = Config(
        planner=planner,
        env=env,
        selection=Selection(ids=ids),
        actions=20,
        planner_options={"rounds": 0} if planner in ("deps", "dep") else {},
        models={"default": f"scripted:{script}"},
    )
    return play(config, folder / "run", Hosting(), as_json=True)[1]


def claim_of(summary: Summary) -> tuple[str, str]:
    """What was claimed of the only task, and by what."""
    (row,) = read_folder(Path(summary.run)).episodes.values()
    assert (row.claim.claim == "nothing") == (summary.claims is None)
    assert row.claim.solved == bool(summary.solved)
    return row.claim.claim, row.claim.by


@pytest.mark.parametrize(
    ("planner", "says", "claim"),
    [
        ("react", "boastful", ("solved", WHOLE)),
        ("react", "modest", ("not solved", WHOLE)),
        ("try-again", "boastful", ("solved", WHOLE)),
        ("adapt", "boastful", ("solved", WHOLE)),
        ("plan-act", "content", ("solved", HELD)),
        ("devils-advocate", "content_later", ("solved", HELD)),
        ("lats", "content", ("solved", HELD)),
        ("devils-advocate", "never_content", ("nothing", "")),
    ],
)
def test_in_an_environment_that_solves_nothing_for_them(
    tmp_path: Path, planner: str, says: str, claim: tuple[str, str]
) -> None:
    summary = played(tmp_path, planner, says)
    assert summary.solved == 0
    assert claim_of(summary) == claim


@pytest.mark.parametrize(
    ("planner", "says", "claim"),
    [
        ("zero-shot", "mines", ("solved", GOALS)),
        ("zero-shot", "crafts", ("not solved", GOALS)),
        ("chain-of-thought", "mines", ("solved", GOALS)),
        ("deps", "mines", ("solved", GOALS)),
        ("dep", "crafts", ("not solved", GOALS)),
        ("inner-monologue", "mines_and_is_done", ("solved", WORD)),
        ("inner-monologue", "mines", ("nothing", "")),
    ],
)
def test_of_methods_that_pursue_goals(tmp_path: Path, planner: str, says: str, claim: tuple[str, str]) -> None:
    summary = played(tmp_path, planner, says, CAMP, ("pickaxe",))
    assert summary.solved == 0
    assert claim_of(summary) == claim


def test_methods_that_say_nothing_of_their_tasks_make_no_claim(tmp_path: Path) -> None:
    assert played(tmp_path, "automanual", f"{ROOT}/tests/toy_script.py:{answer.__name__}").claims is None


def test_a_false_claim_is_named_with_its_task(tmp_path: Path) -> None:
    summary = played(tmp_path, "react", "boastful", ids=("fetch/0", "fetch_two/1"))
    assert summary.claims is not None
    assert summary.claims.claimed_and_not == 2
    assert [claim.task for claim in summary.claims.false] == ["fetch/0", "fetch_two/1"]
    counts, named = claim_lines(summary.claims)
    assert counts == (
        "Claims about whole tasks, against the verdict: 2 made, 0 right; claimed solved and not 2, claimed failed "
        "and solved 0; no claim 0."
    )
    assert named == "False claims: fetch/0 (claimed solved), fetch_two/1 (claimed solved)."


def recorded(folder: Path, *episodes: tuple[Outcome | None, bool | None]) -> ClaimCounts:
    """A run with episodes of these outcomes, of which an executor said this."""
    tasks = [
        Task(id=f"fetch/{number}", env="toy", split="all", type="fetch", goal="g") for number in range(len(episodes))
    ]
    with closing(Run.create(folder, Config(planner="react", env="toy", actions=9), tasks)) as run:
        for entry, (outcome, done) in zip(run.entries(), episodes, strict=True):
            body: Any = moment(Claimed(done=done, by=WHOLE))
            run.store.put(f"{entry.path}/round/0/execute/0", "span", 0, body)
            if outcome is not None:
                run.store.put(entry.path, "outcome", 0, Ending(outcome=outcome).model_dump(mode="json"))
        found = summarise(list(read_run(run).episodes.values()), 1.0, "run").claims
    assert found is not None
    return found


def test_what_was_broken_or_not_run_is_no_false_claim(tmp_path: Path) -> None:
    solved, failed, broken = Outcome.DIRECT_SUCCESS, Outcome.FAILURE, Outcome.BROKEN
    found = recorded(
        tmp_path / "run", (solved, True), (failed, True), (solved, False), (failed, None), (broken, True), (None, True)
    )
    assert found.model_dump(exclude={"false"}) == {
        "claimed_and_solved": 1,
        "claimed_and_not": 1,
        "denied_and_solved": 1,
        "denied_and_not": 0,
        "unclaimed_and_solved": 0,
        "unclaimed_and_not": 1,
        "unplayed": 2,
    }
    assert [claim.task for claim in found.false] == ["fetch/1", "fetch/2"]
    (counts, named) = claim_lines(found)
    assert "3 made, 1 right" in counts
    assert "broken or not played 2" in counts
    assert "fetch/2 (claimed not solved)" in named


def test_an_answer_that_the_environment_takes_is_a_claim_whatever_plays(tmp_path: Path) -> None:
    task = Task(id="web/0", env="web", split="all", type="ask", goal="g")
    with closing(Run.create(tmp_path / "run", Config(planner="automanual", env="web", actions=9), [task])) as run:
        (entry,) = run.entries()
        seen = Observation("Answered.", terminated=True)
        step = Step(
            scope=f"{entry.path}/round/0/plan/0", cell=0, line=1, action=Action("stop", ("7",)), observation=seen
        )
        run.store.put(f"{entry.path}/round/0", "act", 0, step.model_dump(mode="json"))
        ending = Ending(outcome=Outcome.FAILURE, cause="done")
        run.store.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
        found = summarise(list(read_run(run).episodes.values()), 1.0, "run").claims
    assert found is not None
    assert found.false == (
        TaskClaim(task="web/0", repeat=0, claim="solved", by="an answer was delivered", solved=False),
    )
