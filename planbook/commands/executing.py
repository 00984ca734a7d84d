"""`planbook exec`: one plan file, or one procedure, on the chosen tasks."""

from pathlib import Path

from planbook import errors
from planbook.commands.playing import play_settings
from planbook.console import console
from planbook.planner import GivenCode, checked_procedure, code_of, is_procedure, parse_procedure
from planbook.results import Summary
from planbook.settings import Settings
from planbook.terminal.printing import Live


def execute_plan(plan: Path, settings: Settings, *, as_json: bool) -> tuple[int, Summary]:
    """Run one plan file, or one procedure, on the chosen tasks.

    Its steps are printed as they happen, where one episode is played at a time, and in this process.
    """
    here = settings.jobs == 1 and settings.executor == "threads"
    code = given_plan(plan, settings).model_dump(mode="json")
    return play_settings(settings, "code", code, as_json=as_json, watch=Live(console(as_json)) if here else None)


def given_plan(plan: Path, settings: Settings) -> GivenCode:
    """The code of a plan file; a procedure is checked and called. Raises BadArgument, BadProcedure."""
    text = read_plan(plan)
    if not is_procedure(text):
        return GivenCode(code=text, source=plan.name)
    procedure = parse_procedure(text, plan.name, plan.resolve().parent.parent / "helpers")
    return code_of(checked_procedure(procedure, settings.world(), settings.world_options()))


def read_plan(plan: Path) -> str:
    """The text of a plan file. Raises BadArgument where it is no text."""
    try:
        return plan.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BadArgument(f"{plan} cannot be read as a plan: {error}") from error
