"""The tasks of ALFWorld: downloaded games, generated games, and the selections of games that papers use.

The goal of a game is a sentence. The task's params are read from this sentence.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from pydantic import JsonValue

from planbook.envs.alfworld import generated
from planbook.envs.alfworld.engines import AlfworldGame
from planbook.envs.alfworld.generated import GAME_TYPES, TYPES
from planbook.envs.errors import BadSelection, EnvironmentBroken, MissingRequirement
from planbook.envs.requirements import files_digest
from planbook.envs.selection import chosen_split, chosen_types, interleave
from planbook.envs.types import Requirement, Selection, Task

FOLDER_TYPES = {alfworld_type: our_type for our_type, alfworld_type in GAME_TYPES.items()}
"""Maps alfworld's name for a task type to our name. The names of the games' folders start with alfworld's name."""
DATA_FOLDER = "json_2.1.1"
DATA_SPLITS = ("valid_seen", "valid_unseen", "train")
GAME_FILE = "game.tw-pddl"
REMEDY = (
    "run `alfworld-download` (part of the alfworld package), or point ALFWORLD_DATA at a folder that holds "
    f"{DATA_FOLDER}/"
)
_TASK = re.compile(rb"Your task is to: ([^\"\\]*)")
_SOLVABLE = re.compile(rb'"solvable"\s*:\s*true')
_UNSUPPORTED = ("movable", "Sliced")
"""Words in names of folders. alfworld does not play games whose folders have one of these words in their names."""


def data_root() -> Path:
    """Return alfworld's data folder: the path in the variable ALFWORLD_DATA, or a folder in the user's cache."""
    return Path(os.environ.get("ALFWORLD_DATA") or Path.home() / ".cache" / "alfworld").expanduser()


def split_folder(split: str) -> Path:
    """Return the folder with the games of a split. Raises MissingRequirement if it does not exist."""
    folder = data_root() / DATA_FOLDER / split
    if not folder.is_dir():
        raise MissingRequirement(
            f"alfworld: the games of the split {split!r} are not installed ({folder} does not exist). Play "
            f"generated games instead (--split generated), or {REMEDY}"
        )
    return folder


def list_games(split: str) -> dict[str, list[str]]:
    """Return a dict that maps each task type to the sorted ids of its games in a split.

    An id is the path of the game's folder: SPLIT/TASK/TRIAL. Raises MissingRequirement if there are no games.
    """
    ids: dict[str, list[str]] = {kind: [] for kind in FOLDER_TYPES.values()}
    folder = split_folder(split)
    for task in sorted(os.listdir(folder)):
        kind = _type_of_folder(task)
        for trial in sorted(os.listdir(folder / task)) if kind else ():
            if (folder / task / trial / GAME_FILE).is_file():
                ids[kind].append(f"{split}/{task}/{trial}")
    if not any(ids.values()):
        raise MissingRequirement(f"alfworld: no {GAME_FILE} below {folder}; {REMEDY}")
    return ids


def game_path(game_id: str) -> Path:
    """Return the path of a game's file. Raises BadSelection if there is no game with this id."""
    split, _, rest = game_id.partition("/")
    path = split_folder(split) / rest / GAME_FILE
    if ".." in rest.split("/") or not path.is_file():
        raise BadSelection(f"alfworld: there is no game {game_id!r}: {path} does not exist")
    return path


def _type_of_folder(name: str) -> str:
    """Return the task type in the name of a folder, or "" if alfworld does not play the games in this folder."""
    return "" if any(part in name for part in _UNSUPPORTED) else FOLDER_TYPES.get(name.split("-", 1)[0], "")


def type_of(game_id: str) -> str:
    """Return the task type in the id of a game. Raises BadSelection if alfworld does not play games of this kind."""
    kind = _type_of_folder(game_id.split("/")[1])
    if not kind:
        raise BadSelection(f"alfworld: {game_id!r} has none of the task types {', '.join(FOLDER_TYPES.values())}")
    return kind


def read_game(game_id: str) -> AlfworldGame:
    """Read a game from its file. Raises EnvironmentBroken if the file cannot be read."""
    path = game_path(game_id)
    try:
        return AlfworldGame(game_id, dict(json.loads(path.read_bytes())))
    except (OSError, TypeError, ValueError) as error:
        fault = f"alfworld: {path} cannot be read: {error}"
        raise EnvironmentBroken(f"{fault}; if the file is damaged, download it again") from error


def scan_game(game_id: str) -> tuple[str, bool]:
    """Return a game's goal sentence, and whether the game can be solved: True unless its file says otherwise.

    The file is only searched for these two values, since parsing thousands of games takes seconds. If the file is
    damaged, the goal may be "". The game is listed nevertheless, so that only its own episode fails and the other games
    are played.
    """
    path, text = game_path(game_id), b""
    with suppress(OSError):
        text = path.read_bytes()
    task, position = _TASK.search(text), text.rfind(b'"solvable"')
    goal = task[1].decode(errors="replace").strip().removesuffix(".") if task else ""
    return goal, position < 0 or _SOLVABLE.match(text, position) is not None


def requirements() -> Iterator[Requirement]:
    """Yield a requirement for each split whose games can be downloaded."""
    for split in DATA_SPLITS:
        folder = data_root() / DATA_FOLDER / split
        yield Requirement(f"alfworld {split}", str(folder) if folder.is_dir() else None, REMEDY)


DEPS_GAMES_FILE = Path(__file__).with_name("deps_games.json")
"""The file that lists the ten games of the split ``deps``.

They replace the games in table 5 of the DEPS paper, which does not identify its games.
"""
DEV_SPLIT, DEV_GAMES_PER_TYPE = "valid_seen", 10
"""For the split ``adapt_dev``: the split of its games, and the number of games of each type.

The ADaPT paper describes its development set, but does not identify the games. These are the first solvable games of
each type, sorted by id.
"""


