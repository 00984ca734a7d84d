"""An episode is played on from any of its actions: with a plan, another model, or without a rule."""

from pathlib import Path
from typing import Any

import pytest

from planbook.envs import Action, Observation, Task
from planbook.planner import Step, Trajectory
from planbook.planner.trajectory import Rewind, Round
from planbook.resuming import _kept_steps
from tests.command import ROOT
from tests.flows import asks, events, here, prompt, scripted

TASK = Task(id="t", env="toy", split="all", type="fetch", goal="")
NOTES = ROOT / "examples" / "tools" / "notes"
SEARCH = """
for number in range(1, 9):
    for thing in task.params["things"]:
        if thing in agent.open(f"box_{number}"):
            agent.take(thing, f"box_{number}")
            agent.put(thing)
"""


@pytest.fixture(scope="module")
def played(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Episodes of a planner that knows the rules of the building run, and mends its plans."""
    folder = tmp_path_factory.mktemp("played") / "run"
    test = ("test", "--env", "toy", "--seeds", "0-5", "--library", built, "--after", 1, "--model", scripted())
    assert here(*test, "--out", folder).returncode == 0
    return folder


def actions(run: Path, scope: str = "task/0") -> list[Any]:
    return [(act["action"], act["observation"]) for act in (event.body for event in events(run, "act", scope))]


def cells(run: Path, number: int) -> list[Any]:
    return [event.body["cell"] for event in events(run, "act", f"task/{number}")]


def mended(run: Path) -> int:
    """The number of an episode whose second plan took up where the first had ended."""
    for number in range(6):
        if set(cells(run, number)) == {0, 1}:
            return number
    raise AssertionError("none was mended")


def test_a_plan_goes_on_from_the_chosen_action(played: Path, tmp_path: Path) -> None:
    (tmp_path / "search.py").write_text(SEARCH)
    finished = here("fork", played, 0, "--at", 1, "--plan", tmp_path / "search.py", "--out", tmp_path / "b", "--json")
    assert finished.returncode == 0, finished.printed
    branch, before = actions(tmp_path / "b"), actions(played)
    assert branch[0] == before[0]
    assert [action["name"] for action, _ in branch[1:4]] == ["open", "take", "put"]
    assert finished.result["totals"]["solved_after"] == 1
    assert asks(tmp_path / "b") == []


def test_actions_without_effect_are_repeated_and_counted(tmp_path: Path) -> None:
    (tmp_path / "plan.py").write_text('agent.put("apple")\nagent.open("box_1")\nagent.take("apple", "box_1")\n')
    (tmp_path / "then.py").write_text('agent.put("apple")\n')
    run = tmp_path / "run"
    here("exec", tmp_path / "plan.py", "--env", "toy", "--types", "fetch", "--seeds", 0, "--out", run)
    branch = here("fork", run, 0, "--at", 3, "--plan", tmp_path / "then.py", "--json").result["run"]
    assert actions(Path(branch))[:3] == actions(run)
    here("report", run, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "1 to 3" in page
    assert "direct success after 4 actions" in page


def test_the_same_actions_with_another_outcome_are_not_the_same(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text('agent.open("box_1")\nraise ValueError\n')
    (tmp_path / "nothing.py").write_text("print(1)\n")
    here("exec", tmp_path / "wrong.py", "--env", "toy", "--types", "fetch", "--seeds", 0, "--out", tmp_path / "run")
    finished = here("fork", tmp_path / "run", 0, "--at", 1, "--plan", tmp_path / "nothing.py", "--json")
    assert actions(Path(finished.result["run"])) == actions(tmp_path / "run")
    assert "another outcome: failure (raised), now failure (unfinished)" in finished.printed


def test_an_action_that_failed_fails_again_without_ending_the_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.py").write_text("try:\n    agent.remove(9)\nexcept RuntimeError:\n    pass\n")
    (tmp_path / "then.py").write_text("print(1)\n")
    notes = ("--env", f"module:{NOTES}.py:Notes", "-o", f"tasks={NOTES}.yaml", "--task", "count/1")
    here("exec", tmp_path / "plan.py", *notes, "--out", tmp_path / "run")
    finished = here("fork", tmp_path / "run", 0, "--at", 1, "--plan", tmp_path / "then.py", "--out", tmp_path / "b")
    assert finished.returncode == 0, finished.printed
    assert actions(tmp_path / "b") == actions(tmp_path / "run")
    assert len(events(tmp_path / "b", "cell", "task/0")) == 2


@pytest.mark.deep
def test_the_same_model_repeats_the_episode_whatever_the_action(played: Path, tmp_path: Path) -> None:
    for at in (0, 1, len(actions(played))):
        finished = here("fork", played, 0, "--at", at, "--out", tmp_path / str(at), "--json")
        assert finished.returncode == 0, finished.printed
        assert finished.result["totals"]["by_way"]["the same"] == 1
        assert actions(tmp_path / str(at)) == actions(played)


@pytest.mark.deep
def test_another_model_answers_from_the_action_on(played: Path, tmp_path: Path) -> None:
    number = mended(played)
    replies = len(events(played, "ask", f"task/{number}"))
    first = cells(played, number).count(0)
    shown: dict[int, list[bool]] = {}
    for at in (first, first + 1):
        branch = tmp_path / str(at)
        model = "scripted:tests/planbook/test_fork.py:always_mends"
        finished = here("fork", played, number, "--at", at, "--model", model, "--out", branch, "--json")
        assert finished.returncode == 0, finished.printed
        assert actions(branch)[:first] == actions(played, f"task/{number}")[:first]
        shown[at] = [asked["reply"]["replayed"] for asked in asks(branch)]
    assert shown[first] == [True] + [False] * (len(shown[first]) - 1)
    assert shown[first + 1] == [True] * replies


def always_mends(messages: Any, sampling: Any) -> str:
    """Another model: it says what the toy's script says, in its own words."""
    from tests.toy_script import answer

    return answer(messages, sampling).replace("None", "Nothing")


@pytest.mark.parametrize("name", ["played", "built"])
def test_without_a_rule_the_prompts_do_not_tell_it_and_the_replies_before_stay(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run, number = request.getfixturevalue(name), 1
    finished = here("fork", run, number, "--at", 1, "--without", "rule_0", "--out", tmp_path / "b", "--json")
    assert finished.returncode == 0, finished.printed
    bodies: list[Any] = [event.body for event in events(run, "ask", f"task/{number}/round")]
    before, now = bodies[0], asks(tmp_path / "b")[0]
    assert "## rule_0 " in prompt(before)
    assert "## rule_0 " not in prompt(now)
    assert "## rule_1 " in prompt(now)
    assert now["reply"]["text"] == before["reply"]["text"]
    assert now["reply"]["replayed"]


@pytest.mark.deep
def test_a_branch_is_repeated_and_forked_itself(played: Path, tmp_path: Path) -> None:
    (tmp_path / "search.py").write_text(SEARCH)
    forked = ("fork", played, 0, "--at", 1, "--plan", tmp_path / "search.py", "--out", tmp_path / "b")
    assert here(*forked).returncode == 0
    again = here("rerun", tmp_path / "b", "--out", tmp_path / "again", "--json")
    assert again.returncode == 0, again.printed
    assert again.result["totals"]["by_way"]["the same"] == 1
    branch = here("fork", tmp_path / "b", 0, "--at", 2, "--out", tmp_path / "c", "--json")
    assert branch.returncode == 0, branch.printed
    assert actions(tmp_path / "c") == actions(tmp_path / "b") == actions(tmp_path / "again")


def test_branches_stand_beside_the_episode_in_the_report(played: Path, tmp_path: Path) -> None:
    (tmp_path / "search.py").write_text(SEARCH)
    forked = here("fork", played, 0, "--at", 2, "--plan", tmp_path / "search.py", "--json").result["run"]
    assert Path(forked) == played / "branches" / "0-at-2"
    again = here("fork", played, 0, "--at", 2, "--json").result["run"]
    assert Path(again) == played / "branches" / "0-at-2-2"
    for run in (played, forked):
        here("report", run, "--out", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert "(episode 0), and" in page
        assert "at 2: --plan search.py" in page
        assert "1 to 2" in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0, "--at", 999), "has"),
        ((99, "--at", 1), "has no episode '99'"),
        ((0, "--at", 1, "--without", "rule_99"), "--without rule_99: there is no such rule or skill; known: rule_0"),
        ((0, "--at", 1, "--without", "nonsense"), "--without nonsense: there is no such part; there are rule_N"),
    ],
)
def test_what_cannot_be_forked_is_refused(played: Path, arguments: tuple[object, ...], says: str) -> None:
    refused = here("fork", played, *arguments)
    assert refused.returncode == 2
    assert says in refused.printed


def test_a_plan_repeats_the_actions_that_stood_at_the_moment() -> None:
    steps = tuple(
        Step(order=order, scope="s", cell=0, line=1, action=Action(name, ()), observation=Observation(name))
        for order, name in enumerate("abxycd", 1)
    )
    late, early = steps[4:], steps[:4]
    moved = tuple(step.model_copy(update={"order": (step.order or 0) + 10}) for step in late)
    rewinds = (Rewind(order=8, scope="s", kept=2), Rewind(order=90, scope="s", kept=0))
    episode = Trajectory(task=TASK, rounds=(Round(number=0, steps=(*early, *moved), rewinds=rewinds),))
    assert [[step.action.name for step in _kept_steps(episode, at)] for at in (0, 3, 4, 5, 6)] == [
        [], ["a", "b", "x"], ["a", "b", "x", "y"], ["a", "b", "c"], ["a", "b", "c", "d"],
    ]  # fmt: skip
