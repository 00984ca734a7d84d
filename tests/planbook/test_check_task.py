"""`planbook check --task` reports the lines of a plan that cannot succeed, without playing it."""

from pathlib import Path

from tests.flows import invoke, succeed
from tests.shelf import write_shelf

PLAN = """\
places = ['countertop_1', 'moon_3']
for place in places[1:]:
    agent.go_to(place)
seen = agent.look()
if 'countertop_1' in seen:
    agent.put_in_or_on('mug_1', 'countertop_1')
agent.take_from('mug_1', 'fridge_1')
"""
MODULE = '''\
"""Two procedures.

world: toy
source: written by hand
"""

PLACES = 3


def fetch(agent, task):
    """Fetch one thing.

    type: fetch - Fetch it.
    """
    for number in range(PLACES):
        agent.open(f"box_{number}")


def fetch_two(agent, task):
    """Fetch two things.

    type: fetch_two - Fetch both.
    """
    agent.opne(PLACES)
    return PLACE
'''


def test_each_line_that_cannot_succeed_is_reported_with_its_reason(tmp_path: Path) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text(PLAN)
    finished = invoke("check", plan, "--env", "alfworld", "--task", "generated/pick_heat_then_place/1", "--json")
    assert finished.returncode == 2
    assert (
        f"{plan}:3: cannot-succeed: go_to('moon_3') cannot succeed: there is no receptacle moon_3" in finished.printed
    )
    assert "    agent.go_to(place)" in finished.stderr
    faults = finished.result["faults"]
    assert [(fault["line"], fault["type"]) for fault in faults[:2]] == [(3, "cannot-succeed"), (6, "cannot-succeed")]
    assert faults[1]["message"] == "put_in_or_on('mug_1', 'countertop_1') cannot succeed: nothing is held"
    (run,) = finished.result["dry_runs"]
    assert (run["task"], run["followed"], run["calls"]) == ("generated/pick_heat_then_place/1", True, 4)


def test_a_line_that_raises_is_not_counted_as_a_call(tmp_path: Path) -> None:
    (tmp_path / "plan.py").write_text('agent.open("box_1")\n1 / 0\n')
    checked = invoke("check", tmp_path / "plan.py", "--env", "toy", "--task", "fetch/0")
    assert "dry run on fetch/0: 1 of 1 calls followed, 1 certain failure" in checked.printed


def test_an_environment_without_preconditions_is_reported(tmp_path: Path) -> None:
    write_shelf(tmp_path)
    (tmp_path / "plan.py").write_text("agent.look()\n")
    checked = succeed("check", tmp_path / "plan.py", "--env", tmp_path / "shelf.py", "--task", "look/0")
    assert "dry run on look/0: shelf declares no preconditions for its actions" in checked.printed
    task = ("--task", "look/0", "--out", tmp_path / "run")
    played = succeed("exec", tmp_path / "plan.py", "--env", tmp_path / "shelf.py", *task, "--dry-run")
    assert played.stderr.count("--dry-run has no effect: shelf declares no preconditions for its actions.") == 1


def test_all_procedures_of_a_module_are_checked_with_the_lines_of_the_file(tmp_path: Path) -> None:
    module = tmp_path / "toy" / "procedures" / "both.py"
    module.parent.mkdir(parents=True)
    module.write_text(MODULE)
    faults = invoke("check", module, "--env", "toy", "--json").result["faults"]
    lines = MODULE.splitlines()
    assert [lines[fault["line"] - 1].strip() for fault in faults] == ["agent.opne(PLACES)", "return PLACE"]
    module.write_text(MODULE.replace("opne", "open").replace("PLACE\n", "PLACES\n"))
    assert invoke("check", module, "--env", "toy", "--json").result["faults"] == []
    module.write_text(module.read_text().replace("fetch_two - ", "fetch_tow - "))
    (unknown,) = invoke("check", module, "--env", "toy", "--json").result["faults"]
    assert unknown["message"] == "toy has no task type fetch_tow; did you mean fetch_two? It has fetch, fetch_two"
    assert lines[unknown["line"] - 1].strip() == "type: fetch_two - Fetch both."
    refused = invoke("exec", module, "--env", "toy")
    assert refused.returncode == 2
    assert "holds 2 procedures" in refused.stderr
