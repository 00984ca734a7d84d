"""`planbook check-env`: what is wrong with an environment, a line for each mistake."""

import click

from planbook import errors
from planbook.console import console
from planbook.envs import Checked, UnknownEnvironment, check_environment
from planbook.options import JSON, options
from planbook.settings import Settings
from planbook.terminal.printing import answer
from planbook.wording import counted


@click.command(name="check-env")
@click.argument("env", metavar="FILE.py[:Class]")
@options("env_options")
@JSON
def check_env(env: str, settings: Settings, as_json: bool) -> int:
    """Check an environment of yours: play random actions on a few tasks of each split, and list every mistake."""
    settings = settings.model_copy(update={"env": env})
    try:
        found = check_environment(settings.world(), settings.world_options())
    except UnknownEnvironment as error:
        found = Checked((str(error),), {}, 0, 0)
    return _answer(env, found, as_json=as_json)


def _answer(env: str, found: Checked, *, as_json: bool) -> int:
    out, mistakes = console(as_json), found.mistakes
    lines = [*mistakes, *(f"not checked: split {split}: {why}" for split, why in found.unchecked.items())]
    told = counted(len(mistakes), "mistake") if mistakes else "no mistakes"
    tried = f"{counted(found.actions, 'action')} on {counted(found.tasks, 'task')}"
    for line in (*lines, f"{env}: {told}; tried: {tried}"):
        out.print(line, markup=False, soft_wrap=True)
    return answer(errors.BAD_INPUT if mistakes else errors.OK, {"env": env, **found._asdict()}, as_json=as_json)
