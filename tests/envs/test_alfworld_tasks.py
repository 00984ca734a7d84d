"""ALFWorld tasks: games on disk, generated games, and the selections of papers."""

import json
import os
import re
import time
from pathlib import Path

import pytest

from planbook.envs.alfworld import Alfworld, generated, tasks
from planbook.envs.alfworld.generated import GAME_TYPES, TYPES
from planbook.envs.alfworld.tasks import DEPS_GAMES_FILE, PAPER_SPLITS, paper_goal
from planbook.envs.errors import BadSelection, EnvironmentBroken, MissingRequirement
from planbook.envs.types import Selection
from tests.envs.alfworld_games import loaded, winning_commands


def write_game(root: Path, game_id: str, *, solvable: bool = True) -> None:
    """Write a generated game where alfworld would keep the game with this id."""
    folder = root / tasks.DATA_FOLDER / game_id
    folder.mkdir(parents=True)
    data = {**generated.make_game(tasks.type_of(game_id), 1).data, "solvable": solvable, "walkthrough": []}
    (folder / tasks.GAME_FILE).write_text(json.dumps(data))


def game_id_of(split: str, task_type: str, number: int) -> str:
    """Return the id of a game as alfworld names it."""
    return f"{split}/{GAME_TYPES[task_type]}-X-None-Y-{number}/trial_T{number}"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    return tmp_path


def test_games_on_disk_are_listed_in_turn_from_each_type(data: Path) -> None:
    for task_type in ("look_at_obj", "pick_two_obj"):
        for number in (1, 2, 3):
            write_game(data, game_id_of("valid_seen", task_type, number))
    tasks = Alfworld.tasks(Selection())
    assert [task.type for task in tasks] == ["look_at_obj", "pick_two_obj"] * 3
    assert Alfworld.tasks(Selection(limit=3)) == tasks[:3]
    assert Alfworld.tasks(Selection(types=("pick_two_obj",))) == tasks[1::2]
    assert all(str(task.params["object"]) in task.goal for task in tasks)


def test_an_id_names_the_same_game_on_every_machine(data: Path) -> None:
    task_id = game_id_of("train", "pick_heat_then_place", 4)
    write_game(data, task_id)
    (task,) = Alfworld.tasks(Selection(ids=(task_id,), split="valid_seen", limit=1))
    assert (task.id, task.split, task.type) == (task_id, "train", "pick_heat_then_place")
    assert str(data) not in task.model_dump_json()
    assert task.goal in Alfworld().reset(task).text


def test_unsolvable_games_and_those_with_sliced_things_are_left_out(data: Path) -> None:
    kept, unsolvable, sliced = (game_id_of("train", "pick_and_place", number) for number in (1, 2, 3))
    write_game(data, kept)
    write_game(data, unsolvable, solvable=False)
    write_game(data, sliced)
    folder = (data / tasks.DATA_FOLDER / sliced).parent
    folder.rename(folder.with_name(folder.name.replace("-X-", "-XSliced-")))
    assert [task.id for task in Alfworld.tasks(Selection(split="train"))] == [kept]


@pytest.mark.parametrize("split", ["valid_unseen", *PAPER_SPLITS])
def test_missing_games_are_reported_with_the_remedy(data: Path, split: str) -> None:
    with pytest.raises(MissingRequirement, match=r"alfworld-download.*ALFWORLD_DATA") as missing:
        Alfworld.tasks(Selection(split=split))
    assert split == "deps" or "--split generated" in str(missing.value)


def test_an_empty_split_counts_as_missing(data: Path) -> None:
    (data / tasks.DATA_FOLDER / "train").mkdir(parents=True)
    with pytest.raises(MissingRequirement, match=r"no game\.tw-pddl"):
        Alfworld.tasks(Selection(split="train"))


