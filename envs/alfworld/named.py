"""Selections of games that papers played, each chosen like a split, by its name."""

import json
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

from planbook.envs.alfworld import games
from planbook.envs.alfworld.task_types import TYPES
from planbook.envs.errors import MissingRequirement

DEPS_GAMES = Path(__file__).with_name("deps_games.json")
"""The ten games that stand in for table 5 of the DEPS paper, with what the paper says of each."""
DEV_SPLIT, DEV_GAMES = "valid_seen", 10
"""ADaPT's dev set: so many games of each type (here the first by id) from this split."""


def _deps() -> dict[str, list[str]]:
    listed: dict[str, list[str]] = {kind: [] for kind in TYPES}
    for game in json.loads(DEPS_GAMES.read_text())["games"]:
        game_id = game["ours"]["id"]
        split, _, rest = game_id.partition("/")
        if not (games.split_folder(split) / rest / games.GAME_FILE).is_file():
            raise MissingRequirement(f"alfworld: the split 'deps' needs the game {game_id!r}; {games.REMEDY}")
        listed[games.type_of(game_id)].append(game_id)
    return listed


def _adapt_dev() -> dict[str, list[str]]:
    listed = games.list_games(DEV_SPLIT)
    return {kind: list(islice(filter(_solvable, ids), DEV_GAMES)) for kind, ids in listed.items()}


def _solvable(game_id: str) -> bool:
    return games.peek(game_id)[1]


NAMED: Mapping[str, Callable[[], dict[str, list[str]]]] = {"deps": _deps, "adapt_dev": _adapt_dev}
"""Name to what lists a selection's ids by task type. Raises MissingRequirement where a game is not installed."""
