"""The main job on what is there already: no key, no download."""

from pathlib import Path

from envs import load_world
from planbook import errors
from planbook.arguments import Asked
from planbook.commands import RUNS, play
from planbook.printing import console
from planbook.run import new_folder

ALFWORLD_TASKS = Asked(env="alfworld", split="generated:60", seeds="0-9")
MINIWOB_TASKS = Asked(
    env="miniwob",
    types="click-checkboxes,click-tab-2,email-inbox,enter-date,login-user-popup,search-engine,use-autocomplete",
    seeds="1-2",
)


def show(out: Path | None, *, jobs: int, as_json: bool) -> int:
    """Play procedures on generated ALFWorld scenes and, where Chromium is, on some MiniWoB++ pages."""
    screen = console(as_json)
    screen.print("Stored procedures, no language model, in the sandbox.\n")
    codes = []
    for asked in (ALFWORLD_TASKS, MINIWOB_TASKS):
        missing = [each for each in load_world(asked.env or "").requirements() if not each.found]
        if asked is MINIWOB_TASKS and missing:
            screen.print(f"MiniWoB++ is left out: {missing[0].name} is missing. {missing[0].remedy}")
            continue
        config = asked.config("procedures", {})
        folder = out / f"{asked.env}" if out else new_folder(RUNS, config)
        codes.append(play(config, folder, jobs=jobs, as_json=as_json))
        screen.print()
    return max(codes, default=errors.OK)
