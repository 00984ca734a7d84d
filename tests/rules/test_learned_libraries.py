"""Episodes become skills and reflections, and a planner is shown the one that fits its task."""

import pytest

from planbook.envs import Selection, Task
from planbook.envs.toy import Toy
from planbook.planner import Conclusion, Ending, Outcome, Round, Trajectory, parse_procedure
from planbook.rules import Knowledge, Reflection, Skill, with_conclusion, with_procedure
from planbook.rules.learned_memory import precedent_for

FETCH, FETCH_TWO = Toy.select(Selection(ids=("fetch/0", "fetch_two/0")))
OTHER = Toy.select(Selection(ids=("fetch/1",)))[0]
EMPTY = Knowledge(environment="toy")


def played(outcome: Outcome, task: Task = FETCH) -> Trajectory:
    rounds = (Round(number=0, observation="the first scene"), Round(number=1, observation="the same again"))
    return Trajectory(path="task/0", task=task, rounds=rounds, ending=Ending(outcome=outcome))


def skill(task: Task, code: str = "agent.put('key')") -> Skill:
    return Skill(task=task, scene="somewhere", code=code)


@pytest.mark.parametrize("outcome", [Outcome.DIRECT_SUCCESS, Outcome.INDIRECT_SUCCESS])
def test_the_last_success_becomes_the_skill_of_its_type(outcome: Outcome) -> None:
    first = with_conclusion(EMPTY, played(outcome), Conclusion(text="a mistake", code="agent.open('box_1')"))
    assert first.skills == {"fetch": Skill(task=FETCH, scene="the first scene", code="agent.open('box_1')")}
    assert (first.reflections, EMPTY.skills) == ({}, {})
    before = first.model_copy(update={"skills": {**first.skills, "fetch_two": skill(FETCH_TWO)}})
    after = with_conclusion(before, played(outcome, OTHER), Conclusion(text="", code="agent.open('box_9')"))
    assert (after.skills["fetch"].task, after.skills["fetch"].code) == (OTHER, "agent.open('box_9')")
    assert after.skills["fetch_two"] == before.skills["fetch_two"]


@pytest.mark.parametrize("outcome", [Outcome.FAILURE, Outcome.OUT_OF_BUDGET])
def test_the_last_failure_becomes_the_reflection_of_its_type(outcome: Outcome) -> None:
    before = EMPTY.model_copy(update={"skills": {"fetch": skill(FETCH)}})
    after_one = with_conclusion(before, played(outcome), Conclusion(text="it guessed", code="agent.open('box_1')"))
    after_two = with_conclusion(after_one, played(outcome, OTHER), Conclusion(text="it guessed again"))
    assert after_one.reflections == {"fetch": Reflection(task=FETCH, scene="the first scene", text="it guessed")}
    assert after_two.reflections["fetch"].text == "it guessed again"
    assert after_two.skills == before.skills


@pytest.mark.parametrize(
    ("outcome", "conclusion"),
    [
        *((outcome, Conclusion(text=" ", code="\n")) for outcome in Outcome),
        (Outcome.BROKEN, Conclusion(text="the world fell", code="agent.open('box_2')")),
        (Outcome.NOT_RUN, Conclusion(text="the world fell", code="agent.open('box_2')")),
    ],
)
def test_an_empty_conclusion_and_a_broken_episode_change_nothing(outcome: Outcome, conclusion: Conclusion) -> None:
    before = with_conclusion(EMPTY, played(Outcome.DIRECT_SUCCESS), Conclusion(text="", code="agent.open('box_1')"))
    assert with_conclusion(before, played(outcome), conclusion) == before


def test_a_type_is_shown_its_skill_before_its_reflection() -> None:
    reflection = Reflection(task=FETCH, scene="somewhere", text="it guessed")
    both = Knowledge(environment="toy", skills={"fetch": skill(OTHER)}, reflections={"fetch": reflection})
    assert precedent_for(both, FETCH) == skill(OTHER)
    assert precedent_for(both.model_copy(update={"skills": {"fetch_two": skill(FETCH_TWO)}}), FETCH) == reflection


def test_a_type_without_skill_and_reflection_is_shown_the_skill_of_the_most_similar_task() -> None:
    def cleaning(kind: str, goal: str) -> Task:
        return Task(id=kind, env="toy", split="all", type=kind, goal=goal)

    near, far = skill(cleaning("clean_mug", "clean the mug in the sink")), skill(cleaning("walk", "go home"))
    task = cleaning("clean_plate", "clean the plate in the sink")
    assert precedent_for(Knowledge(environment="toy", skills={"walk": far, "clean_mug": near}), task) == near
    assert precedent_for(Knowledge(environment="toy", skills={"walk": far}), task) is None
    assert precedent_for(Knowledge(environment="toy", skills={"walk": far}), task, allow_unrelated=True) == far
    assert precedent_for(EMPTY, task) is None


def test_a_procedure_replaces_the_older_one() -> None:
    text = '"""Fetch.\n\nworld: toy\ntype: fetch\nsource: %s\n"""\n\n\ndef solve(agent, task):\n    agent.put("key")\n'
    older, newer = (parse_procedure(text % source, "fetch.py") for source in ("one", "two"))
    known = with_procedure(with_procedure(EMPTY, older), newer)
    assert known.procedures == {"fetch": newer}
    assert with_procedure(known, None) == known
