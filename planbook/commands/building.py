"""The commands of AutoManual's three stages: build, formulate, test."""

from contextlib import closing
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook import errors
from planbook.arguments import Asked, by_role
from planbook.commands.beside import Tested, show_beside
from planbook.commands.playing import play
from planbook.config import LEARNT_LIBRARY, LIBRARIES, Config, Learning
from planbook.episodes.lanes import Hosting
from planbook.episodes.voices import check_voices
from planbook.figures.summary import Summary
from planbook.learning.covering import coverage_lines
from planbook.learning.curve import Curve, play_curve
from planbook.learning.stages import export_manuals
from planbook.learning.stages import formulate as formulate_rules
from planbook.learning.state import learnt_in
from planbook.printing import console, spending
from planbook.run import Run, new_folder
from planner import BudgetEnded, method

BUILD_SEEDS, TEST_SEEDS = range(1000), range(1000, 2000)
"""Where seeds are drawn from, in worlds that make their tasks from seeds: building and testing share none."""
TEST_TASKS_PER_TYPE = 6
LEARNERS = ("builder", "consolidator")


class Formulated(BaseModel):
    """The object that ends the standard output of ``formulate --json``."""

    model_config = ConfigDict(frozen=True)

    manuals: tuple[str, ...]
    model_calls: int
    tokens: int
    run: str


def build(planner: str, asked: Asked, learning: Learning, hosting: Hosting, *, as_json: bool) -> tuple[int, Summary]:
    """Begin to build, or take up the run that is there, and build to the end."""
    drawn = asked.drawn(BUILD_SEEDS, learning.tasks_per_type, ("train",))
    config = drawn.config(planner, ablated_options(planner, asked.without))
    config = config.model_copy(update={"learning": learning})
    builds_rules = "rules" not in asked.without and not learning.libraries_only
    check_voices(config, ("planner", *(LEARNERS if builds_rules else ())))
    return play(config, asked.out, hosting, as_json=as_json, store=asked.store)


def test(
    planner: str | None, asked: Asked, after: tuple[int, ...], hosting: Hosting, *, table: bool, as_json: bool
) -> tuple[int, Summary | Curve]:
    """Play test tasks with what was learnt; for several numbers of building tasks, one run each."""
    config = test_config(planner, asked)
    if len(after) < 2:
        config = config.model_copy(update={"after": after[0] if after else None})
        code, summary = play(config, asked.out, hosting, as_json=as_json, store=asked.store)
        if not table:
            return code, summary
        return code, Tested(**summary.model_dump(), table=show_beside(config, summary, as_json=as_json))
    out = asked.out or new_folder(config)
    code, curve = play_curve(
        config, after, out, partial(play, hosting=hosting, as_json=as_json, store=asked.store), as_json=as_json
    )
    if table:
        last = curve.curve[-1]
        beside = show_beside(config.model_copy(update={"after": last.after}), last.summary, as_json=as_json)
        curve = curve.model_copy(update={"table": beside})
    return code, curve


def test_config(planner: str | None, asked: Asked) -> Config:
    """A test run: without a model it plays the procedures, without a library what ships as learnt."""
    planner = planner or ("automanual" if asked.models_by_role() else "procedures")
    if asked.library is None and (LIBRARIES[LEARNT_LIBRARY] / asked.world().name).is_dir():
        asked = asked.model_copy(update={"library": LEARNT_LIBRARY})
    drawn = asked.drawn(TEST_SEEDS, TEST_TASKS_PER_TYPE, ("valid_unseen",))
    return drawn.config(planner, ablated_options(planner, asked.without))


def formulate(
    folder: Path, models: tuple[str, ...], tokens: int | None, hosting: Hosting, *, as_json: bool
) -> tuple[int, Formulated]:
    """Turn the rules of a building run into manuals, and write them beside what else it learnt."""
    out = console(as_json)
    with closing(Run.open(folder, to_play=True)) as run:
        if run.config.learning is None:
            raise errors.BadArgument(f"{folder} is no building run; rules come from `planbook build`")
        named = by_role(models)
        config = run.config.model_copy(update={"models": {**run.config.models, **named}})
        run.sit_down(hosting.budget, hosting.prices, named.values())
        code = errors.OK
        try:
            formulate_rules(run, config, tokens)
        except BudgetEnded as ended:
            out.print(f"Stopped: {ended}.")
            code = errors.OUT_OF_BUDGET
        finally:
            run.stand_up()
        written = list(map(str, export_manuals(run, tokens)))
        spent = run.meter.spent
        for group, state in learnt_in(run).items():
            for line in coverage_lines(run, group, state):
                out.print(line, markup=False, soft_wrap=True)
        out.print(f"Written: {', '.join(written) or 'no manual'}", soft_wrap=True)
        out.print(f"The run so far: {spending(spent, run.meter.budget)}.")
        return code, Formulated(
            manuals=tuple(written), model_calls=spent.calls, tokens=spent.tokens, run=str(run.folder)
        )


def ablated_options(planner: str, without: tuple[str, ...]) -> dict[str, JsonValue]:
    """The planner's options that follow from what is left out, where it has them."""
    implied = {"cooperation": "cooperation", "helpers": "helper_methods"}
    known = method(planner).options.model_fields
    return {option: False for left_out, option in implied.items() if left_out in without and option in known}
