"""`planbook demo`: the main features, shown with what ships: no key, no download."""

from pathlib import Path

import click

from planbook import errors
from planbook.commands.building import build, formulate
from planbook.commands.testing import STOPPED, Series, test_config
from planbook.config import InvocationSettings
from planbook.console import console
from planbook.options import JSON, Command, CommandResult, options
from planbook.report import report_runs
from planbook.results.summary import Summary
from planbook.runs import new_folder
from planbook.settings import Settings

ALFWORLD_TASKS = Settings.of(env="alfworld", split="generated:60", seeds="0-9")
MINIWOB_TASKS = Settings.of(
    env="miniwob",
    types="click-checkboxes,click-tab-2,email-inbox,enter-date,login-user-popup,search-engine,use-autocomplete",
    seeds="1-2",
)
BUILDING = Settings.of(
    env="alfworld",
    split="generated",
    models="recorded:alfworld-generated",
    start="put",
    tasks_per_type=1,
    verify="generated:10",
)
"""The settings with which the recorded replies were made (tools/record.sh). Recordings fit no other settings."""
TESTING = Settings.of(env="alfworld", split="generated:60", seeds="1000-1009")
ADAPT = Settings.of(
    env="alfworld",
    split="generated",
    tasks=("generated/pick_clean_then_place/0",),
    models=("recorded:adapt-alfworld-stepwise",),
    planner_options=("iterations=4", "actions_per_reply=1"),
)
DEPS = Settings.of(env="minecraft", split="table21:8", models=("recorded:deps-minecraft",))
AGENTKIT = Settings.of(env="shopping", split="test:1", models=("recorded:agentkit-shopping",))
ADVOCATE = Settings.of(env="alfworld", split="generated:1", seeds="9", models=("recorded:devils-advocate-alfworld",))
PLANNER_DEMOS = {"adapt": ADAPT, "deps": DEPS, "agentkit": AGENTKIT, "devils-advocate": ADVOCATE}
"""Maps each planner to the settings with which its replies were recorded."""


NEXT = """Next:
  planbook show {tested} 0                the first of these episodes, step by step
  planbook exec {plan} --env alfworld --split generated:1 --types {kind}
  planbook run --env minecraft --planner deps --model openai:NAME     with your own model and its OPENAI_API_KEY
  planbook run --env FILE.py:Class --planner react --model openai:NAME    in your own environment: see README"""


class Demo:
    """Plays the parts of the demonstration, each run in its own folder. ``code`` is the highest exit code so far."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._series = settings, Series(settings)
        self.screen, self.summaries, self.code = console(), list[Summary](), errors.OK

    def play_procedures(self) -> None:
        """Play stored procedures on ALFWorld and, if Chromium is installed, on web pages."""
        self.screen.print("1. Stored procedures, no language model, in the sandbox.\n")
        self._play(ALFWORLD_TASKS, "procedures")
        if self.code == errors.INTERRUPTED:
            return
        missing = [requirement for requirement in MINIWOB_TASKS.environment().requirements() if not requirement.found]
        if missing:
            self.screen.print(f"MiniWoB++ is left out: there is no {missing[0].name}. To add it: {missing[0].remedy}")
        else:
            self._play(MINIWOB_TASKS, "procedures")

    def play_planners(self) -> None:
        """Play methods that ask a model, with recorded replies."""
        self.screen.print(
            "2. ADaPT takes a household task apart, DEPS plans in Minecraft, AgentKit shops, Devil's Advocate looks "
            "ahead; the model's replies are recorded, a few of them before their prompts were reworded.\n"
        )
        for planner, settings in PLANNER_DEMOS.items():
            self._play(settings, planner)

    def learn(self) -> None:
        """Build rules from episodes, formulate the manual, and test what was learned on other scenes."""
        self.screen.print(
            "3. Learning a manual from six tasks, one of each type. The model's replies come from a recording.\n"
        )
        built = self.folder(BUILDING, "build")
        invocation = {name: getattr(self._settings, name) for name in InvocationSettings.model_fields}
        placement = {"out": built, "store": self._settings.store, "executor": "threads"}  # one episode after another
        self._add(*build(BUILDING.model_copy(update=invocation | placement)))
        if self.code in STOPPED:
            return
        code, _ = formulate(built, {}, None, self._settings.execution())
        self.code = max(self.code, code)
        self.screen.print()
        tested = test_config(TESTING.model_copy(update={"library": str(built)}))
        self._add(*self._series.play(tested, self.folder(TESTING, "test")))
        if self.code not in STOPPED:
            self._show_next(built)

    def _show_next(self, built: Path) -> None:
        """Write the report of the build, and suggest what to try next."""
        self.screen.print("Report, to open in a browser: ", end="")
        report_runs((built,), None, None)
        plan = min((built / "learnt").rglob("procedures/*.py"))
        message = NEXT.format(tested=self.summaries[-1].run, plan=plan, kind=plan.stem)
        self.screen.print(message, markup=False, soft_wrap=True)

    def folder(self, settings: Settings, name: str) -> Path:
        """Return the folder for a run; every run of the demonstration has its own."""
        if self._settings.out:
            return self._settings.out / f"{settings.env}-{name}"
        without_options = settings.model_copy(update={"planner_options": {}})
        return new_folder(without_options.config("procedures").model_copy(update={"planner": name}))

    def _play(self, settings: Settings, planner: str) -> None:
        self._add(*self._series.play(settings.config(planner), self.folder(settings, planner)))

    def _add(self, code: int, summary: Summary) -> None:
        self.summaries.append(summary)
        self.code = max(self.code, code)
        self.screen.print()


@click.command(cls=Command)
@options("Running")
@JSON
def demo(settings: Settings) -> CommandResult:
    """Show the main features with what ships: no key, no download."""
    demonstration = Demo(settings)
    for part in (demonstration.play_procedures, demonstration.play_planners, demonstration.learn):
        part()
        if demonstration.code == errors.INTERRUPTED:
            break
    return demonstration.code, {"runs": [summary.model_dump(mode="json") for summary in demonstration.summaries]}
