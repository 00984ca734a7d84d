"""LATS, a tree search over sampled actions: which states it expands, how it restores them, and what it records."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from planbook.planner import METHODS, Outcome
from planbook.planner.strategies.advocate import uct
from planbook.planner.strategies.advocate.tree import BranchTried, Node
from planbook.sandbox import Sandbox
from tests.planner.advocate_kit import NO, YES, AdvocateModels, played, recorded, touch, valued
from tests.planner.episode_kit import SOLVE, TASK, code
from tests.planner.test_advocate_algorithm import Path, ReplayedToy, TracedEpisode, TraceMemory
from tests.planner.test_advocate_pages import Pages, click


def test_the_search_continues_from_the_best_sample(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        act=[touch("wall"), touch("door"), touch("wall"), code(SOLVE)],
        value=[valued(9, "Felt the wall."), valued(1, "Felt the door.")],
    )
    ending, playing = played(sandbox, models, "lats")
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [sampling.sample for _, name, _, sampling in models.asked if name == "act"] == [0, 1, 2] * 2
    assert [(str(step.action), step.undone) for step in playing.steps][:3] == [
        ("touch('wall')", True),
        ("touch('door')", True),
        ("touch('wall')", False),
    ]
    wall, door, solving = recorded(playing, "branch")
    assert (wall["fate"], wall["idea"], wall["actions"]) == ("kept", 0, 2)
    assert (door["fate"], door["idea"], door["actions"]) == ("abandoned", 1, 1)
    assert (wall["value"], wall["visits"], wall["cell"]) == (0.9, 1, 0)
    assert (solving["parent"], solving["fate"], solving["visits"], solving["value"]) == (0, "over", None, None)
    assert "- Felt the wall.\n" in models.prompts("act")[3]
    assert "Felt the door" not in models.prompts("act")[3], "a sample knows only its own branch"


def test_the_next_round_knows_everything_that_was_tried(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        plan=["1. look", "All was cold.\n1. look"],
        act=[touch("wall"), touch("door"), code(SOLVE)],
        value=[valued(3, "Felt the wall."), valued(1, "Felt the door.")],
    )
    ending, playing = played(sandbox, models, "lats", options={"expansions": 1, "samples": 2})
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert "- Felt the wall. (undone later)\n- Felt the door.\n" in models.prompts("plan")[1]
    assert [sampling.sample for _, name, _, sampling in models.asked if name == "act"] == [0, 1, 2, 3]
    assert [each["why"] for each in recorded(playing, "plan")] == ["", "All was cold."]


def test_a_task_considered_complete_ends_the_search(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=[touch("wall"), touch("door")], task_done=[NO, NO, YES])
    _, playing = played(sandbox, models, "lats")
    assert [each["fate"] for each in recorded(playing, "branch")] == ["abandoned", "kept"]
    complete = AdvocateModels(task_done=YES)
    played(sandbox, complete, "lats")
    assert complete.questions == ["plan", "task_done"]


def test_a_failed_sample_is_neither_evaluated_nor_expanded(sandbox: Sandbox) -> None:
    models = AdvocateModels(act=code("oops()"))
    ending, playing = played(sandbox, models, "lats", options={"rounds": 1})
    assert ending.outcome is Outcome.FAILURE
    assert "value" not in models.questions
    (branch,) = recorded(playing, "branch")
    assert (branch["fate"], branch["value"], branch["visits"]) == ("failed", 0.0, 1)
    assert models.questions.count("act") == 3, "no other state is left"


def test_after_the_last_subtask_nothing_is_sampled(sandbox: Sandbox) -> None:
    models = AdvocateModels(plan="1. look", subtask_done=[NO, YES], act=[touch("wall")])
    played(sandbox, models, "lats", options={"rounds": 1})
    assert models.questions.count("act") == 3


def test_without_a_usable_sample_the_round_ends(sandbox: Sandbox) -> None:
    ending, playing = played(sandbox, AdvocateModels(act="Hm."), "lats", options={"rounds": 2, "samples": 1})
    assert (ending.outcome, len(playing.cells)) == (Outcome.FAILURE, 2)


def test_a_sample_that_is_run_again_is_mapped_to_the_current_page(sandbox: Sandbox) -> None:
    models = AdvocateModels(
        act=[click(2), click(1), click(23), click(21)], value=[valued(9), valued(1)], map=[click(11), click(22)]
    )
    ending, playing = played(sandbox, models, "lats", environment=Pages(), options={"samples": 2})
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [str(step.action) for step in playing.steps] == ["click(2)", "click(11)", "click(22)", "click(23)"]
    assert models.questions.count("map") == 2
    first = recorded(playing, "branch")[0]
    assert (first["actions"], first["code"], first["mapped"]) == (2, "agent.click(2)", "")


def test_the_uct_value_is_the_mean_plus_a_bonus_for_rare_visits() -> None:
    branch = BranchTried(round=0, number=0, subtask="look", code="look()", fate="kept")
    root = Node(branch, visits=9)
    often, rarely, never = (Node(branch, root, visits=n, total=0.5 * n) for n in (8, 1, 0))
    assert 0.5 < uct(often) < uct(rarely) < uct(never)


def test_samples_are_drawn_at_temperature_1() -> None:
    assert METHODS["lats"].options.default_sampling["temperature"] == 1.0


class SearchModels(AdvocateModels):
    """Models that try three actions in every state, and give them random values."""

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
def test_each_sample_is_tried_in_its_own_state(sandbox: Sandbox, seed: int) -> None:
    watched = TracedEpisode(ReplayedToy())
    models = SearchModels(seed, watched.path)
    options = {"rounds": 1, "expansions": 8, "samples": 3}
    ending, playing = played(
        sandbox, models, "lats", options=options, environment=watched.environment, task=TASK,
        journal=watched.journal, memory=TraceMemory(), actions=1_000,
    )  # fmt: skip
    assert ending.outcome is Outcome.FAILURE, ending.message
    found = recorded(watched.journal, "branch")
    paths: dict[int | None, Path] = {None: ()}
    for each in found:
        idea = each["code"].split("'")[1]
        paths[each["number"]] = (*paths[each["parent"]], idea)
    assert models.valued == [paths[each["number"]] for each in found], "the environment"
    assert [watched.trace[each["cell"]] for each in found] == [paths[each["parent"]] for each in found], "the namespace"
    assert sum(each["actions"] for each in found) == len(playing.steps), "actions that were repeated are counted again"
    visits = [each["visits"] for each in found if each["parent"] is None]
    assert sum(visits) == len(found) == 24
    standing = [str(action.args[0]) for action, _ in watched.environment.history]
    assert [step.action.args[0] for step in playing.steps if not step.undone] == standing
    assert [each["fate"] for each in found].count("kept") == len(standing)


def test_equal_code_and_equal_actions_are_one_sample(sandbox: Sandbox) -> None:
    same_code, same_actions = code('agent.touch("wall")  # again'), code("agent.touch('wall')", "print(agent.table())")
    models = AdvocateModels(act=[touch("wall"), same_code, same_actions, code(SOLVE)], value=valued(4))
    ending, playing = played(sandbox, models, "lats")
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    second = recorded(playing, "branch")[1]
    assert (second["idea"], second["fate"]) == (2, "turned back")
    assert second["why"] == "It took the same actions as another sample."
    assert models.questions.count("value") == 1
