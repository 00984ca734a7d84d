"""Environments enforce the preconditions that they declare."""

import os
import re
from collections.abc import Callable, Sequence
from random import Random

import pytest
from pydantic import BaseModel

from planbook.envs import Change, Contract, Environment, Fact, Need, Preconditions, Selection, Task
from planbook.envs.alfworld import Alfworld, AlfworldOptions
from planbook.envs.minecraft import Minecraft
from planbook.envs.minecraft.goals import known_goals
from planbook.envs.preconditions import UNKNOWN, Beliefs
from planbook.envs.toy import Toy
from planbook.manuals import ProcedureLibrary
from tests.dry_plans import Call, PlanWriter, dry_run_of, run_for_real, wrong_reports

HOLDING, OPENED = Fact("holding"), Fact("opened", ("box",))
HAS_REAL_GAMES = bool(os.environ.get("ALFWORLD_DATA"))
PLAN_COUNT = int(os.environ.get("PLANBOOK_DRY_RUNS", "12"))

Actions = Callable[[Task], tuple[Call, Sequence[str]]]
"""For a task, returns a function that writes a random call, and words that may be arguments."""


def _take(thing: str) -> Contract:
    return Contract([Need.equal(HOLDING, "nothing", "{now} is held")], [Change(HOLDING, thing)], needs_suffice=True)


def test_an_action_that_may_have_been_refused_leaves_both_values_possible() -> None:
    possible, refusal = Beliefs({}, {}).after(_take("pen"))
    assert (refusal, possible.values(HOLDING)) == ("", None)
    unsure = Beliefs.at_start(Preconditions({}, start={HOLDING: "nothing"}))
    contract = Contract([Need.equal(OPENED, True, "closed")], [Change(HOLDING, "pen")], needs_suffice=True)
    after, _ = unsure.after(contract)
    assert after.values(HOLDING) == frozenset({"pen", "nothing"})


def test_a_violation_has_the_reasons_of_all_possible_values() -> None:
    def held(thing: str) -> Contract:
        return Contract([Need.equal(HOLDING, thing, f"{thing} is not held")])

    start = Beliefs.at_start(Preconditions({}, start={HOLDING: "nothing"}))
    with_pen, _ = start.after(_take("pen"))
    assert with_pen.after(_take("cup")) == (with_pen, "pen is held")
    merged = with_pen.merged_with(start)
    empty_handed, _ = merged.after(Contract(changes=[Change(HOLDING, "nothing")], needs_suffice=True))
    with_cup, _ = empty_handed.after(_take("cup"))
    assert with_cup.after(held("pen"))[1] == "pen is not held"
    assert with_cup.after(_take("key"))[1] == "cup is held"
    assert merged.after(held("cup"))[1] == "cup is not held"
    assert merged.after(held("pen"))[1] == ""
    assert with_pen.merged_with(with_cup).after(_take("key"))[1] == "cup is held, or pen is held"


@pytest.mark.parametrize(
    ("environment", "selection", "refused"),
    [
        (
            Alfworld,
            Selection(split="generated", types=("pick_heat_then_place",), limit=1),
            {
                "use('zebra_1')": "nothing is called zebra_1: there is no such kind of object",
                "use('zebra')": "'zebra' is not an id such as desk_1",
                "go_to('sofa_77')": "there is no receptacle sofa_77 in this room",
                "heat_with('mug_1', 'fridge_1')": "fridge_1 is not a microwave",
            },
        ),
        (
            Minecraft,
            Selection(limit=1),
            {
                "craft({'chest': 1}, {'planks': 8}, None)": "it takes crafting_table as the tool to craft chest, "
                "and the plan uses none"
            },
        ),
    ],
)
def test_an_impossible_action_is_explained(
    environment: type[Environment], selection: Selection, refused: dict[str, str]
) -> None:
    (task,) = environment.select(selection)
    plan = "".join(f"agent.{call}\n" for call in refused)
    messages = [fault.message for fault in dry_run_of(environment, _declared(environment, task), plan).faults]
    assert messages == [f"{call} cannot succeed: {reason}" for call, reason in refused.items() if reason]


def test_an_unknown_argument_may_change_every_fact_of_its_name() -> None:
    declared = Preconditions(
        {"open": lambda box: Contract(changes=[Change(Fact("opened", (box,)), True)], needs_suffice=True)},
        defaults={"opened": False},
    )
    contract = declared.contract("open", [UNKNOWN])
    assert contract is not None
    assert not contract.needs_suffice
    after, _ = Beliefs.at_start(declared).after(contract)
    assert after.values(OPENED) == frozenset({True, False})


