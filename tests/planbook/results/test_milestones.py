"""How far the episodes of a run came, whatever method played them."""

from contextlib import closing
from pathlib import Path

from planbook.config import Config
from planbook.envs import Task
from planbook.planner import Ending, Outcome
from planbook.report import report_runs
from planbook.results.measures import milestones
from planbook.results.telling import milestone_parts
from planbook.runs import Run, recorded_endings
from tests.flows import here
from tests.reported import Page
from tests.rows import results

Reached = dict[str, dict[str, tuple[int, int]]]


def counted(folder: Path, episodes: list[tuple[str, tuple[str, ...]]]) -> Reached:
    tasks = [
        Task(id=f"x/{number}", env="toy", split="all", type=goal.split()[0], goal=goal)
        for number, (goal, _) in enumerate(episodes)
    ]
    with closing(Run.create(folder, Config(planner="react", env="toy", actions=9), tasks)) as run:
        for entry, (_, reached) in zip(run.entries(), episodes, strict=True):
            ending = Ending(outcome=Outcome.FAILURE, cause="x", milestones=reached)
            run.store.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
        return milestones(results(run.entries(), recorded_endings(run)))


def test_what_most_episodes_reached_comes_first(tmp_path: Path) -> None:
    episodes = [("one a", ("log",)), ("one a", ("log", "planks")), ("one a", ()), ("two b", ())]
    found = counted(tmp_path / "run", episodes)
    assert found == {"one": {"log": (2, 3), "planks": (1, 3)}}
    assert list(milestone_parts(found, None)) == ["Reached in one: log 2/3, planks 1/3."]


def test_a_type_whose_tasks_ask_for_different_things_has_none(tmp_path: Path) -> None:
    assert counted(tmp_path / "run", [("one a", ("log",)), ("one b", ("log",))]) == {}


def test_a_run_without_goal_events_tells_them_too(tmp_path: Path) -> None:
    """Code that acts by itself names no goals; the environment knows what it got."""
    code = "agent.mine({'log': 1}, None)\nagent.craft({'planks': 4}, {'log': 1}, None)"
    command = ("--planner", "code", "--planner-option", f"code={code}", "--env", "minecraft")
    played = here("run", *command, "--types", "MT8_challenge", "--out", tmp_path / "run", "--json")
    assert played.returncode == 0, played.printed
    assert played.result["goals"] is None
    assert played.result["milestones"] == {"MT8_challenge": {"log": [1, 1], "planks": [1, 1]}}
    assert "Reached in MT8_challenge: log 1/1, planks 1/1." in played.printed
    report_runs([tmp_path / "run"], None, None)
    (section,) = Page(tmp_path / "run" / "report.html").all("section", class_="figures")
    assert "Reached in MT8_challenge: log 1/1, planks 1/1." in section
    assert "planks" in section
