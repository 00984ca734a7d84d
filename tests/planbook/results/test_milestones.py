"""Milestones that the episodes of a run reached, whatever method played them."""

from pathlib import Path

from planbook.envs import Task
from planbook.planner import Ending, Outcome
from planbook.results.measures import milestones
from planbook.results.telling import milestone_parts
from planbook.runs import Entry
from tests.flows import here
from tests.reported import Page
from tests.rows import results


def reached(*episodes: tuple[str, str, tuple[str, ...]]) -> dict[str, dict[str, tuple[int, int]]]:
    """Count the milestones of episodes with these types, goals and milestones."""
    entries, endings = [], {}
    for number, (kind, goal, names) in enumerate(episodes):
        task = Task(id=f"x/{number}", env="toy", split="all", type=kind, goal=goal)
        entries.append(Entry(index=number, task=task))
        endings[number] = Ending(outcome=Outcome.FAILURE, cause="x", milestones=names)
    return milestones(results(entries, endings))


def test_the_most_frequent_milestones_come_first() -> None:
    found = reached(("one", "a", ("log",)), ("one", "a", ("log", "planks")), ("one", "a", ()), ("two", "b", ()))
    assert found == {"one": {"log": (2, 3), "planks": (1, 3)}}
    assert list(milestone_parts(found, None)) == ["Reached in one: log 2/3, planks 1/3."]


def test_milestones_are_not_counted_for_a_type_with_different_goals() -> None:
    assert reached(("one", "a", ("log",)), ("one", "b", ("log",))) == {}


def test_a_run_of_code_reports_milestones_although_it_names_no_goals(tmp_path: Path) -> None:
    code = "agent.mine({'log': 1}, None)\nagent.craft({'planks': 4}, {'log': 1}, None)"
    command = ("--planner", "code", "--planner-option", f"code={code}", "--env", "minecraft")
    played = here("run", *command, "--types", "MT8_challenge", "--out", tmp_path / "run", "--json")
    assert played.returncode == 0, played.printed
    assert played.result["goals"] is None
    assert played.result["milestones"] == {"MT8_challenge": {"log": [1, 1], "planks": [1, 1]}}
    line = "Reached in MT8_challenge: log 1/1, planks 1/1."
    assert line in played.printed
    here("report", tmp_path / "run")
    (section,) = Page(tmp_path / "run" / "report.html").all("section", class_="figures")
    assert line in section
