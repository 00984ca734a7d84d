"""The figures of methods: replans and goals, branches and nodes, subtasks. They are counted from recorded spans."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.planner import Outcome
from planbook.planner.strategies.adapt.executor import DecompositionFigures
from planbook.planner.strategies.advocate.tree import SearchFigures
from planbook.planner.strategies.agentkit import GraphFigures
from planbook.planner.strategies.deps.pursuit import GoalFigures, GoalTried, replan_count
from tests.command import ROOT
from tests.flows import invoke
from tests.golden import play
from tests.rows import BROKEN, FAILED, SOLVED, EpisodeWriter, figures_of, new_run, summary_of


def searched(folder: Path, *episodes: tuple[Sequence[Mapping[str, Any]], Outcome | None]) -> SearchFigures:
    """Return the figures of a run whose episodes have these plans, one for each round, and outcomes."""

    def write(writer: EpisodeWriter, plans: Sequence[Mapping[str, Any]]) -> None:
        for number, plan in enumerate(plans):
            writer.plan(number, **plan)

    found = figures_of(folder, write, *episodes)["search"]
    assert isinstance(found, SearchFigures)
    return found


def test_means_of_actions_and_revisions_leave_out_broken_episodes(tmp_path: Path) -> None:
    revised, short = ([{"actions": count} for count in counts] for counts in ((3, 1, 5), (1,)))
    found = searched(tmp_path / "run", (revised, FAILED), (short, SOLVED), (revised, BROKEN), ((), None))
    assert (found.mean_actions_first, found.mean_actions_last, found.mean_revisions) == (2.0, 3.0, 1.0)


def test_success_by_round_falls_if_a_later_round_undoes_it(tmp_path: Path) -> None:
    undone, done = ([{"solved": solved} for solved in rounds] for rounds in ((False, True, False), (False, True)))
    found = searched(tmp_path / "run", (undone, FAILED), (done, SOLVED))
    assert (found.solved_by_round, found.success_by_round) == ((0, 2, 1), (0.0, 1.0, 0.5))


def test_success_by_round_without_verdicts_is_cumulative_and_over_all_tasks(tmp_path: Path) -> None:
    played: list[tuple[Any, Outcome]] = [
        ([{}] * rounds, outcome) for rounds, outcome in ((1, SOLVED), (3, SOLVED), (3, SOLVED), (4, FAILED))
    ]
    found = searched(tmp_path / "run", *played, ((), None))
    assert found.solved_by_round == (1, 1, 3, 3)
    assert found.success_by_round == (0.2, 0.2, 0.6, 0.6)


def test_branches_are_counted_by_their_fates(tmp_path: Path) -> None:
    fates = [(0, "kept"), (0, "turned back"), (1, "kept"), (1, "abandoned"), (2, "not tried"), (0, "not tried")]

    def write(writer: EpisodeWriter, fates: Sequence[tuple[int, str]]) -> None:
        writer.plan(0, 4)
        for idea, fate in fates:
            writer.branch(0, idea, fate)

    found = figures_of(tmp_path / "run", write, (fates, SOLVED))["search"]
    assert isinstance(found, SearchFigures)
    assert found.branches == {"kept": 2, "not tried": 2, "turned back": 1, "abandoned": 1}
    rounds, branches = map(str, found.describe())
    assert rounds.startswith("Actions per task, without the answer: 4.00 in the first round")
    assert rounds.endswith("Solved with at most N rounds: 1: 100.0%.")
    assert branches == "Branches: kept 2, not tried 2, turned back 1, abandoned 1."


def test_only_the_last_attempt_at_an_episode_counts(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", "a")) as run:
        first, last = EpisodeWriter(run, "task/0"), EpisodeWriter(run, "task/0/restart/1")
        for number, actions in enumerate((3, 1, 5)):
            first.plan(number, actions)
        last.plan(0, 1)
        last.end(SOLVED)
        found = summary_of(run).methods["search"]
    assert isinstance(found, SearchFigures)
    assert (found.mean_actions_first, found.mean_revisions, found.solved_by_round) == (1.0, 0.0, (1,))


def test_a_run_without_spans_has_no_figures_of_methods(tmp_path: Path) -> None:
    assert figures_of(tmp_path / "run", lambda writer, nothing: None, ((), SOLVED)) == {}


def test_nodes_of_graphs_are_counted(tmp_path: Path) -> None:
    with closing(new_run(tmp_path / "run", *"aa")) as run:
        writer = EpisodeWriter(run, "task/0")
        for number in range(2):
            for name in ("observe", "act"):
                body = {"node": name, "number": number, "skipped": bool(number)}
                writer.put(f"{writer.scope}/pass/{number}", "node", body)
            body = {"node": "rest", "number": number, "skipped": True, "answer": "instead"}
            writer.put(f"{writer.scope}/pass/{number}", "node", body)
        writer.end(SOLVED)
        unfinished = EpisodeWriter(run, "task/1")
        unfinished.put(f"{unfinished.scope}/pass/0", "node", {"node": "observe", "number": 0})
        methods = summary_of(run).methods
    assert methods == {"graph": GraphFigures(passes=3, answered=3, skipped=4, mean_passes=2)}
    (line,) = map(str, methods["graph"].describe())
    assert line == "Passes over the graph: 3, 2.00 per task; nodes answered 3, skipped 4."


LOG, PICKAXE = "agent.mine({'log': 1}, None)", "agent.craft({'wooden_pickaxe': 1}, {'planks': 3}, 'crafting_table')"


def goal(call: str, done: bool = True, **more: Any) -> dict[str, Any]:
    return {"goal": call, "chosen": call, "line": 1, "done": done, "reason": "" if done else "no table", **more}


def goal_figures(folder: Path, *episodes: tuple[list[dict[str, Any]], Outcome | None], types: str) -> GoalFigures:
    """Return the figures of a run whose episodes have these goals and outcomes."""

    def write(writer: EpisodeWriter, goals: list[dict[str, Any]]) -> None:
        for body in goals:
            writer.put(f"{writer.scope}/plan/0", "goal", body)

    found = figures_of(folder, write, *episodes, types=types)["goals"]
    assert isinstance(found, GoalFigures)
    return found


def test_replans_and_goals_are_counted(tmp_path: Path) -> None:
    mended = [goal(LOG), goal(PICKAXE, False), goal(LOG, said="chop a tree", selector="horizon"), goal(PICKAXE)]
    failed = [goal(LOG), goal(PICKAXE, False)]
    found = goal_figures(tmp_path / "run", (mended, SOLVED), (failed, FAILED), ([], FAILED), types="aab")
    assert (found.tried, found.done, found.failed, found.mapped) == (6, 4, 2, 1)
    assert (found.rounds, found.solved_by_rounds, found.most_rounds) == ({0: 1, 1: 1}, {1: 1}, 1)
    assert (found.selectors, found.reasons) == (("horizon",), {"no table": 2})
    line = "Replanned 0.50 times per task, 1 at most; goals tried 6, done 4, failed 2; selector: horizon; lines mapped"
    assert line in "\n".join(map(str, found.describe()))


def test_replans_are_counted_in_played_episodes_only(tmp_path: Path) -> None:
    found = goal_figures(tmp_path / "run", ([goal(LOG)], SOLVED), ([goal(PICKAXE, False), goal(LOG)], None), types="ab")
    assert (found.mean_rounds, found.most_rounds, found.rounds) == (0, 0, {0: 1})
    assert (found.tried, found.failed) == (3, 1)


def test_replans_follow_from_failed_goals_only_if_no_round_was_recorded() -> None:
    recorded = [GoalTried(goal=LOG, done=True, round=0), GoalTried(goal=LOG, done=True, round=2)]
    assert replan_count(recorded) == 2
    assert replan_count([GoalTried(goal=LOG, done=False), GoalTried(goal=LOG, done=False)]) == 1


EXECUTOR, PLANNER = "executor", "planner"
Claim = tuple[str, int, bool | None]
"""The role, the depth, and whether the role claimed that the subtask is done (None if it made no claim)."""


def decomposition(folder: Path, *episodes: tuple[str, Outcome | None, Sequence[Claim]]) -> DecompositionFigures:
    """Return the figures of a run with episodes of these types, outcomes and claims."""

    def write(writer: EpisodeWriter, claims: Sequence[Claim]) -> None:
        for number, (by, depth, done) in enumerate(claims):
            body = {"by": by, "text": f"part {number}", "depth": depth, "done": done, "note": ""}
            writer.put(f"{writer.scope}/{by}/{number}", "subtask", body)

    played = [(claims, outcome) for _, outcome, claims in episodes]
    found = figures_of(folder, write, *played, types="".join(kind for kind, _, _ in episodes))["subtasks"]
    assert isinstance(found, DecompositionFigures)
    return found


def test_depths_are_counted_in_solved_episodes_and_calls_in_played_ones(tmp_path: Path) -> None:
    deep = [(EXECUTOR, 1, False), (EXECUTOR, 2, False), (EXECUTOR, 3, None), (PLANNER, 2, None), (PLANNER, 1, None)]
    found = decomposition(
        tmp_path / "run",
        ("a", SOLVED, deep),
        ("a", SOLVED, [(EXECUTOR, 1, None)]),
        ("a", FAILED, [(EXECUTOR, 4, False)]),
        ("b", FAILED, [(EXECUTOR, 1, False)]),
        ("b", None, [(EXECUTOR, 1, True), (PLANNER, 1, None)]),
    )
    assert (found.k_max, found.k_max_by_type) == (2.0, {"a": 2.0, "b": None})
    assert (found.mean_executor_calls, found.mean_planner_calls) == (1.5, 0.5)


def test_a_run_prints_and_returns_the_figures(tmp_path: Path) -> None:
    deep = play("adapt-textcraft-stepwise", tmp_path / "deep")
    assert (deep["solved"], deep["methods"]["subtasks"]["k_max"]) == (2, 2.5)
    counts = {"claimed_and_solved": 0, "claimed_and_not": 0, "denied_and_not": 1, "unclaimed_and_solved": 2}
    assert {name: deep["claims"][name] for name in counts} == counts
    again = invoke("run", "--resume", tmp_path / "deep", "--json")
    assert "deepest level of a solved task (k_max): 2.50, by type depth_2 2.00, depth_3 3.00" in again.printed
    assert again.result["methods"]["subtasks"] == deep["methods"]["subtasks"]
    command = ("run", "--planner", "adapt", "--env", "toy", "--task", "fetch/0")
    model = ("--model", f"scripted:{ROOT}/tests/claiming.py:boastful")
    boastful = invoke(*command, *model, "--json", "--out", tmp_path / "boastful")
    assert boastful.result["claims"]["claimed_and_not"] == 1
    assert "1 claimed solved but not solved" in boastful.printed


def test_a_method_without_a_planner_prints_nothing_about_decomposition(tmp_path: Path) -> None:
    command = ("run", "--planner", "react", "--env", "toy", "--task", "fetch/0")
    model = ("--model", f"scripted:{ROOT}/tests/claiming.py:boastful")
    printed = invoke(*command, *model, "--out", tmp_path / "boastful").printed
    assert "1 claimed solved but not solved" in " ".join(printed.split())
    assert "k_max" not in printed
