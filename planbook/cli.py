"""The ``planbook`` command line: lists the commands, and reports each error as one line and an exit code.

The commands are defined in ``commands``. The module of a command is imported only when that command is called, so that
other commands start quickly.
"""

import gc
import os
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from io import StringIO, TextIOWrapper

import click

from planbook import __version__

COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Play": {
        "demo": ("demo", "Show the main features; this needs no key and no download."),
        "run": ("playing", "Play tasks with a planning method."),
        "join": ("playing", "Help another process play a run."),
        "exec": ("checking", "Run one plan file and print its steps."),
        "replay": ("rerunning", "Play a run again with its recorded replies."),
        "rerun": ("rerunning", "Play a run again and compare."),
        "fork": ("rerunning", "Continue an episode from one of its actions, with a change."),
    },
    "Learn": {
        "build": ("learning", "Learn rules, skills and procedures from episodes."),
        "formulate": ("learning", "Write the manual from the rules."),
        "test": ("testing", "Play test tasks with what was learned."),
        "rules": ("learning", "Show what a run has learned, and its history."),
        "effect": ("learning", "Measure what each rule and skill is worth."),
        "skills": ("exchanging", "Write procedures as SKILL.md folders, and verify them."),
    },
    "Inspect": {
        "report": ("viewing", "Write runs as one HTML page."),
        "watch": ("viewing", "Show a run in the browser while it is played."),
        "show": ("viewing", "Print one episode."),
        "compare": ("viewing", "Compare runs over the same tasks."),
        "stats": ("viewing", "Show any number of runs in one table."),
        "export": ("exchanging", "Write episodes for other tools."),
        "import": ("exchanging", "Make a run from exported episodes."),
    },
    "Utilities": {
        "check": ("checking", "Check a plan without running it."),
        "check-env": ("checking", "Check your own environment."),
        "envs": ("inspection", "List environments, and what is installed or missing."),
        "planners": ("inspection", "List planning methods and their options."),
        "graph": ("graphs", "Make, check, draw and run prompt graphs."),
        "mcp": ("exchanging", "Serve an environment to any MCP client."),
        "bench": ("inspection", "Measure planbook and its peers."),
    },
}
"""Maps each heading of `planbook --help` to its commands, and each command to its module and its summary. The summaries
are repeated here so that `planbook --help` does not have to import the modules."""


class Commands(click.Group):
    """The group of all commands. It lists them under the headings of ``COMMANDS``, without importing their modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [name for group in COMMANDS.values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command, and return the command. Return None if there is no such command."""
        module = next((group[cmd_name][0] for group in COMMANDS.values() if cmd_name in group), None)
        if module is None:
            return None
        gc.disable()  # imports create no garbage, and garbage collection takes an eighth of their time
        members = vars(import_module(f"planbook.commands.{module}")).values()
        from planbook.console import show_log

        gc.freeze()
        gc.enable()
        show_log("planbook")
        return next(value for value in members if isinstance(value, click.Command) and value.name == cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command. If there is none, fail with a message that suggests the most similar name."""
        if args[0] not in self.list_commands(ctx):
            from planbook.sandbox import closest

            if suggestion := closest(args[0], self.list_commands(ctx)):
                ctx.fail(f"No such command '{args[0]}'. Did you mean '{suggestion}'?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        for heading, group in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, summary) for name, (_, summary) in group.items()])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True},
)
@click.version_option(__version__, message="%(version)s")
def planbook() -> None:
    """Agents that plan in Python and learn a manual."""


def main() -> None:
    """Run the command line. planbook's own errors are reported in one line, all others with a traceback."""
    sys.stdout, sys.stderr = sys.stdout or StringIO(), sys.stderr or StringIO()  # a stream closed with >&- is None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # not every terminal can show what plans print
    try:
        sys.exit(planbook.main(standalone_mode=False))
    except click.NoSuchOption as error:
        from planbook.sandbox import nearest_names

        # replaces click's suggestions, which count the hyphens as similarity
        suggestions = nearest_names(error.option_name, error.possibilities or (), 3)
        click.NoSuchOption(error.option_name, possibilities=suggestions, ctx=error.ctx).show()
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except Exception as error:
        from planbook.terminal import report_error

        code = report_error(error)
        if code is None:
            raise
        if isinstance(error, click.Abort) and threading.active_count() > 1:
            os._exit(code)  # after a second Ctrl-C; a normal exit would wait for threads whose models have not replied
        sys.exit(code)
