"""Tree search over sampled actions: what is expanded, how a moment is reached again, and what is recorded."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.planner import METHODS, MemoryJournal, Outcome
from planbook.planner.strategies.advocate.search import SearchNode
from planbook.sandbox import Sandbox
from tests.planner.counsellors import NO, YES, Counsellors, played, recorded, valued
from tests.planner.players import SOLVE, TASK, code
from tests.planner.test_advocate_algorithm import Path, Tracing, Walked, toy
from tests.planner.test_advocate_pages import Pages, click


def touch(what: str) -> str:
    return code(f"agent.touch('{what}')")


def test_samples_are_drawn_and_the_best_is_gone_on_from(sandbox: Sandbox) -> None:
    says = Counsellors(
        act=[touch("wall"), touch("door"), touch("wall"), code(SOLVE)],
        value=[valued(9, "Felt the wall."), valued(1, "Felt the door.")],
    )
    journal = MemoryJournal()
    ending, playing = played(sandbox, says, "lats", journal=journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [sampling.sample for _, name, _, sampling in says.asked if name == "act"] == [0, 1, 2] * 2
    assert [str(step.action) for step in playing.steps][:3] == ["touch('wall')", "touch('door')", "touch('wall')"]
    assert [step.undone for step in playing.steps][:3] == [True, True, False]
    wall, door, solving = recorded(journal, "branch")
    assert [(each["fate"], each["idea"], each["actions"]) for each in (wall, door)] == [
        ("kept", 0, 2),
        ("abandoned", 1, 1),
    ]
    assert (wall["value"], wall["visits"], wall["cell"]) == (0.9, 1, 0)
    assert (solving["parent"], solving["fate"], solving["visits"], solving["value"]) == (0, "over", None, None)
    assert "- Felt the wall.\n" in says.prompts("act")[3]
    assert "Felt the door" not in says.prompts("act")[3], "samples know only of their own way"


def test_when_nothing_is_found_the_next_round_knows_of_all(sandbox: Sandbox) -> None:
    says = Counsellors(
        plan=["1. look", "All was cold.\n1. look"],
        act=[touch("wall"), touch("door"), code(SOLVE)],
        value=[valued(3, "Felt the wall."), valued(1, "Felt the door.")],
    )
    journal = MemoryJournal()
    ending, _ = played(sandbox, says, "lats", journal=journal, options={"expansions": 1, "samples": 2})
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert "- Felt the wall. (taken back since)\n- Felt the door.\n" in says.prompts("plan")[1]
    assert [sampling.sample for _, name, _, sampling in says.asked if name == "act"] == [0, 1, 2, 3]
    assert [each["why"] for each in recorded(journal, "plan")] == ["", "All was cold."]


def test_a_task_held_complete_ends_the_search(sandbox: Sandbox) -> None:
    says, journal = Counsellors(act=[touch("wall"), touch("door")], task_done=[NO, NO, YES]), MemoryJournal()
    played(sandbox, says, "lats", journal=journal)
    assert [each["fate"] for each in recorded(journal, "branch")] == ["abandoned", "kept"]
    at_once = Counsellors(task_done=YES)
    played(sandbox, at_once, "lats")
    assert at_once.questions == ["plan", "task_done"]


def test_what_fails_is_valued_by_nobody_and_left(sandbox: Sandbox) -> None:
    says, journal = Counsellors(act=code("oops()")), MemoryJournal()
    ending, _ = played(sandbox, says, "lats", journal=journal, options={"rounds": 1})
    assert ending.outcome is Outcome.FAILURE
    assert "value" not in says.questions
    (branch,) = recorded(journal, "branch")
    assert (branch["fate"], branch["value"], branch["visits"]) == ("failed", 0.0, 1)
    assert says.questions.count("act") == 3, "where all ideas fail, no other moment is left"


def test_where_subtasks_run_out_nothing_is_sampled(sandbox: Sandbox) -> None:
    says = Counsellors(plan="1. look", subtask_done=[NO, YES], act=[touch("wall")])
    played(sandbox, says, "lats", options={"rounds": 1})
    assert says.questions.count("act") == 3


def test_without_usable_samples_the_round_is_over(sandbox: Sandbox) -> None:
    ending, playing = played(sandbox, Counsellors(act="Hm."), "lats", options={"rounds": 2, "samples": 1})
    assert (ending.outcome, len(playing.cells)) == (Outcome.FAILURE, 2)


def test_a_sample_is_mapped_to_the_page_as_it_is_now(sandbox: Sandbox) -> None:
    says = Counsellors(
        act=[click(1), click(2), click(11), click(13)], value=[valued(1), valued(9)], map=[click(12), click(23)]
    )
    journal = MemoryJournal()
    ending, _ = played(sandbox, says, "lats", environment=Pages(), journal=journal, options={"samples": 2})
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    found = recorded(journal, "branch")
    assert [each["mapped"] for each in found] == ["", "agent.click(12)", "", "agent.click(23)"]
    assert "[21] link a" in says.prompts("map")[1]


def test_so_is_what_is_run_again(sandbox: Sandbox) -> None:
    """What is thought of there is written for the page as it looks then."""
    says = Counsellors(
        act=[click(2), click(1), click(23), click(21)], value=[valued(9), valued(1)], map=[click(11), click(22)]
    )
    journal = MemoryJournal()
    ending, playing = played(sandbox, says, "lats", environment=Pages(), journal=journal, options={"samples": 2})
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [str(step.action) for step in playing.steps] == ["click(2)", "click(11)", "click(22)", "click(23)"]
    assert says.questions.count("map") == 2
    walked = recorded(journal, "branch")[0]
    assert (walked["actions"], walked["code"], walked["mapped"], walked["again"]) == (
        2,
        "agent.click(2)",
        "",
        ["agent.click(22)"],
    )


def test_the_uct_value_of_a_node_is_its_mean_and_more_if_it_was_seldom_visited() -> None:
    root = SearchNode(None, visits=9)
    often, seldom, never = (SearchNode(None, parent=root, visits=n, total=0.5 * n) for n in (8, 1, 0))
    assert often.uct(0.0) == seldom.uct(0.0) == 0.5
    assert often.uct(1.0) < seldom.uct(1.0) < never.uct(1.0)


def test_the_temperature_of_samples_is_an_option(sandbox: Sandbox) -> None:
    for temperature, drawn in ((None, 0.0), (0.7, 0.7)):
        says = Counsellors(act=code(SOLVE))
        played(sandbox, says, "lats", options={"temperature": temperature})
        assert [sampling.temperature for _, name, _, sampling in says.asked if name == "act"] == [drawn] * 3
    assert METHODS["lats"].options.usual_sampling["temperature"] == 1.0


class Searchers(Counsellors):
    """Models that try three things everywhere, and value what comes of them by chance."""

    def __init__(self, seed: int, path: Callable[[], Path]) -> None:
        super().__init__()
        self._seed, self._path = seed, path
        self._samples = 0
        self.valued: list[Path] = []

    def say(self, name: str, prompt: str) -> str:
        path = self._path()
        if name == "act":
            self._samples += 1
            idea = f"{len(path)}{'abc'[self._samples % 3]}"
            return code("print(trace)", f"trace = trace + ['{idea}']", f"agent.touch('{idea}')")
        if name == "value":
            self.valued.append(path)
            return valued(random.Random(f"{self._seed}/{path}").randint(0, 10))
        return super().say(name, prompt)


@pytest.mark.deep
@settings(max_examples=5)
@given(seed=st.integers(0, 10**4))
def test_each_idea_is_tried_at_its_own_moment_however_that_is_reached(sandbox: Sandbox, seed: int) -> None:
    watched = toy(Walked())
    says = Searchers(seed, watched.path)
    options = {"rounds": 1, "expansions": 8, "samples": 3}
    ending, playing = played(
        sandbox,
        says,
        "lats",
        options=options,
        environment=watched.environment,
        task=TASK,
        journal=watched.journal,
        memory=Tracing(),
        actions=1_000,
    )
    assert ending.outcome is Outcome.FAILURE, ending.message
    found = recorded(watched.journal, "branch")
    ways: dict[int | None, Path] = {None: ()}
    for each in found:
        idea = each["code"].split("'")[1]
        ways[each["number"]] = (*ways[each["parent"]], idea)
    assert says.valued == [ways[each["number"]] for each in found], "the world"
    assert [watched.trace[each["cell"]] for each in found] == [ways[each["parent"]] for each in found], "the names"
    assert sum(each["actions"] for each in found) == len(playing.steps), "what was run again is counted again"
    visits = [each["visits"] for each in found if each["parent"] is None]
    assert sum(visits) == len(found) == 24
    standing = [str(action.args[0]) for action, _ in watched.environment.history]
    assert [step.action.args[0] for step in playing.steps if not step.undone] == standing
    assert [each["fate"] for each in found].count("kept") == len(standing)


def test_samples_that_are_the_same_to_python_or_to_the_environment_are_one(sandbox: Sandbox) -> None:
    says, journal = (
        Counsellors(
            act=[
                touch("wall"),
                code('agent.touch("wall")  # again'),
                code("agent.touch('wall')", "print(agent.table())"),
                code(SOLVE),
            ],
            value=valued(4),
        ),
        MemoryJournal(),
    )
    ending, _ = played(sandbox, says, "lats", journal=journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    told = [(each["idea"], each["fate"], each["why"]) for each in recorded(journal, "branch")][:2]
    assert told[1] == (2, "turned back", "It took the same actions as another sample.")
    assert says.questions.count("value") == 1, "what the second would be uct is known"
