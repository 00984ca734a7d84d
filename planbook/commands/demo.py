"""The command `demo`, which calls other commands, and prints each of them so that it can be copied."""

import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from planbook import errors
from planbook.console import console
from planbook.envs import load_environment
from planbook.runs import RUNS

PROCEDURES_TITLE = "1. Stored procedures run in the sandbox, without a language model."
HOUSEHOLD_RUN = "run --env alfworld --split generated:60 --seeds 0-9 --out {out}/alfworld"
WEB_RUN = (
    "run --env miniwob --seeds 1-2 --out {out}/miniwob --types "
    "click-checkboxes,click-tab-2,email-inbox,enter-date,login-user-popup,search-engine,use-autocomplete"
)
PLANNERS_TITLE = (
    "2. ADaPT breaks down a household task, DEPS plans in Minecraft, AgentKit shops, Devil's Advocate looks ahead; the "
    "model's replies are recorded, most of them before their prompts were reworded."
)
PLANNER_RUNS = (
    "run --env alfworld --split generated --task generated/pick_clean_then_place/0 --planner adapt "
    "--planner-option iterations=4 --planner-option actions_per_reply=1 --model recorded:adapt-alfworld-stepwise "
    "--out {out}/adapt",
    "run --env minecraft --split table21:8 --planner deps --model recorded:deps-minecraft --out {out}/deps",
    "run --env shopping --split test:1 --planner agentkit --model recorded:agentkit-shopping --out {out}/agentkit",
    "run --env alfworld --split generated:1 --seeds 9 --planner devils-advocate "
    "--model recorded:devils-advocate-alfworld --out {out}/devils-advocate",
)
"""These commands, and the first of ``LEARNING_COMMANDS``, have the options with which tools/record.sh recorded the
shipped replies. With other options, the prompts would differ, and no recorded reply would fit."""
LEARNING_TITLE = "3. Learning a manual from six tasks, one of each type. The model's replies come from a recording."
LEARNING_COMMANDS = (
    "build --env alfworld --split generated --start put --tasks-per-type 1 --verify generated:10 "
    "--model recorded:alfworld-generated --out {out}/build",
    "formulate {out}/build",
    "test --env alfworld --split generated:60 --seeds 1000-1009 --library {out}/build --out {out}/test",
    "report {out}/build",
)
NEXT_STEPS = """Next:
  planbook show {out}/test 0                the first of these episodes, step by step
  planbook exec {plan} --env alfworld --split generated:1 --types {kind}
  planbook run --env minecraft --planner deps --model openai:NAME     with your own model and its OPENAI_API_KEY
  planbook run --env FILE.py:Class --planner react --model openai:NAME    in your own environment: see README"""


@click.command()
@click.option("--out", default=None, type=click.Path(path_type=Path, file_okay=False), help="The folder of all runs.")
def demo(out: Path | None) -> int:
    """Show the main features; this needs no key and no download."""
    screen = console()
    out = out or RUNS / f"{datetime.now():%Y%m%d-%H%M%S}-demo"
    missing = [requirement for requirement in load_environment("miniwob").requirements() if not requirement.found]
    web_run = () if missing else (WEB_RUN,)
    codes = [_call(PROCEDURES_TITLE, (HOUSEHOLD_RUN, *web_run), out)]
    if missing:
        screen.print(f"MiniWoB++ is left out: {missing[0].name} is missing. To add it: {missing[0].remedy}\n")
    codes += [_call(PLANNERS_TITLE, PLANNER_RUNS, out), _call(LEARNING_TITLE, LEARNING_COMMANDS, out)]
    if plan := min((out / "build" / "learned").rglob("procedures/*.py"), default=None):
        screen.print(NEXT_STEPS.format(out=out, plan=plan, kind=plan.stem))
    return max(codes)


def _call(title: str, commands: Sequence[str], out: Path) -> int:
    """Call commands of planbook, and print each of them. Return their highest exit code.

    Raises Exit if a command was interrupted.
    """
    screen, codes, planbook = console(), [errors.OK], click.get_current_context().find_root().command
    screen.print(f"{title}\n", soft_wrap=False)
    for command in commands:
        words = [word.format(out=out) for word in command.split()]
        screen.print(f"$ planbook {shlex.join(words)}")
        codes.append(planbook.main(words, standalone_mode=False))
        if codes[-1] == errors.INTERRUPTED:
            raise click.exceptions.Exit(errors.INTERRUPTED)
        screen.print()
    return max(codes)