def _deps() -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {kind: [] for kind in TYPES}
    for game in json.loads(DEPS_GAMES_FILE.read_text())["games"]:
        game_id = game["ours"]["id"]
        split, _, rest = game_id.partition("/")
        if not (split_folder(split) / rest / GAME_FILE).is_file():
            raise MissingRequirement(f"alfworld: the split 'deps' needs the game {game_id!r}; {REMEDY}")
        ids[type_of(game_id)].append(game_id)
    return ids


def _adapt_dev() -> dict[str, list[str]]:
    games = list_games(DEV_SPLIT).items()
    return {kind: list(islice((game for game in ids if scan_game(game)[1]), DEV_GAMES_PER_TYPE)) for kind, ids in games}


PAPER_SPLITS: Mapping[str, Callable[[], dict[str, list[str]]]] = {"deps": _deps, "adapt_dev": _adapt_dev}
"""Maps the name of a split to a function that returns its games.

The function's result maps each task type to the ids of its games. It raises MissingRequirement if games are missing.
"""


def select(selection: Selection, splits: Sequence[str]) -> list[Task]:
    """Return the selected tasks, taken from each type in turn.

    As in alfworld, unsolvable games are left out, unless they are selected by id.
    """
    if selection.ids:
        return [_by_id(task_id) for task_id in selection.ids]
    split = chosen_split(selection, splits, "alfworld")
    types = chosen_types(selection, TYPES, "alfworld")
    if selection.seeds and split != generated.SPLIT:
        raise BadSelection(
            f"alfworld: only generated games are made from seeds; to limit the games of {split!r}, use --split SPLIT:N"
        )
    tasks = _generated_tasks(types, selection) if split == generated.SPLIT else _downloaded_tasks(split, types)
    return list(islice(tasks, selection.limit))


def checksums(tasks: Sequence[Task]) -> dict[str, str]:
    """Return the digests of the game files that these tasks use, and of the files from which games are generated."""
    downloaded = [task.id for task in tasks if task.split != generated.SPLIT]
    digests = {"games": files_digest(map(game_path, downloaded))} if downloaded else {}
    if len(downloaded) < len(tasks):
        digests["what games are generated from"] = files_digest(generated.package_files())
    return digests


def _downloaded_tasks(split: str, types: Sequence[str]) -> Iterator[Task]:
    games = PAPER_SPLITS[split]() if split in PAPER_SPLITS else list_games(split)
    for game_id in interleave(games[kind] for kind in types):
        goal, solvable = scan_game(game_id)
        if solvable:
            yield _task(game_id, game_id.partition("/")[0], type_of(game_id), goal)


def _generated_tasks(types: Sequence[str], selection: Selection) -> Iterator[Task]:
    seeds = selection.seeds or range(selection.limit or generated.DEFAULT_COUNT)
    return (_generated_task(kind, seed) for seed in seeds for kind in types)


def _by_id(task_id: str) -> Task:
    split, _, rest = task_id.partition("/")
    folder_or_type, _, trial_or_seed = rest.partition("/")
    if split == generated.SPLIT and folder_or_type in TYPES and trial_or_seed.isdecimal():
        return _generated_task(folder_or_type, int(trial_or_seed))
    if split not in DATA_SPLITS or not trial_or_seed:
        raise BadSelection(
            f"alfworld has no task {task_id!r}; ids have the form generated/TYPE/SEED or SPLIT/TASK/TRIAL, "
            f"for example {generated.game_id(TYPES[0], 1)}"
        )
    return _task(task_id, split, type_of(task_id), scan_game(task_id)[0])


def _generated_task(kind: str, seed: int) -> Task:
    return _task(generated.game_id(kind, seed), generated.SPLIT, kind, generated.make_game(kind, seed).goal, seed)


def _task(task_id: str, split: str, kind: str, goal: str, seed: int = 0) -> Task:
    goal = paper_goal(goal)
    return Task(id=task_id, env="alfworld", split=split, type=kind, goal=goal, params=params_of(goal), seed=seed)


_OBJECT, _TARGET = r"(?P<object>\w+)", r"(?:in|on) (?P<target>\w+)"
_GOAL_PATTERNS = tuple(
    re.compile(form)
    for form in (
        rf"put two {_OBJECT} {_TARGET}",
        rf"find two {_OBJECT} and put them {_TARGET}",
        rf"put a (?:clean|cleaned|hot|cool) {_OBJECT} {_TARGET}",
        rf"(?:clean|heat|cool) some {_OBJECT} and put it {_TARGET}",
        rf"look at {_OBJECT} under the (?P<lamp>\w+)",
        rf"examine the {_OBJECT} with the (?P<lamp>\w+)",
        rf"put (?:a|some) {_OBJECT} {_TARGET}",
    )
)


def params_of(goal: str) -> dict[str, JsonValue]:
    """Return the params in a goal sentence.

    All types have ``object``. The type look_at_obj has ``lamp``; the other types have ``target``, a kind of receptacle.
    The type pick_two_obj also has ``count``, which is 2. If the form of the sentence is unknown, as in hand-written
    games, the result is empty.
    """
    for form in _GOAL_PATTERNS:
        if match := form.fullmatch(goal):
            params: dict[str, JsonValue] = dict(match.groupdict())
            return params | {"count": 2} if " two " in goal else params
    return {}


def paper_goal(goal: str) -> str:
    """Return the goal sentence of a game in the words of the AutoManual paper."""
    return goal.replace("put a clean ", "put a cleaned ")
