"""ALFWorld's tasks: games on disk, what their sentences say, and the selections that papers played."""

import json
import os
import re
from pathlib import Path

import pytest

from planbook.envs.alfworld import Alfworld, generated, tasks
from planbook.envs.alfworld.goals import GAME_TYPES, TYPES, paper_goal
from planbook.envs.alfworld.tasks import DEPS_GAMES, SELECTIONS
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
    environment = Alfworld()
    assert task.goal in environment.reset(task).text


def test_games_that_alfworld_leaves_out_are_left_out(data: Path) -> None:
    kept = store(data, "train", "pick_and_place", 1)
    store(data, "train", "pick_and_place", 2, solvable=False)
    store(data, "train", "pick_and_place", 3, note="Sliced")
    assert [task.id for task in Alfworld.tasks(Selection(split="train"))] == [kept]


def test_missing_data_is_named_with_its_remedy(data: Path) -> None:
    with pytest.raises(MissingRequirement, match=r"--split generated.*alfworld-download.*ALFWORLD_DATA"):
        Alfworld.tasks(Selection(split="valid_unseen"))


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


def test_a_game_without_its_problem_breaks_the_environment(data: Path) -> None:
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


DEPS = json.loads(DEPS_GAMES.read_text())["games"]


def on_disk(split: str) -> bool:
    return bool(os.environ.get("ALFWORLD_DATA")) and (tasks.data_root() / tasks.DATA_FOLDER / split).is_dir()


needs_train = pytest.mark.skipif(
    not (on_disk("train") and on_disk("valid_seen")), reason="ALFWORLD_DATA does not hold train and valid_seen"
)
needs_seen = pytest.mark.skipif(not on_disk("valid_seen"), reason="ALFWORLD_DATA does not hold valid_seen")


def store_as(root: Path, game_id: str, *, solvable: bool = True) -> None:
    """Write one of our own games under an id of alfworld's."""
    folder = root / tasks.DATA_FOLDER / game_id
    folder.mkdir(parents=True)
    data = {**generated.make(tasks.type_of(game_id), 1).data, "solvable": solvable, "walkthrough": []}
    (folder / tasks.GAME_FILE).write_text(json.dumps(data))


def test_deps_games_differ_from_the_papers_only_as_listed() -> None:
    assert [game["number"] for game in DEPS] == list(range(1, 11))
    other_task = [game["number"] for game in DEPS if game["ours"]["task"] != game["paper"]["task"]]
    other_room = {game["number"]: game["ours"]["receptacles"] - game["paper"]["receptacles"] for game in DEPS}
    assert other_task == [4]
    assert {number: more for number, more in other_room.items() if more} == {2: 1, 10: 1}


@needs_train
def test_deps_games_have_the_listed_tasks_and_receptacles() -> None:
    tasks = {task.id: task for task in Alfworld.select(Selection(split="deps"))}
    assert set(tasks) == {game["ours"]["id"] for game in DEPS}
    environment = Alfworld()
    for game in DEPS:
        task = tasks[game["ours"]["id"]]
        assert task.goal == paper_goal(game["ours"]["task"])
        assert task.split == task.id.partition("/")[0], "an id names a game, whatever it was chosen by"
        environment.reset(task)
        assert len(re.findall(r"[a-z]+_\d+", environment.scene())) == game["ours"]["receptacles"]


def test_types_and_limits_choose_among_the_named(data: Path) -> None:
    for game in DEPS:
        store_as(data, game["ours"]["id"])
    assert [task.type for task in Alfworld.select(Selection(split="deps", limit=6))] == list(TYPES)
    chosen = Alfworld.select(Selection(split="deps", types=("pick_and_place",)))
    assert [task.id for task in chosen] == [game["ours"]["id"] for game in DEPS[:3]]
    assert Alfworld.select(Selection(ids=(chosen[1].id,))) == [chosen[1]]
    assert not Alfworld.takes_seeds("deps")


def test_the_dev_set_is_the_first_ten_of_each_type(data: Path) -> None:
    for kind in ("look_at_obj", "pick_two_obj"):
        for number in range(10, 24):
            game_id = f"valid_seen/{GAME_TYPES[kind]}-X-None-Y-{number}/trial_T{number}"
            store_as(data, game_id, solvable=number != 12)
    tasks = Alfworld.select(Selection(split="adapt_dev"))
    assert len(tasks) == 20
    for kind in ("look_at_obj", "pick_two_obj"):
        numbers = [int(task.id.rpartition("_T")[2]) for task in tasks if task.type == kind]
        assert numbers == [10, 11, *range(13, 21)], "one is not solvable"


@needs_seen
def test_the_dev_set_of_the_installed_games_has_sixty() -> None:
    tasks = Alfworld.select(Selection(split="adapt_dev"))
    assert {kind: sum(task.type == kind for task in tasks) for kind in TYPES} == dict.fromkeys(TYPES, 10)
    assert tasks == Alfworld.select(Selection(split="valid_seen"))[:60]


@pytest.mark.parametrize("split", sorted(SELECTIONS))
def test_without_games_the_remedy_is_told(data: Path, split: str) -> None:
    with pytest.raises(MissingRequirement, match=r"alfworld-download.*ALFWORLD_DATA"):
        Alfworld.tasks(Selection(split=split))


def test_one_missing_game_is_named_with_the_remedy(data: Path) -> None:
    for game in DEPS[:-1]:
        store_as(data, game["ours"]["id"])
    with pytest.raises(MissingRequirement, match=rf"{DEPS[-1]['ours']['id']}.*alfworld-download"):
        Alfworld.tasks(Selection(split="deps"))


@pytest.mark.parametrize("split", sorted(SELECTIONS))
def test_a_named_selection_has_neither_seeds_nor_ids_of_its_own(data: Path, split: str) -> None:
    with pytest.raises(BadSelection, match="have none"):
        Alfworld.tasks(Selection(split=split, seeds=(1,)))
    with pytest.raises(
        BadSelection,
        match=r"SPLIT one of valid_seen, valid_unseen, train, generated; for example generated/pick_and_place/1$",
    ):
        Alfworld.tasks(Selection(ids=(f"{split}/pick_and_place_simple-X-None-Y-1/trial_T1",)))


def test_the_scene_is_the_room_without_the_task() -> None:
    (task,) = Alfworld.tasks(Selection(ids=("generated/pick_two_obj/1",)))
    environment = Alfworld()
    first = environment.reset(task).text
    assert first == f"{environment.scene()}\nYour task is to: {task.goal}."
    assert environment.scene().startswith("You are in the middle of a room.")
    environment.act(environment.actions["look"].bind())
    assert first.startswith(environment.scene()), "whatever happened since"
    assert environment.hands_on == "last action"
