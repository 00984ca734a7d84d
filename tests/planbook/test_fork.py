"""`planbook fork` continues an episode after any of its actions: with a plan, with another model, or without a rule."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from planbook.envs import Action, Observation, Task
from planbook.planner import Step, Trajectory
from planbook.planner.trajectory import Rewind, Round
from planbook.reruns import kept_steps
from planbook.results import read_folder
from tests.command import ROOT
from tests.flows import asks, events, invoke, prompt, refusal, scripted, succeed
from tests.reading import reading
from tests.rows import BROKEN, write_run

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
def played(built_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which the planner knows the rules of the run of `planbook build` and corrects its plans."""
    folder = tmp_path_factory.mktemp("played") / "run"
    test = ("test", "--env", "toy", "--seeds", "0-5", "--library", built_run, "--after", 1, "--model", scripted())
    succeed(*test, "--out", folder)
    return folder


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "search.py").write_text(SEARCH)
    return tmp_path / "search.py"


def fork(run: Path, episode: int, at: int, *options: object) -> Any:
    forked = succeed("fork", run, episode, "--at", at, *options, "--json")
    return forked.result


def executed(code: str, folder: Path) -> Path:
    """Play a plan on one task, and return the folder of the run."""
    (folder / "plan.py").write_text(code)
    invoke("exec", folder / "plan.py", "--env", "toy", "--types", "fetch", "--seeds", 0, "--out", folder / "run")
    return folder / "run"


def actions(run: Path, scope: str = "task/0") -> list[Any]:
    return [(act["action"], act["observation"]) for act in (event.body for event in events(run, "act", scope))]


def cells(run: Path, number: int) -> list[Any]:
    return [event.body["cell"] for event in events(run, "act", f"task/{number}")]


def test_a_plan_continues_after_the_chosen_action(played: Path, plan: Path, tmp_path: Path) -> None:
    fork(played, 0, 1, "--plan", plan, "--out", tmp_path / "b")
    branch, before = actions(tmp_path / "b"), actions(played)
    assert branch[0] == before[0]
    assert [action["name"] for action, _ in branch[1:4]] == ["open", "take", "put"]
    assert read_folder(tmp_path / "b").summary().solved == 1
    assert asks(tmp_path / "b") == []


def test_a_plan_continues_an_episode_that_broke_before_its_first_round(tmp_path: Path, plan: Path) -> None:
    forked = fork(write_run(tmp_path / "run", [BROKEN]), 0, 0, "--plan", plan, "--out", tmp_path / "branch")
    assert actions(tmp_path / "branch")
    assert forked["by_sameness"]["not compared"] == 1


def test_no_plan_continues_after_the_action_that_ended_the_episode(tmp_path: Path, plan: Path) -> None:
    run = executed(SEARCH, tmp_path)
    last = len(actions(run))
    message = f"--at {last}: action {last} ended the episode, so the plan would never run; give a smaller number"
    assert message in refusal("fork", run, 0, "--at", last, "--plan", plan).replace("\n", " ")
    (tmp_path / "put.py").write_text('agent.put(task.params["things"][0])\n')
    forked = fork(run, 0, last - 1, "--plan", tmp_path / "put.py")
    assert read_folder(Path(forked["run"])).summary().solved == 1


@pytest.mark.browser
def test_the_report_wraps_long_actions_of_branches(tmp_path: Path) -> None:
    run = executed(f"agent.put({'long ' * 60!r})\n", tmp_path)
    fork(run, 0, 0, "--plan", tmp_path / "plan.py")
    invoke("report", run, "--out", tmp_path / "page.html")
    with reading() as reader:
        reader.open((tmp_path / "page.html").as_uri())
        assert reader.ask("return document.querySelector('table.branches').scrollWidth <= innerWidth")


