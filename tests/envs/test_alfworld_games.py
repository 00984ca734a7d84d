"""Which games there are: selections, splits on disk, and what is said when there are none."""

import json
from pathlib import Path

import pytest

from planbook.envs.alfworld import Alfworld, generated
from planbook.envs.alfworld.goals import GAME_TYPES, TYPES
from planbook.envs.errors import BadSelection, EnvironmentBroken, MissingRequirement
from planbook.envs.types import Selection


def store(root: Path, split: str, kind: str, number: int, *, solvable: bool = True, note: str = "") -> str:
    """Write one of our own games where alfworld would have it; returns its task id."""
    folder = root / "json_2.1.1" / split / f"{GAME_TYPES[kind]}-X{note}-None-Y-{number}" / f"trial_T{number}"
    folder.mkdir(parents=True)
    data = {**generated.make(kind, number).data, "solvable": solvable, "walkthrough": []}
    (folder / "game.tw-pddl").write_text(json.dumps(data))
    return f"{split}/{folder.parent.name}/{folder.name}"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    return tmp_path


def test_games_on_disk_are_listed_in_turn_from_each_type(data: Path) -> None:
    for kind in ("look_at_obj", "pick_two_obj"):
        for number in (1, 2, 3):
            store(data, "valid_seen", kind, number)
    tasks = Alfworld.tasks(Selection())
    assert [task.type for task in tasks] == ["look_at_obj", "pick_two_obj"] * 3
    assert Alfworld.tasks(Selection(limit=3)) == tasks[:3]
    assert Alfworld.tasks(Selection(types=("pick_two_obj",))) == tasks[1::2]
    assert all(str(task.params["object"]) in task.goal for task in tasks)


def test_an_id_names_one_game_on_every_machine(data: Path) -> None:
    task_id = store(data, "train", "pick_heat_then_place", 4)
    (task,) = Alfworld.tasks(Selection(ids=(task_id,), split="valid_seen", limit=1))
    assert (task.id, task.split, task.type) == (task_id, "train", "pick_heat_then_place")
    assert str(data) not in task.model_dump_json()
    world = Alfworld()
    assert task.goal in world.reset(task).text


def test_games_that_alfworld_leaves_out_are_left_out(data: Path) -> None:
    kept = store(data, "train", "pick_and_place", 1)
    store(data, "train", "pick_and_place", 2, solvable=False)
    store(data, "train", "pick_and_place", 3, note="Sliced")
    assert [task.id for task in Alfworld.tasks(Selection(split="train"))] == [kept]


@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen", "train"])
def test_missing_data_is_named_with_its_remedy(data: Path, split: str) -> None:
    with pytest.raises(MissingRequirement, match=r"--split generated.*alfworld-download.*ALFWORLD_DATA"):
        Alfworld.tasks(Selection(split=split))


def test_an_empty_split_is_missing_too(data: Path) -> None:
    (data / "json_2.1.1" / "train").mkdir(parents=True)
    with pytest.raises(MissingRequirement, match=r"no game\.tw-pddl"):
        Alfworld.tasks(Selection(split="train"))


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (Selection(split="test"), "it has valid_seen"),
        (Selection(split="generated", types=("pick_nothing",)), "it has pick_and_place"),
        (Selection(ids=("nonsense",)), "SPLIT/"),
        (Selection(ids=("generated/pick_two_obj/x",)), "generated/TYPE/SEED"),
        (Selection(ids=("generated/pick_nothing/1",)), "generated/TYPE/SEED"),
        (Selection(ids=("train/pick_and_place_simple-No-None-No-1/trial_T1",)), "does not exist"),
        (Selection(ids=("train/pick_and_place_simple-No-None-No-1/../trial_T1",)), "does not exist"),
        (Selection(ids=("train/walk_the_dog-No-None-No-1/trial_T1",)), "task types"),
    ],
)
def test_a_bad_selection_says_what_there_is(data: Path, selection: Selection, said: str) -> None:
    (data / "json_2.1.1" / "train").mkdir(parents=True)
    with pytest.raises(BadSelection, match=said):
        Alfworld.tasks(selection)


@pytest.mark.parametrize("content", ["", "{}", '{"grammar": "Your task is'])
def test_a_damaged_game_is_named(data: Path, content: str) -> None:
    task_id = store(data, "train", "look_at_obj", 1)
    path = data / "json_2.1.1" / task_id / "game.tw-pddl"
    path.write_text(content)
    with pytest.raises(EnvironmentBroken, match=r"game\.tw-pddl"):
        Alfworld.tasks(Selection(split="train"))


def test_a_game_without_its_problem_breaks_the_world(data: Path) -> None:
    task_id = store(data, "train", "look_at_obj", 1)
    path = data / "json_2.1.1" / task_id / "game.tw-pddl"
    content = json.loads(path.read_text())
    (task,) = Alfworld.tasks(Selection(ids=(task_id,)))
    for problem in (None, "(define (problem p))", "(:init (a b)) (:goal (and))"):
        path.write_text(
            json.dumps({**content, "pddl_problem": problem} if problem else {"grammar": content["grammar"]})
        )
        with pytest.raises(EnvironmentBroken, match="damaged"):
            Alfworld().reset(task)


def test_requirements_say_what_is_there_and_how_to_get_the_rest(data: Path) -> None:
    store(data, "train", "look_at_obj", 1)
    found = {requirement.name: requirement for requirement in Alfworld.requirements()}
    assert found["alfworld train"].found == str(data / "json_2.1.1" / "train")
    assert found["alfworld valid_unseen"].found is None
    assert "alfworld-download" in found["alfworld valid_unseen"].remedy
    assert found["alfworld generated"].found, "games are generated from the installed alfworld package"


def test_selections_of_generated_games_need_no_data(data: Path) -> None:
    tasks = Alfworld.tasks(Selection(split="generated", types=("look_at_obj", "pick_two_obj"), seeds=(3, 5)))
    assert [task.id for task in tasks] == [
        f"generated/{kind}/{seed}" for seed in (3, 5) for kind in ("look_at_obj", "pick_two_obj")
    ]
    assert [task.seed for task in tasks] == [3, 3, 5, 5]
    assert Alfworld.tasks(Selection(ids=(tasks[2].id,))) == [tasks[2]]
    assert len(Alfworld.tasks(Selection(split="generated", limit=8))) == 8
    assert [task.type for task in Alfworld.tasks(Selection(split="generated", limit=6))] == list(TYPES)
