"""What DEPS' figures are: rounds and goals."""

from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.config import Config
from planbook.envs import Task
from planbook.planner import Ending, Outcome
from planbook.planner.strategies.deps.pursuit import GoalFigures, GoalTried, rounds
from planbook.results.summary import summarise
from planbook.results.table import read_run
from planbook.runs import Run

LOG, PICKAXE = "agent.mine({'log': 1}, None)", "agent.craft({'wooden_pickaxe': 1}, {'planks': 3}, 'crafting_table')"


def goal(call: str, done: bool = True, **more: Any) -> dict[str, Any]:
    return {"goal": call, "chosen": call, "line": 1, "done": done, "reason": "" if done else "no table", **more}


def read(folder: Path, episodes: list[tuple[str, bool | None, list[dict[str, Any]]]]) -> GoalFigures | None:
    """The figures of episodes with these goals; None in place of the verdict is an episode that has not ended."""
    tasks = [
        Task(id=f"x/{number}", env="toy", split="all", type=sentence.split()[0], goal=sentence)
        for number, (sentence, _, _) in enumerate(episodes)
    ]
    with closing(Run.create(folder, Config(planner="adapt", env="toy", actions=9), tasks)) as run:
        for entry, (_, solved, goals) in zip(run.entries(), episodes, strict=True):
            for number, body in enumerate(goals):
                run.store.put(f"{entry.path}/round/0/plan/0", "goal", number, body)
            if solved is None:
                continue
            outcome = Outcome.DIRECT_SUCCESS if solved else Outcome.FAILURE
            run.store.put(entry.path, "outcome", 0, Ending(outcome=outcome, cause="x").model_dump(mode="json"))
        found = summarise(list(read_run(run).episodes.values()), 1.0, "run").methods
    counted = found.get("goals")
    assert counted is None or isinstance(counted, GoalFigures)
    return counted


def test_rounds_and_goals_are_counted(tmp_path: Path) -> None:
    mended = [goal(LOG), goal(PICKAXE, False), goal(LOG, said="chop a tree", selector="horizon"), goal(PICKAXE)]
    found = read(
        tmp_path / "run",
        [
            ("one diamond", True, mended),
            ("one diamond", False, [goal(LOG), goal(PICKAXE, False)]),
            ("two b", False, []),
        ],
    )
    assert found is not None
    assert (found.tried, found.done, found.failed, found.mapped) == (6, 4, 2, 1)
    assert (found.rounds, found.solved_by_rounds, found.most_rounds) == ({0: 1, 1: 1}, {1: 1}, 1)
    assert (found.selectors, found.reasons) == (("horizon",), {"no table": 2})
    text = "\n".join(map(str, found.tell()))
    assert (
        "Replanned 0.5 times per task, 1 at most; goals tried 6, done 4, failed 2; selector: horizon; lines mapped"
        in text
    )


def test_rounds_are_those_of_episodes_that_were_played(tmp_path: Path) -> None:
    unfinished = ("one diamond", None, [goal(PICKAXE, False), goal(PICKAXE, False), goal(LOG)])
    found = read(tmp_path / "run", [("one diamond", True, [goal(LOG)]), unfinished])
    assert found is not None
    assert (found.mean_rounds, found.most_rounds, found.rounds) == (0, 0, {0: 1})
    assert (found.tried, found.failed) == (4, 2)
    alone = read(tmp_path / "alone", [unfinished])
    assert alone is not None
    assert alone.mean_rounds is None
    assert "Replanned - times per task, 0 at most" in next(iter(alone.tell()))


def test_a_recorded_round_counts_before_what_follows_from_failures() -> None:
    tried = [GoalTried(goal=LOG, done=True, round=0), GoalTried(goal=LOG, done=True, round=2)]
    assert rounds(tried) == 2
    assert rounds([GoalTried(goal=LOG, done=False), GoalTried(goal=LOG, done=False)]) == 1


def test_a_run_without_goals_has_no_such_figures(tmp_path: Path) -> None:
    assert read(tmp_path / "run", [("one a", True, [])]) is None