def test_actions_without_effect_are_repeated_and_counted(tmp_path: Path) -> None:
    run = executed('agent.put("apple")\nagent.open("box_1")\nagent.take("apple", "box_1")\n', tmp_path)
    (tmp_path / "then.py").write_text('agent.put("apple")\n')
    branch = invoke("fork", run, 0, "--at", 3, "--plan", tmp_path / "then.py", "--json").result["run"]
    assert actions(Path(branch))[:3] == actions(run)
    invoke("report", run, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "1 to 3" in page
    assert "direct success after 4 actions" in page


def test_a_branch_with_the_same_actions_but_another_outcome_is_reported_as_different(tmp_path: Path) -> None:
    run = executed('agent.open("box_1")\nraise ValueError\n', tmp_path)
    (tmp_path / "nothing.py").write_text("print(1)\n")
    finished = invoke("fork", run, 0, "--at", 1, "--plan", tmp_path / "nothing.py", "--json")
    assert actions(Path(finished.result["run"])) == actions(run)
    assert "fetch/0: different the ending changed: failure (" in finished.printed


def test_an_action_that_failed_fails_again_without_ending_the_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.py").write_text("try:\n    agent.remove(9)\nexcept RuntimeError:\n    pass\n")
    (tmp_path / "then.py").write_text("print(1)\n")
    notes = ("--env", f"module:{NOTES}.py:Notes", "-o", f"tasks={NOTES}.yaml", "--task", "count/1")
    invoke("exec", tmp_path / "plan.py", *notes, "--out", tmp_path / "run")
    succeed("fork", tmp_path / "run", 0, "--at", 1, "--plan", tmp_path / "then.py", "--out", tmp_path / "b")
    assert actions(tmp_path / "b") == actions(tmp_path / "run")
    assert len(events(tmp_path / "b", "cell", "task/0")) == 2


REPLIES = count()


def open_in_turn(messages: Any, sampling: Any) -> str:
    """Open box_1, box_2 and box_3 in turn, in every round of the episode."""
    return f"```python\nagent.open('box_{next(REPLIES) % 3 + 1}')\n```"


def test_a_plan_diverges_at_the_first_action_that_it_does_not_repeat(tmp_path: Path) -> None:
    run, branch_plan = tmp_path / "run", tmp_path / "then.py"
    branch_plan.write_text("agent.open('box_5')\n")
    toy = ("--env", "toy", "--types", "fetch", "--seeds", 0, "--model", f"scripted:{__file__}:open_in_turn")
    invoke("run", *toy, "--planner", "try-again", "--out", run)
    second = next(number for number, act in enumerate(events(run, "act", "task/0")) if act.scope == "task/0/round/1")
    assert actions(run)[0] != actions(run)[second]
    (compared,) = fork(run, 0, second + 1, "--plan", branch_plan)["differences"].values()
    assert compared["event"] == "action 2"
    assert compared["expected"].endswith(actions(run)[second + 1][1]["text"])
    assert compared["actual"].startswith("agent.open('box_5')")


@pytest.mark.deep
def test_the_same_model_repeats_the_episode_from_every_action(played: Path, tmp_path: Path) -> None:
    for at in (0, 1, len(actions(played))):
        forked = fork(played, 0, at, "--out", tmp_path / str(at))
        assert forked["by_sameness"]["same"] == 1
        assert actions(tmp_path / str(at)) == actions(played)


@pytest.mark.deep
def test_another_model_answers_after_the_chosen_action(played: Path, tmp_path: Path) -> None:
    number = next(number for number in range(6) if set(cells(played, number)) == {0, 1})  # its plan was corrected
    replies = len(events(played, "ask", f"task/{number}"))
    first = cells(played, number).count(0)
    replayed: dict[int, list[bool]] = {}
    for at in (first, first + 1):
        branch = tmp_path / str(at)
        fork(played, number, at, "--model", f"scripted:{__file__}:another_model", "--out", branch)
        assert actions(branch)[:first] == actions(played, f"task/{number}")[:first]
        replayed[at] = [each["reply"]["replayed"] for each in asks(branch)]
    assert replayed[first] == [True] + [False] * (len(replayed[first]) - 1)
    assert replayed[first + 1] == [True] * replies


def another_model(messages: Any, sampling: Any) -> str:
    """Reply like the toy's script, but in other words."""
    from tests.toy_script import answer

    return answer(messages, sampling).replace("None", "Nothing")


@pytest.mark.parametrize("name", ["played", "built_run"])
def test_a_disabled_rule_is_in_no_prompt_and_earlier_replies_are_kept(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run = request.getfixturevalue(name)
    fork(run, 1, 1, "--without", "rule_0", "--out", tmp_path / "b")
    bodies: list[Any] = [event.body for event in events(run, "ask", "task/1/round")]
    before, after = bodies[0], asks(tmp_path / "b")[0]
    assert "## rule_0 " in prompt(before)
    assert "## rule_0 " not in prompt(after)
    assert "## rule_1 " in prompt(after)
    assert after["reply"]["text"] == before["reply"]["text"]
    assert after["reply"]["replayed"]


@pytest.mark.deep
def test_a_branch_can_be_repeated_and_forked(played: Path, plan: Path, tmp_path: Path) -> None:
    fork(played, 0, 1, "--plan", plan, "--out", tmp_path / "b")
    again = succeed("rerun", tmp_path / "b", "--out", tmp_path / "again", "--json")
    assert again.result["by_sameness"]["same"] == 1
    fork(tmp_path / "b", 0, 2, "--out", tmp_path / "c")
    assert actions(tmp_path / "c") == actions(tmp_path / "b") == actions(tmp_path / "again")


def test_the_report_shows_branches_next_to_their_episode(played: Path, plan: Path, tmp_path: Path) -> None:
    forked = fork(played, 0, 2, "--plan", plan)["run"]
    assert Path(forked) == played / "branches" / "0-at-2"
    assert Path(fork(played, 0, 2)["run"]) == played / "branches" / "0-at-2-2"
    for run in (played, forked):
        invoke("report", run, "--out", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert "(episode 0), and" in page
        assert "at 2: --plan search.py" in page
        assert "1 to 2" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((99, "--at", 1), "has no episode '99'"),
        ((0, "--at", 1, "--without", "rule_99"), "--without rule_99: there is no such rule or skill; known: rule_0"),
        ((0, "--at", 1, "--without", "nonsense"), "--without nonsense: there is no such part; the parts are rule_N"),
    ],
)
def test_unknown_episodes_and_parts_are_refused(played: Path, arguments: tuple[object, ...], message: str) -> None:
    assert message in refusal("fork", played, *arguments)


def test_an_episode_that_has_not_ended_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert invoke("run", "--env", "toy", "--split", "all:3", "--budget", "actions=1", "--out", run).returncode == 4
    assert f"(episode 2) has not ended; resume its run: planbook run --resume {run}" in refusal(
        "fork", run, 2, "--at", 0
    )


def test_a_plan_repeats_the_actions_that_were_not_undone() -> None:
    steps = tuple(
        Step(order=order, scope="s", cell=0, line=1, action=Action(name, ()), observation=Observation(name))
        for order, name in zip((1, 2, 3, 4, 15, 16), "abxycd", strict=True)
    )
    rewinds = (Rewind(order=8, scope="s", kept=2), Rewind(order=90, scope="s", kept=0))
    episode = Trajectory(task=TASK, rounds=(Round(number=0, steps=steps, rewinds=rewinds),))
    kept = {0: "", 3: "abx", 4: "abxy", 5: "abc", 6: "abcd"}
    assert {at: "".join(step.action.name for step in kept_steps(episode, at)) for at in kept} == kept