def _household(task: Task) -> tuple[Call, Sequence[str]]:
    environment = Alfworld()
    room = environment.reset(task).text.split("Your task")[0]
    rng = Random(task.id)
    places = rng.sample(re.findall(r"[a-z]+_\d+", room), 3)
    shown = " ".join(environment.act(each).text for each in environment.possible_actions() if each.name == "go_to")
    things = rng.sample(sorted({*re.findall(r"[a-z]+_\d+", shown)}), 4)
    on_one = ("go_to", "go_to", "go_to", "open", "close", "examine", "use")
    on_two = ("take_from", "take_from", "put_in_or_on", "clean_with", "heat_with", "cool_with")

    def call(rng: Random, names: Sequence[str]) -> str:
        place = rng.choice([*names, *map(repr, places), *map(repr, places)])
        thing = rng.choice([*names, *map(repr, things), repr(f"{task.params['object']}_1")])
        if rng.random() < 0.55:
            return f"agent.{rng.choice(on_one)}({rng.choice([place, place, thing])})"
        return f"agent.{rng.choice(on_two)}({thing}, {place})"

    return call, [*places, *things]


def _mining(task: Task) -> tuple[Call, Sequence[str]]:
    rng = Random(task.id)
    simple = ("log", "planks", "stick", "crafting_table", "wooden_pickaxe", "cobblestone")
    goals = [goal for goal in known_goals() if any(f"{{{name!r}: " in str(goal.args[0]) for name in simple)]
    picked = [f"agent.{goal}" for goal in (*goals, *rng.sample(known_goals(), 10))]
    return lambda rng, names: rng.choice(picked), simple


@pytest.mark.parametrize(
    ("environment", "options", "actions"),
    [
        (Alfworld, AlfworldOptions(), _household),
        (Alfworld, AlfworldOptions(shared_locations="open"), _household),
        (Minecraft, None, _mining),
    ],
)
def test_faults_found_in_random_plans_are_refused_by_the_environment(
    environment: type[Environment], options: BaseModel | None, actions: Actions
) -> None:
    split = ("valid_seen" if HAS_REAL_GAMES else "generated") if environment is Alfworld else None
    tasks = environment.select(Selection(split=split, limit=6))
    faults = 0
    for number in range(PLAN_COUNT):
        task = tasks[number % len(tasks)]
        call, words = actions(task)
        plan = PlanWriter(Random(number), call, words).plan()
        run = dry_run_of(environment, _declared(environment, task, options), plan)
        assert not wrong_reports(plan, run, run_for_real(environment(options), task, plan)), number
        faults += len(run.faults)
    assert faults > PLAN_COUNT / 2, "the dry runs found too few faults"


def _declared(environment: type[Environment], task: Task, options: BaseModel | None = None) -> Preconditions:
    declared = environment.preconditions(task, options)
    assert declared is not None
    return declared


@pytest.mark.parametrize("environment", [Toy, Alfworld, Minecraft])
def test_no_fault_is_found_in_procedures_that_solve_tasks(environment: type[Environment]) -> None:
    library = ProcedureLibrary(environment)
    split = "generated" if environment is Alfworld else None
    for task in environment.select(Selection(split=split, limit=len(environment.types))):
        procedure = library.procedure(task.type)
        assert procedure is not None
        observation = environment().reset(task).text
        shown = {**task.model_dump(mode="json", include={"params", "type"}), "observation": observation}
        run = dry_run_of(
            environment,
            _declared(environment, task),
            f"{procedure.code}\nsolve(agent, task)\n",
            helpers=procedure.helpers,
            task=shown,
        )
        assert run.followed, procedure.name
        assert run.calls, procedure.name
        assert [str(fault) for fault in run.faults] == []


def test_the_places_of_things_are_not_declared() -> None:
    (task,) = Alfworld.select(Selection(split="generated", types=("pick_and_place",), limit=1))
    environment = Alfworld()
    environment.reset(task)
    places = [each.args[0] for each in environment.possible_actions() if each.name == "go_to"]
    thing = f"{task.params['object']}_1"
    plan = "".join(
        f"agent.go_to({place!r})\nagent.open({place!r})\nagent.take_from({thing!r}, {place!r})\n" for place in places
    )
    faults = dry_run_of(Alfworld, _declared(Alfworld, task), plan).faults
    assert not [fault for fault in faults if "take_from" in fault.message and "not in or on" in fault.message]