@pytest.mark.parametrize(
    ("selection", "message"),
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
def test_a_bad_selection_is_answered_with_what_exists(data: Path, selection: Selection, message: str) -> None:
    (data / tasks.DATA_FOLDER / "train").mkdir(parents=True)
    with pytest.raises(BadSelection, match=message):
        Alfworld.tasks(selection)


def game_on_disk(data: Path) -> Path:
    game_id = game_id_of("train", "look_at_obj", 1)
    write_game(data, game_id)
    return data / tasks.DATA_FOLDER / game_id / tasks.GAME_FILE


@pytest.mark.parametrize("content", ["", '{"grammar": "Your task is', "[1]", "null", "{}"])
def test_a_damaged_game_breaks_only_its_own_episode(data: Path, content: str) -> None:
    game_on_disk(data).write_text(content)
    write_game(data, game_id_of("train", "pick_two_obj", 1))
    damaged, intact = Alfworld.select(Selection(split="train"))
    assert damaged == Alfworld.select(Selection(ids=(damaged.id,)))[0]
    with pytest.raises(EnvironmentBroken, match=r"look_at_obj.*(download it again|the file is damaged)$"):
        Alfworld().reset(damaged)
    assert intact.goal in Alfworld().reset(intact).text


def test_a_game_with_a_damaged_problem_breaks_the_environment(data: Path) -> None:
    path = game_on_disk(data)
    content = json.loads(path.read_text())
    (task,) = Alfworld.tasks(Selection(split="train"))
    for problem in ("(define (problem p))", "(:init (a b)) (:goal (and))"):
        path.write_text(json.dumps({**content, "pddl_problem": problem}))
        with pytest.raises(EnvironmentBroken, match="damaged"):
            Alfworld().reset(task)
    path.write_text(json.dumps({"grammar": content["grammar"]}))
    with pytest.raises(EnvironmentBroken, match="damaged"):
        Alfworld().reset(task)


def test_requirements_name_what_exists_and_how_to_get_the_rest(data: Path) -> None:
    game_on_disk(data)
    found = {requirement.name: requirement for requirement in Alfworld.requirements()}
    assert found["alfworld train"].found == str(data / tasks.DATA_FOLDER / "train")
    assert found["alfworld valid_unseen"].found is None
    assert "alfworld-download" in found["alfworld valid_unseen"].remedy
    assert found["alfworld generated"].found, "games are generated from the installed alfworld package"


def test_generated_games_need_no_data(data: Path) -> None:
    tasks = Alfworld.tasks(Selection(split="generated", types=("look_at_obj", "pick_two_obj"), seeds=(3, 5)))
    assert [task.id for task in tasks] == [
        f"generated/{task_type}/{seed}" for seed in (3, 5) for task_type in ("look_at_obj", "pick_two_obj")
    ]
    assert [task.seed for task in tasks] == [3, 3, 5, 5]
    assert Alfworld.tasks(Selection(ids=(tasks[2].id,))) == [tasks[2]]
    assert len(Alfworld.tasks(Selection(split="generated", limit=8))) == 8
    assert [task.type for task in Alfworld.tasks(Selection(split="generated", limit=6))] == list(TYPES)


DEPS = json.loads(DEPS_GAMES_FILE.read_text())["games"]


def on_disk(split: str) -> bool:
    return bool(os.environ.get("ALFWORLD_DATA")) and (tasks.data_root() / tasks.DATA_FOLDER / split).is_dir()


needs_train = pytest.mark.skipif(
    not (on_disk("train") and on_disk("valid_seen")), reason="ALFWORLD_DATA does not hold train and valid_seen"
)


@needs_train
def test_deps_games_have_the_listed_tasks_and_receptacles() -> None:
    tasks = {task.id: task for task in Alfworld.select(Selection(split="deps"))}
    assert set(tasks) == {game["ours"]["id"] for game in DEPS}
    environment = Alfworld()
    for game in DEPS:
        task = tasks[game["ours"]["id"]]
        assert task.goal == paper_goal(game["ours"]["task"])
        assert task.split == task.id.partition("/")[0], "the split is the one in the id"
        environment.reset(task)
        assert len(re.findall(r"[a-z]+_\d+", environment.scene())) == game["ours"]["receptacles"]


def test_types_and_limits_choose_among_the_deps_games(data: Path) -> None:
    for game in DEPS:
        write_game(data, game["ours"]["id"])
    assert [task.type for task in Alfworld.select(Selection(split="deps", limit=6))] == list(TYPES)
    chosen = Alfworld.select(Selection(split="deps", types=("pick_and_place",)))
    assert [task.id for task in chosen] == [game["ours"]["id"] for game in DEPS[:3]]
    assert Alfworld.select(Selection(ids=(chosen[1].id,))) == [chosen[1]]
    assert not Alfworld.takes_seeds("deps")


def test_the_dev_set_is_the_first_ten_solvable_games_of_each_type(data: Path) -> None:
    for task_type in ("look_at_obj", "pick_two_obj"):
        for number in range(10, 24):
            write_game(data, game_id_of("valid_seen", task_type, number), solvable=number != 12)
    tasks = Alfworld.select(Selection(split="adapt_dev"))
    assert len(tasks) == 20
    for task_type in ("look_at_obj", "pick_two_obj"):
        numbers = [int(task.id.rpartition("_T")[2]) for task in tasks if task.type == task_type]
        assert numbers == [10, 11, *range(13, 21)]


def test_a_single_missing_game_is_named_with_the_remedy(data: Path) -> None:
    for game in DEPS[:-1]:
        write_game(data, game["ours"]["id"])
    with pytest.raises(MissingRequirement, match=rf"{DEPS[-1]['ours']['id']}.*alfworld-download"):
        Alfworld.tasks(Selection(split="deps"))


@pytest.mark.parametrize("split", sorted(PAPER_SPLITS))
def test_a_named_selection_takes_neither_seeds_nor_ids(data: Path, split: str) -> None:
    with pytest.raises(BadSelection, match="only generated games are made from seeds"):
        Alfworld.tasks(Selection(split=split, seeds=(1,)))
    with pytest.raises(BadSelection, match=r"has no task .* for example generated/pick_and_place/1$"):
        Alfworld.tasks(Selection(ids=(f"{split}/pick_and_place_simple-X-None-Y-1/trial_T1",)))


@pytest.mark.parametrize("task_type", TYPES)
def test_a_search_with_full_knowledge_wins_every_game_with_its_last_command(task_type: str) -> None:
    goals = set()
    for seed in range(25):
        engine, plan = loaded(task_type, seed), winning_commands(task_type, seed)
        won = [engine.step(command).won for command in plan]
        assert won == [False] * (len(plan) - 1) + [True]
        goals.add(generated.make_game(task_type, seed).goal)
    assert len(goals) > 12


def test_thirty_games_are_made_within_three_seconds() -> None:
    start = time.process_time()
    for seed in range(1000, 1005):
        for task_type in TYPES:
            generated.make_game(task_type, seed)
    assert time.process_time() - start < 3.0
