"""The main job on what is there already: no key, no download."""

from pathlib import Path

from planbook import errors
from planbook.arguments import Asked
from planbook.commands import RUNS, play
from planbook.lanes import Hosting
from planbook.printing import console
from planbook.run import new_folder
from planbook.summary import Summary

ALFWORLD_TASKS = Asked(env="alfworld", split="generated:60", seeds="0-9")
MINIWOB_TASKS = Asked(
    env="miniwob",
    types="click-checkboxes,click-tab-2,email-inbox,enter-date,login-user-popup,search-engine,use-autocomplete",
    seeds="1-2",
)


def show(out: Path | None, hosting: Hosting, *, as_json: bool) -> tuple[int, list[Summary]]:
    """Play procedures on generated ALFWorld scenes and, where Chromium is, on some MiniWoB++ pages."""
    screen = console(as_json)
    screen.print("Stored procedures, no language model, in the sandbox.\n")
    summaries: list[Summary] = []
    worst = errors.OK
    for asked in (ALFWORLD_TASKS, MINIWOB_TASKS):
        missing = [each for each in asked.world().requirements() if not each.found]
        if asked is MINIWOB_TASKS and missing:
            screen.print(f"MiniWoB++ is left out: there is no {missing[0].name}. To add it: {missing[0].remedy}")
            continue
        config = asked.config("procedures")
        folder = out / str(asked.env) if out else new_folder(RUNS, config)
        code, summary = play(config, folder, hosting, as_json=as_json)
        summaries.append(summary)
        worst = max(worst, code)
        if code == errors.INTERRUPTED:
            break
        screen.print()
    return worst, summaries
