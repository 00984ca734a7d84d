"""The figures of DEPS: replans and goals."""

from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.planner.strategies.deps.pursuit import GoalFigures, GoalTried, replan_count
from tests.rows import FAILED, SOLVED, EpisodeWriter, new_run, summary_of

LOG, PICKAXE = "agent.mine({'log': 1}, None)", "agent.craft({'wooden_pickaxe': 1}, {'planks': 3}, 'crafting_table')"


def goal(call: str, done: bool = True, **more: Any) -> dict[str, Any]:
    return {"goal": call, "chosen": call, "line": 1, "done": done, "reason": "" if done else "no table", **more}


def test_replans_and_goals_are_counted(tmp_path: Path) -> None:
    mended = [goal(LOG), goal(PICKAXE, False), goal(LOG, said="chop a tree", selector="horizon"), goal(PICKAXE)]
    episodes = [(mended, SOLVED), ([goal(LOG), goal(PICKAXE, False)], FAILED), ([], FAILED)]
    with closing(new_run(tmp_path / "run", *"aab")) as run:
        for entry, (goals, outcome) in zip(run.entries(), episodes, strict=True):
            writer = EpisodeWriter(run, entry.path)
            for body in goals:
                writer.put(f"{writer.scope}/plan/0", "goal", body)
            writer.end(outcome)
        found = summary_of(run).methods["goals"]
    assert isinstance(found, GoalFigures)
    assert (found.tried, found.done, found.failed, found.mapped) == (6, 4, 2, 1)
    assert (found.rounds, found.solved_by_rounds, found.most_rounds) == ({0: 1, 1: 1}, {1: 1}, 1)
    assert (found.selectors, found.reasons) == (("horizon",), {"no table": 2})
    line = "Replanned 0.50 times per task, 1 at most; goals tried 6, done 4, failed 2; selector: horizon; lines mapped"
    assert line in "\n".join(map(str, found.describe()))


def test_replans_are_counted_in_played_episodes_only(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", *"ab")) as run:
        for entry, goals in zip(run.entries(), ([goal(LOG)], [goal(PICKAXE, False), goal(LOG)]), strict=True):
            writer = EpisodeWriter(run, entry.path)
            for body in goals:
                writer.put(f"{writer.scope}/plan/0", "goal", body)
        EpisodeWriter(run, "task/0").end(SOLVED)
        found = summary_of(run).methods["goals"]
    assert isinstance(found, GoalFigures)
    assert (found.mean_rounds, found.most_rounds, found.rounds) == (0, 0, {0: 1})
    assert (found.tried, found.failed) == (3, 1)


def test_replans_follow_from_failed_goals_only_if_no_round_was_recorded() -> None:
    recorded = [GoalTried(goal=LOG, done=True, round=0), GoalTried(goal=LOG, done=True, round=2)]
    assert replan_count(recorded) == 2
    assert replan_count([GoalTried(goal=LOG, done=False), GoalTried(goal=LOG, done=False)]) == 1
