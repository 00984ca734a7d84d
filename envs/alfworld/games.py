"""The games that ``alfworld-download`` puts on disk: where they are, and what each is about, read cheaply."""

import json
import mmap
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from planbook.envs.alfworld.engine import Game
from planbook.envs.alfworld.task_types import FOLDER_TYPES
from planbook.envs.errors import BadSelection, MissingRequirement, WorldBroken

DATA_FOLDER = "json_2.1.1"
DATA_SPLITS = ("valid_seen", "valid_unseen", "train")
GAME_FILE = "game.tw-pddl"
REMEDY = (
    "run `alfworld-download` (part of the alfworld package), or point ALFWORLD_DATA at a folder that holds "
    f"{DATA_FOLDER}/"
)
_UNSUPPORTED = ("movable", "Sliced")
"""Parts of folder names whose games alfworld itself leaves out."""
_TASK = re.compile(rb"Your task is to: ([^\"\\]*)")
_SOLVABLE = re.compile(rb'"solvable"\s*:\s*true')


def data_root() -> Path:
    """Where alfworld keeps its data: ALFWORLD_DATA, else its cache in the home directory."""
    return Path(os.environ.get("ALFWORLD_DATA") or Path.home() / ".cache" / "alfworld").expanduser()


def split_folder(split: str) -> Path:
    """The folder of a split's games; raises MissingRequirement if there is none."""
    folder = data_root() / DATA_FOLDER / split
    if not folder.is_dir():
        raise MissingRequirement(
            f"alfworld: the games of the split {split!r} are not here ({folder} is no folder). Play games that are "
            f"made from seeds instead, --split generated; or {REMEDY}"
        )
    return folder


def list_games(split: str) -> dict[str, list[str]]:
    """Task type to the sorted ids of a split's games. An id is the game's folder below the data, split first."""
    ids: dict[str, list[str]] = {ours: [] for ours in FOLDER_TYPES.values()}
    folder = split_folder(split)
    for task in sorted(os.listdir(folder)):
        kind = FOLDER_TYPES.get(task.split("-", 1)[0])
        if kind is None or any(part in task for part in _UNSUPPORTED):
            continue
        for trial in sorted(os.listdir(folder / task)):
            if (folder / task / trial / GAME_FILE).is_file():
                ids[kind].append(f"{split}/{task}/{trial}")
    if not any(ids.values()):
        raise MissingRequirement(f"alfworld: no {GAME_FILE} below {folder}; {REMEDY}")
    return ids


def game_path(game_id: str) -> Path:
    """The file of a game; raises BadSelection for an id that has none."""
    split, _, rest = game_id.partition("/")
    path = split_folder(split) / rest / GAME_FILE
    if ".." in rest.split("/") or not path.is_file():
        raise BadSelection(f"alfworld: there is no game {game_id!r}: {path} does not exist")
    return path


def type_of(game_id: str) -> str:
    """The task type that a game's folder names; raises BadSelection for one that alfworld leaves out."""
    name = game_id.split("/")[1]
    kind = FOLDER_TYPES.get(name.split("-", 1)[0])
    if kind is None or any(part in name for part in _UNSUPPORTED):
        raise BadSelection(f"alfworld: {game_id!r} is not one of the task types {', '.join(FOLDER_TYPES.values())}")
    return kind


def peek(game_id: str) -> tuple[str, bool]:
    """A game's goal sentence and whether it is marked solvable, from the few pages of the file that say so."""
    path = game_path(game_id)
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            task = _TASK.search(text)
            goal = task.group(1).decode().strip().removesuffix(".") if task else None
            mark = text.rfind(b'"solvable"')
            solvable = mark < 0 or _SOLVABLE.match(text, mark) is not None
    except (OSError, ValueError) as error:
        raise WorldBroken(f"alfworld: {path} cannot be read: {error}") from error
    if goal is None:
        raise WorldBroken(f"alfworld: {path} states no task; the file is damaged: download it again")
    return goal, solvable


def read_game(game_id: str) -> Game:
    """A whole game."""
    path = game_path(game_id)
    try:
        return Game(game_id, json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise WorldBroken(f"alfworld: {path} cannot be read: {error}") from error


def found_splits() -> Iterator[tuple[str, str | None]]:
    """Each split on disk, with its folder if it is there."""
    for split in DATA_SPLITS:
        folder = data_root() / DATA_FOLDER / split
        yield split, str(folder) if folder.is_dir() else None


@lru_cache(maxsize=8)
def _first_game(folder: str) -> Path | None:
    return next(Path(folder).glob(f"*/*/{GAME_FILE}"), None)


def sample_game() -> Game | None:
    """Any game on disk, to find out how the installed data words things; None without data."""
    for split, folder in found_splits():
        if folder and (path := _first_game(folder)):
            return read_game(f"{split}/{path.parent.parent.name}/{path.parent.name}")
    return None
