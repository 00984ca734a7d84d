"""A demonstration of the main features with what ships: no key, no download."""

from pathlib import Path
from typing import Any

from planbook import errors
from planbook.commands import building
from planbook.commands.playing import play
from planbook.config import Invocation
from planbook.console import console
from planbook.report import report_runs
from planbook.results import Summary
from planbook.runs import new_folder
from planbook.settings import Settings
from planbook.workers import Hosting

STOPPED = (errors.INTERRUPTED, errors.OUT_OF_BUDGET)
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
"""The settings with which the recording was made; see tools/record.sh."""
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
PLANNED = {"adapt": ADAPT, "deps": DEPS, "agentkit": AGENTKIT, "devils-advocate": ADVOCATE}
"""Settings by planner, with which the recordings were made."""


NEXT = """Next:
  planbook show {tested} 0                the first of these episodes, step by step
  planbook exec {plan} --env alfworld --split generated:1 --types {kind}
  planbook run --env minecraft --planner deps --model openai:NAME     with your own model and its OPENAI_API_KEY
  planbook run --env FILE.py:Class --planner react --model openai:NAME    in your own environment: see README"""


class Demo:
    """Plays the parts one after another, each in its own folder; ``code`` is the worst exit code."""

    def __init__(self, out: Path | None, hosting: Hosting, *, as_json: bool, store: str | None = None) -> None:
        self._out, self._hosting, self._as_json, self._store = out, hosting, as_json, store
        self.screen = console(as_json)
        self.summaries: list[Summary] = []
        self.code = errors.OK

    def play_procedures(self, settings: Settings) -> None:
        """Play stored procedures in one environment, unless the machine lacks a requirement."""
        missing = [requirement for requirement in settings.environment().requirements() if not requirement.found]
        if settings is MINIWOB_TASKS and missing:
            self.screen.print(f"MiniWoB++ is left out: there is no {missing[0].name}. To add it: {missing[0].remedy}")
            return
        self._add(*play(settings.config("procedures"), self._folder(settings, "procedures"), **self._play_arguments))

    def play_planners(self) -> None:
        """Play the methods that ask a model; its replies are recorded."""
        for planner, settings in PLANNED.items():
            self._add(*play(settings.config(planner), self._folder(settings, planner), **self._play_arguments))

    def learn(self) -> None:
        """Build rules from episodes, formulate the manual, and test what was learned on other scenes."""
        built = self._folder(BUILDING, "build")
        hosting = {name: getattr(self._hosting, name) for name in Invocation.model_fields}
        where = {"out": built, "store": self._store, "executor": "threads"}  # building plays one episode at a time
        self._add(*building.build(BUILDING.model_copy(update=hosting | where), as_json=self._as_json))
        if self.code in STOPPED:
            return
        code, _ = building.formulate(built, {}, None, self._hosting, as_json=self._as_json)
        self.code = max(self.code, code)
        self.screen.print()
        tested = building.test_config(TESTING.model_copy(update={"library": str(built)}))
        self._add(*play(tested, self._folder(TESTING, "test"), **self._play_arguments))
        if self.code not in STOPPED:
            self._show_next(built)

    def _show_next(self, built: Path) -> None:
        """Write the report of the building run, and suggest what to try next."""
        self.screen.print("Report, to open in a browser: ", end="")
        report_runs((built,), None, None, as_json=self._as_json)
        plan = min((built / "learnt").rglob("procedures/*.py"))
        message = NEXT.format(tested=self.summaries[-1].run, plan=plan, kind=plan.stem)
        self.screen.print(message, markup=False, soft_wrap=True)

    @property
    def _play_arguments(self) -> dict[str, Any]:
        return {"hosting": self._hosting, "as_json": self._as_json, "store": self._store}

    def _folder(self, settings: Settings, name: str) -> Path:
        if self._out:
            return self._out / f"{settings.env}-{name}"
        plain = settings.model_copy(update={"planner_options": {}})
        return new_folder(plain.config("procedures").model_copy(update={"planner": name}))

    def _add(self, code: int, summary: Summary) -> None:
        self.summaries.append(summary)
        self.code = max(self.code, code)
        self.screen.print()


def show(out: Path | None, hosting: Hosting, *, as_json: bool, store: str | None = None) -> tuple[int, list[Summary]]:
    """Play stored procedures on ALFWorld and, if Chromium is installed, on web pages; then four methods; then learn."""
    demo = Demo(out, hosting, as_json=as_json, store=store)
    demo.screen.print("1. Stored procedures, no language model, in the sandbox.\n")
    for settings in (ALFWORLD_TASKS, MINIWOB_TASKS):
        demo.play_procedures(settings)
        if demo.code == errors.INTERRUPTED:
            return demo.code, demo.summaries
    demo.screen.print(
        "2. ADaPT takes a household task apart, DEPS plans in Minecraft, AgentKit shops, Devil's Advocate looks ahead; "
        "the model's replies are recorded, a few of them before their prompts were reworded.\n"
    )
    demo.play_planners()
    if demo.code == errors.INTERRUPTED:
        return demo.code, demo.summaries
    demo.screen.print(
        "3. Learning a manual from six tasks, one of each type. The model's replies come from a recording.\n"
    )
    demo.learn()
    return demo.code, demo.summaries
