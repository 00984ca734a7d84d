"""The options that commands share, in groups."""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from planbook.errors import BadArgument
from planbook.workers import Executor

FLAGS = {"ids": "--task", "sources": "--from", "limits": "--limit", "options": "--option", "models": "--model"}

Command = TypeVar("Command", bound=Callable[..., Any])


def _with_resume(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """The value, if there is a run to go on with. Raises BadArgument."""
    if value is not None and context.params.get("resume") is None:
        raise BadArgument(f"--again {value} plays episodes of a run once more: name the run with --resume")
    return value


RUN_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
PRICES = click.option(
    "--prices", default=None, type=click.Path(path_type=Path, dir_okay=False), help="A price table of your own."
)
WORLD = (
    click.option("--env", default=None, help="The world: a name that `planbook envs` lists, or FILE.py:Class."),
    click.option("-o", "--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the world."),
    click.option("--paper-actions", is_flag=True, help="Only the actions of the papers: -o paper_actions=true."),
)
TASKS = (
    click.option("--split", default=None, metavar="SPLIT[:N]", help="The split, and how many of its tasks."),
    click.option("--types", default="", show_default=False, metavar="T,...", help="Task types."),
    click.option(
        "--seeds", default="", show_default=False, metavar="A-B", help="Seeds: A, A-B, or several with commas."
    ),
    click.option("--task", "ids", multiple=True, metavar="ID", help="One task by its id; may be given again."),
    click.option("--repeats", default=1, type=click.IntRange(min=1), help="Play every task this many times."),
)
TERMS = (
    click.option("--actions", default=None, type=click.IntRange(min=0), help="Actions an episode may take."),
    click.option(
        "--limit", "limits", multiple=True, metavar="NAME=VALUE", help="A limit of one plan: wall_seconds=20."
    ),
    click.option("--seed", default=0, help="Seed of the plans' random numbers."),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Refuse a plan before its first action if it has actions that cannot succeed, where that is known.",
    ),
)
RUN = (
    click.option("--jobs", default=1, type=click.IntRange(min=1), help="Episodes side by side."),
    click.option(
        "--executor",
        default="threads",
        type=click.Choice(get_args(Executor)),
        help="Where: threads here, worker processes, or a Ray cluster (RAY_ADDRESS).",
    ),
    click.option(
        "--unsafe-no-sandbox",
        is_flag=True,
        help="Run plans though the kernel cannot confine them: they have your rights.",
    ),
    click.option(
        "--out", default=None, type=click.Path(path_type=Path), help="The run's folder; a second time, go on."
    ),
    click.option(
        "--store", default=None, metavar="URL", help="Keep the events in PostgreSQL: postgresql://USER@HOST/DATABASE."
    ),
)
JOINING = (RUN[0], RUN[2], PRICES)
RESUMING = (
    click.option(
        "--resume",
        default=None,
        is_eager=True,
        type=RUN_FOLDER,
        help="Go on with the run in this folder.",
    ),
    click.option(
        "--allow-changed",
        is_flag=True,
        help="Go on though data, prompts or knowledge have changed since it was begun.",
    ),
)
AGAIN = (
    click.option(
        "--again",
        default=None,
        type=click.Choice(["broken"]),
        callback=_with_resume,
        help="With --resume: play the episodes that ended BROKEN once more.",
    ),
)
ASKING = (
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="[ROLE=]MODEL",
        help="Who answers: openai:NAME, recorded:FILE, exchange:DIR, scripted:FILE.py:NAME, none; for one role or all.",
    ),
    click.option(
        "--sampling",
        multiple=True,
        metavar="[ROLE.]NAME=VALUE",
        help="How replies are drawn: temperature=0.7, builder.max_tokens=4000, seed=null to send none.",
    ),
    click.option(
        "--planner-option",
        "planner_options",
        multiple=True,
        metavar="NAME=VALUE",
        help="An option of the planner: `planbook planners NAME` lists them.",
    ),
    click.option(
        "--procedures-first", is_flag=True, help="Run a stored procedure first, and ask a model only when it fails."
    ),
    click.option(
        "--strict-recordings",
        is_flag=True,
        help="Refuse a recorded reply to a prompt whose wording has changed since.",
    ),
    click.option("--stream", is_flag=True, help="Run each statement of a plan as soon as the model has written it."),
    click.option("--without", multiple=True, metavar="NAME", help="Leave a part out (ablations)."),
    click.option(
        "--paper",
        is_flag=True,
        help="Take the settings of the method's paper, but for what you give; tell what differs.",
    ),
)
SPENDING = (
    click.option(
        "--budget",
        "budgets",
        multiple=True,
        metavar="NAME=VALUE",
        help="At most: so many calls, tokens, actions, seconds, or money (US dollars). Building keeps a tenth for its "
        "manual, or formulator=SHARE.",
    ),
    PRICES,
    click.option(
        "--timeout",
        "timeouts",
        multiple=True,
        metavar="NAME=SECONDS",
        help="Wait for a model's server: connect=10 to accept a connection, idle=300 to send the next token.",
    ),
)
BUILDING = (
    click.option("--start", default=None, metavar="NAME,...", help="The examples to start from; else the usual ones."),
    click.option("--tasks-per-type", default=6, type=click.IntRange(min=1), help="Tasks of each type to build on."),
    click.option(
        "--solved-after",
        default=3,
        type=click.IntRange(min=1),
        help="Leave out the rest of a type after so many successes in a row.",
    ),
    click.option("--max-rules", default=12, type=click.IntRange(min=1), help="Rules before some are consolidated."),
    click.option("--per-type", is_flag=True, help="Rules of each task type by themselves."),
    click.option("--libraries-only", is_flag=True, help="Leave the rules as they are: learn only skills and the like."),
    click.option(
        "--conclusions",
        default="needed",
        type=click.Choice(["needed", "always"]),
        help="Ask the planner to sum up every episode, or only those that one plan did not solve.",
    ),
    click.option(
        "--verify",
        default="",
        show_default=False,
        metavar="SPLIT:N",
        help="Verify procedures on N more tasks of each type, too.",
    ),
    click.option(
        "--from",
        "sources",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="RUN|FILE",
        help="Play nothing: learn from the episodes of a run, or of an exported file.",
    ),
    click.option("--no-procedures", is_flag=True, help="Do not generalise successes into procedures."),
)
LIBRARY = (
    click.option(
        "--library",
        default=None,
        metavar="NAME|FOLDER",
        help="What is known beforehand: shipped (the default; of `test`, learnt), a building run, or a folder.",
    ),
    click.option(
        "--rule-tokens",
        default=None,
        type=click.IntRange(min=100),
        help="Tokens that the rules may have in a prompt: the manual is shortened, or rules are chosen by task.",
    ),
)
AFTER = (
    click.option("--after", default=None, type=click.IntRange(min=0), help="What a building run knew after N tasks."),
)
CURVE = (
    click.option(
        "--after",
        default="",
        show_default=False,
        metavar="N[,N...]",
        help="What a building run knew after N tasks; several: a learning curve, a run for each below --out.",
    ),
)
TABLE = click.option("--table", is_flag=True, help="Print the figures of the papers that have the method beside.")
JSON = click.option("--json", "as_json", is_flag=True, help="End standard output with one JSON object.")


def options(*groups: Iterable[Callable[[Any], Any]]) -> Callable[[Command], Command]:
    """Add groups of options to a command."""

    def add(command: Command) -> Command:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return add


def only_with_a_run(what: str, parameter: str) -> None:
    """Refuse options that a recorded run answers itself. Raises BadArgument."""
    allowed = {"jobs", "executor", "unsafe_no_sandbox", "allow_changed", "again", "budgets", "prices", "timeouts"}
    allowed |= {"table", "as_json", parameter}
    refuse(what, set(click.get_current_context().params) - allowed)


def was_given(parameter: str) -> bool:
    """Whether an option of the running command stands on its command line."""
    return click.get_current_context().get_parameter_source(parameter) is not click.core.ParameterSource.DEFAULT


def refuse(what: str, parameters: Collection[str]) -> None:
    """Refuse options beside one that answers them itself. Raises BadArgument."""
    context = click.get_current_context()
    if given := [name for name in context.params if name in parameters and was_given(name)]:
        flags = ", ".join(FLAGS.get(name, f"--{name}") for name in given)
        raise BadArgument(f"{what} says itself what is played; leave out {flags}".replace("_", "-"))
